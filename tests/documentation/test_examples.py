"""The notebooks run: their own asserts hold the numbers against theory. The job fails on a worse program."""

import json
import re
from pathlib import Path

import pytest

from commanalyzer.foundation.quantities import format_bytes
from tests.documentation.notebooks import FOLDER, executed, notebooks
from tests.e2e.command import HEAT, commanalyzer


@pytest.mark.parametrize("path", notebooks(), ids=lambda path: path.stem)
def test_notebook_runs(path: Path) -> None:
    pytest.importorskip("nbclient", reason="nbclient is not installed")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    code = [cell for cell in executed(path)["cells"] if cell["cell_type"] == "code"]
    assert any("assert " in cell["source"] for cell in code)
    assert all(cell["outputs"] for cell in code if "\nimport commanalyzer" not in cell["source"])


def test_what_notebooks_show_is_not_stored() -> None:
    cells = [cell for path in notebooks() for cell in json.loads(path.read_text())["cells"]]
    assert len(cells) > 20
    assert [cell["source"] for cell in cells if cell.get("outputs")] == []


def test_job_fails_on_a_row_that_all_need(tmp_path: Path) -> None:
    """Blocks 4x4 send 12 halos of n values per step; the middle row goes to 2 more blocks of each column."""
    job = (FOLDER / "continuous_integration.yml").read_text()
    analyze, diff = (line.split() for line in re.findall(r"run: commanalyzer ((?:analyze|diff) .*)", job))
    n, steps = map(int, analyze[-2:])
    update, source = "centre + R * (around - 4.0 * centre)", HEAT.read_text()
    found = []
    for name, row in (("accepted", ""), ("after", ""), ("after", " + 0.01 * u[n / 2 * w + j]")):
        (tmp_path / "heat2d.c").write_text(source.replace(update, update + row))
        assert commanalyzer(tmp_path, "analyze", "--force", *analyze[1:]).status == 0
        (tmp_path / "after.cmz").replace(tmp_path / f"{name}.cmz")
        found.append(commanalyzer(tmp_path, *diff))
    _, good, worse = found
    assert (good.status, good.err, worse.status) == (0, "", 5)
    assert "no variable sends more or less than before" in good.out
    before, after = (format_bytes(8 * n * (steps - 1) * halos) for halos in (12, 14))  # a is read once
    assert f"; b in main (heat2d.c:95) {before} before, {after} after (+16.7 %); heat2d.c:29 in " in worse.err
    assert worse.err.startswith("worse than allowed (--fail-above 5%): on 16 nodes ")
