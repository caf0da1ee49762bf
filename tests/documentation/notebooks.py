"""Runs the notebooks of ``examples/``."""

import os
import tempfile
from pathlib import Path
from typing import Any

import pytest

from tests.native import ROOT

FOLDER = ROOT / "examples"
_CELL_TIMEOUT_S = 600


def notebooks() -> list[Path]:
    return sorted(FOLDER.glob("*.ipynb"))


def executed(path: Path) -> Any:
    """The notebook in ``path`` with new outputs.

    Raises:
        CellExecutionError: If a cell fails.
    """
    import nbformat
    from jupyter_client.manager import AsyncKernelManager
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as scratch, pytest.MonkeyPatch.context() as patch:
        # Kernels import this checkout, and leave nothing in the home of the user.
        patch.setenv("PYTHONPATH", str(ROOT), prepend=os.pathsep)
        patch.setenv("PYDEVD_DISABLE_FILE_VALIDATION", "1")
        for name in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_DATA_DIR"):
            patch.setenv(name, scratch)
        # Sockets in the file system: ports may be taken by another kernel before this one listens.
        manager = AsyncKernelManager(transport="ipc", connection_file=f"{scratch}/kernel.json")
        client = NotebookClient(
            notebook, km=manager, timeout=_CELL_TIMEOUT_S, resources={"metadata": {"path": str(FOLDER)}}
        )
        return client.execute()
