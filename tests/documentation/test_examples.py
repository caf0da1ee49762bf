"""The notebooks run, and show what is stored in them: their own asserts hold the numbers against theory."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.documentation.notebooks import executed, notebooks, shown


def test_there_are_examples() -> None:
    names = [path.stem for path in notebooks()]
    assert names == ["first_analysis", "own_decomposition", "sweep_to_allocation"]


@pytest.mark.parametrize("path", notebooks(), ids=lambda path: path.stem)
def test_notebook_runs_and_shows_what_is_stored(path: Path) -> None:
    pytest.importorskip("nbclient", reason="nbclient is not installed")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    stored = json.loads(path.read_text(encoding="utf-8"))
    assert shown(executed(path)) == shown(stored)


@pytest.mark.parametrize("path", notebooks(), ids=lambda path: path.stem)
def test_stored_outputs_are_those_of_a_run(path: Path) -> None:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    assert [o for cell in code for o in cell["outputs"] if o["output_type"] == "error"] == []
