from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from bench.accuracy.cases import (
    CASES_FILE,
    ArrayBlocks,
    CaseProgram,
    block_of,
    element_owners,
    elements_of,
    evaluate,
    read_cases,
)
from bench.accuracy.run import Case, CaseSelection, Failure, each_case, selected
from commanalyzer.foundation.errors import ConfigError
from commanalyzer.foundation.progress import SilentProgress
from commanalyzer.graph.value_graph import HomeKind, HomeObject
from tests.graphs import build, homed

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


def test_every_run_of_the_tree_has_its_files_grids_and_excesses() -> None:
    for workload in read_cases(CASES_FILE):
        assert all(path.is_file() for path in (*workload.sources, *workload.mpi_sources))
        for arguments in workload.sizes:
            for p in workload.grids:
                rows, *others = workload.extents(p)
                product = rows
                for extent in others:
                    product *= extent
                assert product == p
                assert all(amount > 0 for amount in workload.excess_bytes(arguments, p).values())


def name_and_arguments(case: Case) -> Sequence[tuple[CaseProgram, str]]:
    workload, arguments = case
    if workload.name == "spmv":
        raise ConfigError("expected another workload, found spmv")
    return [(workload, word) for word in arguments]


@pytest.mark.parametrize("jobs", [1, 2])
def test_results_come_in_the_order_of_the_cases(jobs: int) -> None:
    cases = [(w, w.sizes[0]) for w in read_cases(CASES_FILE) if w.name in ("heat2d", "spmv", "matmul")]
    heat2d, matmul, spmv = (case[0] for case in cases)
    found = tuple(each_case(name_and_arguments, cases, "name", SilentProgress(), jobs))
    expected = [(heat2d, word) for word in heat2d.sizes[0]] + [(matmul, matmul.sizes[0][0])]
    assert found == (*expected, Failure(spmv, spmv.sizes[0], "expected another workload, found spmv"))


@pytest.mark.parametrize(("points", "parts"), [(10, 3), (7, 7), (48, 27), (5, 1)])
def test_blocks_are_those_of_the_mpi_programs(points: int, parts: int) -> None:
    # workloads/common/blocks.h: parts own [points k / parts, points (k + 1) / parts)
    expected = [
        part for part in range(parts) for _ in range(points * part // parts, points * (part + 1) // parts)
    ]
    assert block_of(np.arange(points), points, parts).tolist() == expected


def test_a_layer_around_belongs_to_its_neighbours_and_ranks_count_the_last_dimension_fastest() -> None:
    blocks = ArrayBlocks(("N + 2", "N + 2"), ("N", "N"), shift=1)
    owner = element_owners(blocks, (2, 2), {"N": 2}).reshape(4, 4)
    assert owner.tolist() == [[0, 0, 1, 1], [0, 0, 1, 1], [2, 2, 3, 3], [2, 2, 3, 3]]


def test_components_stay_together_and_arrays_without_points_belong_to_rank_0() -> None:
    together = element_owners(ArrayBlocks(("N", "M"), ("N",)), (3,), {"N": 3, "M": 2})
    assert together.tolist() == [0, 0, 1, 1, 2, 2]
    assert element_owners(ArrayBlocks(("M",), ()), (3,), {"M": 4}).tolist() == [0, 0, 0, 0]


def test_arrays_of_equal_size_are_told_apart_by_the_width_of_their_values() -> None:
    # One allocation site each, two arrays of 16 bytes with a header of 16 between them.
    offsets = [0, 8, 32, 40, *range(0, 16, 4), *range(32, 48, 4)]
    objects = [HomeObject(HomeKind.HEAP, name, size_bytes=48) for name in ("doubles", "ints")]
    widths = dict.fromkeys(range(4, 12), 4)
    graph = homed(build(12, [], widths=widths), [0] * 4 + [1] * 8, offsets, objects)
    vertex, element = elements_of(graph, 4)
    assert vertex.tolist() == list(range(4, 12))
    assert element.tolist() == [0, 1, 2, 3, 0, 1, 2, 3]
