"""Runs the notebooks of ``examples/``; ``python -m tests.documentation.notebooks`` stores what they show."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "examples"
_CELL_TIMEOUT_S = 600


def notebooks() -> list[Path]:
    """All of them."""
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


def shown(notebook: Any) -> list[list[str]]:
    """What each code cell shows: kinds of output, without their content."""
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    return [[kind for output in cell["outputs"] for kind in _kinds(output)] for cell in cells]


def _kinds(output: Mapping[str, Any]) -> list[str]:
    return sorted(output["data"]) if "data" in output else [output.get("name", output["output_type"])]


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


def _write(path: Path) -> None:
    """Store the outputs, without what differs from run to run."""
    import nbformat

    notebook = executed(path)
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
    notebook.metadata["language_info"] = {"name": "python"}
    nbformat.write(notebook, path)


if __name__ == "__main__":
    for each in notebooks():
        _write(each)
