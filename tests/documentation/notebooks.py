"""Runs the notebooks of ``examples/``."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
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
    with tempfile.TemporaryDirectory() as scratch, _environment(scratch):
        # Sockets in the file system: ports may be taken by another kernel before this one listens.
        manager = AsyncKernelManager(transport="ipc", connection_file=f"{scratch}/kernel.json")
        client = NotebookClient(
            notebook, km=manager, timeout=_CELL_TIMEOUT_S, resources={"metadata": {"path": str(FOLDER)}}
        )
        return client.execute()


@contextmanager
def _environment(scratch: str) -> Iterator[None]:
    """Kernels import this checkout, and leave nothing in the home of the user."""
    own = {
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep),
        "IPYTHONDIR": scratch,
        "JUPYTER_RUNTIME_DIR": scratch,
        "JUPYTER_DATA_DIR": scratch,
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    }
    before = {name: os.environ.get(name) for name in own}
    os.environ.update(own)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
