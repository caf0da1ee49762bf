from pathlib import Path

import pytest

from commanalyzer.checking.validation.cases import evaluate, read_cases
from commanalyzer.checking.validation.run import CaseSelection, selected
from commanalyzer.foundation.errors import ConfigError
from tests.native import ROOT

ENTRY = """
[[workload]]
name = "heat"
sources = ["heat.c"]
mpi = ["mpi.c"]
region = "run"
parameters = ["N", ""]
sizes = ["8 copy", "16 copy"]
grids = { 16 = "4x4", 4 = "2x2", 2 = "=2x1" }
excess = [{ name = "one", side = "counted", bytes = "8 * N * (p - g0)", why = "because" }]
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "cases.toml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("formula", "value"),
    [("8 * (p - 1)", 24), ("(N + g0)**2 - (N + 1)**2", 23), ("-7 // 2 % 5", 1), ("max(p, N, 2)", 10), (3, 3)],
)
def test_formulas_are_whole_numbers(formula: str | int, value: int) -> None:
    assert evaluate(formula, {"p": 4, "N": 10, "g0": 2}) == value


@pytest.mark.parametrize(
    "formula", ["8 *", "q + 1", "1.5", "p / 2", "'a'", "open('x')", "p.real", "1 // 0", "min(p, key=p)", "~p"]
)
def test_what_is_no_formula_is_refused(formula: str) -> None:
    with pytest.raises(ConfigError, match="expected a formula"):
        evaluate(formula, {"p": 4})


def test_an_entry_knows_its_runs(tmp_path: Path) -> None:
    (heat,) = read_cases(written(tmp_path, ENTRY))
    assert heat.sources == (tmp_path / "heat.c",)
    assert tuple(heat.grids) == (2, 4, 16)
    assert heat.sizes == (("8", "copy"), ("16", "copy"))
    assert heat.mpi_words(("8", "copy"), 4) == ("8", "copy", "2x2")
    assert heat.mpi_words(("8", "copy"), 2) == ("8", "copy")
    assert heat.values(("8", "copy"), 4) == {"N": 8, "p": 4, "g0": 2, "g1": 2}
    assert list(heat.excess_bytes(("8", "copy"), 4).values()) == [8 * 8 * (4 - 2)]


def test_a_selection_chooses_sizes_and_processes(tmp_path: Path) -> None:
    cases = read_cases(written(tmp_path, ENTRY))
    assert CaseSelection().processes(cases[0]) == (2, 4, 16)
    assert CaseSelection(nodes=(2, 16, 64)).processes(cases[0]) == (2, 16)
    quick = CaseSelection(quick=True)
    assert (quick.sizes(cases[0]), quick.processes(cases[0])) == ((("8", "copy"),), (4,))
    with pytest.raises(ConfigError, match=r"expected workloads of heat, found cold"):
        selected(cases, CaseSelection(("cold",)))
    with pytest.raises(ConfigError, match="none that fits"):
        selected(cases, CaseSelection(nodes=(3,)))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[workload]\n", "found: no TOML"),
        ("", "found: no 'workload'"),
        ("workload = []", "at least one workload"),
        (ENTRY.replace('"counted"', '"both"'), r"counted or predicted, found .both. at .*excesses"),
        (ENTRY.replace("4x4", "4x4").replace("region", "reg"), "missing required field region"),
    ],
)
def test_what_is_no_file_of_cases_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        read_cases(written(tmp_path, text))


def test_a_missing_file_of_cases_is_explained(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        read_cases(tmp_path / "none.toml")
    assert "--cases" in caught.value.hint


def test_every_run_of_the_tree_has_its_files_grids_and_excesses() -> None:
    for workload in read_cases(ROOT / "workloads" / "validation.toml"):
        assert all(path.is_file() for path in (*workload.sources, *workload.mpi_sources))
        for arguments in workload.sizes:
            for p in workload.grids:
                rows, *others = workload.extents(p)
                product = rows
                for extent in others:
                    product *= extent
                assert product == p
                assert all(amount > 0 for amount in workload.excess_bytes(arguments, p).values())
