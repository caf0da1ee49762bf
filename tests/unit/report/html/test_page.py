"""The page of results: complete, self-contained, true to the numbers, whatever the result lacks."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from commanalyzer.division.owners import Owners
from commanalyzer.machine.parameters import MachineParameters, Parameter
from commanalyzer.program.ir.names.addresses import source_name
from commanalyzer.report.html.page import NamedResult, make_page, render_page
from commanalyzer.result.provenance import file_hash
from commanalyzer.result.results import AnalysisResult
from tests.counted import counted_from
from tests.samples import sample_decomposition, sample_machine, sample_result
from tests.unit.report.html.pages import ReadPage, read_page

SECTIONS = [
    *("Summary", "Node counts and efficiency", "Who talks to whom", "How the data is divided"),
    *("What causes the communication", "Recording and warnings", "Machine and provenance", "Columns"),
]
MACHINE = sample_machine("cluster A", bandwidth=1e9, throughput=1e9, latency=1e-6)


def _read(*results: AnalysisResult, machines: tuple[MachineParameters, ...] = ()) -> ReadPage:
    named = [NamedResult("sample", result) for result in results]
    return read_page(render_page(make_page(named, machines=machines)))


def test_a_page_has_all_sections_and_loads_nothing() -> None:
    page = _read(sample_result())
    assert page.headings == ["sample", *SECTIONS]
    assert page.loaded == []
    assert page.tags & {"iframe", "object", "embed", "img"} == set()
    assert [json.loads(data)["kind"] for data in page.scripts[:-1]] == ["matrix"]
    script = page.scripts[-1]
    assert "fetch" not in script and "innerHTML" not in script and "eval(" not in script
    assert set(page.links) <= set(page.ids)


def test_the_same_result_gives_the_same_page() -> None:
    first, second = (render_page(make_page([NamedResult("x", sample_result())])) for _ in range(2))
    assert first == second


def test_texts_of_the_result_are_text() -> None:
    bad = "</script><script>alert(1)</script> & more"
    whole = sample_result(sample_decomposition(2, pair_bytes=8), warnings=(bad,))
    objects = tuple(replace(home, name=bad) for home in whole.store.objects)
    page = _read(replace(whole, store=replace(whole.store, objects=objects)))
    assert f"{bad}." in page.text
    matrix = json.loads(page.scripts[0])
    assert [rows[0][0][0].startswith(bad) for rows in matrix["causes"]["rows"].values()] == [True]
    assert len(page.scripts) == len(_read(whole).scripts)


def test_numbers_of_the_result_are_on_the_page() -> None:
    page = _read(sample_result(sample_decomposition(3, pair_bytes=1000)))
    text = " ".join(page.text.split())
    for expected in (
        "Divided over 3 nodes, 'größe.c' 12 'a b' (region sweep) has to move 2 kB in 2 messages",
        "100.0 % of these bytes are values of u (größe.c:3)",
        "2 of 6 pairs exchange something; most is 1 kB from node 0 to 1",
        "1 source, 0 sink, 2 reduction",
        "clang version 22.1.8 -DN=3",
    ):
        assert expected in text


def test_bounds_are_those_of_every_machine() -> None:
    # 40 B for 5 flop: I = 8, E = 1 / 9 by Eq. 4
    other = replace(MACHINE, name="cluster B", bandwidth=Parameter(8e9, "B/s"))
    page = _read(sample_result(), machines=(MACHINE, other))
    text = " ".join(page.text.split())
    assert "Best efficiency on cluster A" in text
    assert "(11.1 % by bandwidth alone, Eq. 4)" in text
    assert "half of the time is communication at 1 bytes per flop" in text
    assert "half of the time is communication at 8 bytes per flop" in text


def test_machines_are_not_mixed() -> None:
    own = replace(MACHINE, overlap=Parameter(0.5, "1"), throughput=Parameter(2e9, "Flop/s"))
    other = MachineParameters("cluster B", bandwidth=Parameter(1e9, "B/s"))
    text = " ".join(_read(sample_result(machine=own), machines=(other,)).text.split())
    assert "overlap 0.0 %, throughput 2 GFlop/s" in text
    assert "cluster B has no latency" in text


def test_a_machine_without_throughput_is_named_and_can_get_one() -> None:
    network = MachineParameters("torus", bandwidth=Parameter(1e9, "B/s"))
    text = " ".join(_read(sample_result(), machines=(MACHINE, network)).text.split())
    assert "No efficiency bound on torus: no throughput is known" in text
    assert "Best efficiency on torus" not in text
    named = [NamedResult("x", sample_result())]
    rate = Parameter(1e9, "Flop/s")
    text = read_page(render_page(make_page(named, machines=[network], throughput=rate))).text
    assert "Best efficiency on torus" in text


@pytest.mark.parametrize("machines", [(), (MACHINE,)])
def test_results_that_lack_something_have_a_page(machines: tuple[MachineParameters, ...]) -> None:
    whole = sample_result()
    one_node = sample_result(sample_decomposition(1, pair_bytes=0))
    silent = sample_result(sample_decomposition(2, pair_bytes=0))
    none = replace(whole, decompositions=())
    endless = replace(sample_decomposition(), intensity=float("inf"))
    no_flops = replace(whole, work=replace(whole.work, flops=0), decompositions=(endless,))
    unknown = replace(sample_decomposition(), object_bytes=np.zeros(0, np.int64))
    uncounted = replace(whole, decompositions=(unknown,))
    for result in (one_node, silent, none, no_flops, uncounted):
        page = _read(result, machines=machines)
        assert " nan" not in page.text and " inf" not in page.text
        assert "Machine and provenance" in page.headings[-2:]


def test_several_results_are_compared() -> None:
    counted = counted_from(np.array([[0, 8], [16, 0]], dtype=np.int64))
    page = _read(sample_result(), sample_result(sample_decomposition(4)), counted)
    assert page.headings[:3] == ["Comparison", "Side by side", "Columns"]
    assert page.headings.count("Who talks to whom") == 3
    assert {"sample", "sample-2", "sample-3"} <= set(page.ids)


def test_a_counted_run_is_shown_without_graph_parts() -> None:
    page = _read(counted_from(np.array([[0, 8], [16, 0]], dtype=np.int64)))
    parts = ["Summary", "Who talks to whom", "Calls", "Warnings and provenance", "Columns"]
    assert page.headings == ["sample (counted MPI run)", *parts]
    assert "MPI_" in page.text
    assert "from rank" in page.text


def test_source_is_shown_only_as_it_was_analysed(tmp_path: Path) -> None:
    path = tmp_path / "heat.c"
    path.write_text("".join(f"line {number} <&>\n" for number in range(1, 21)), encoding="utf-8")
    whole = sample_result(sample_decomposition(2, pair_bytes=8))  # u[0] is sent to u[1], once
    sites = tuple(replace(site, file="src/heat.c", line=7) for site in whole.graph.sites)
    owners = np.array([0, 1, 1], dtype=np.int32)
    result = replace(
        whole,
        store=replace(whole.store, sites=sites),
        decompositions=(replace(whole.decompositions[0], owners=Owners.of(owners)),),
        provenance=replace(whole.provenance, input_hashes=(("src/heat.c", file_hash(path)),)),
    )

    def text(*folders: Path) -> str:
        named = [NamedResult("x", result)]
        return read_page(render_page(make_page(named, folders=folders))).text

    shown = text(tmp_path)
    assert "line 4 <&>" in shown and "line 10 <&>" in shown and "line 11" not in shown
    assert "Source not shown, not found" in text(tmp_path / "elsewhere")
    path.write_text("changed\n", encoding="utf-8")
    assert "Source not shown, changed since the analysis" in text(tmp_path)


def test_a_file_without_hash_is_not_shown(tmp_path: Path) -> None:
    (tmp_path / "größe.h").write_text("int x;\n" * 20, encoding="utf-8")
    whole = sample_result(sample_decomposition(2, pair_bytes=8))
    sites = tuple(replace(site, file="größe.h") for site in whole.graph.sites)
    result = replace(whole, store=replace(whole.store, sites=sites))
    text = read_page(render_page(make_page([NamedResult("x", result)], folders=(tmp_path,)))).text
    assert "not among the hashed inputs of the analysis (a header or a library): größe.h" in text


@pytest.mark.parametrize(
    ("symbol", "expected"),
    [
        ("main", "main"),
        ("_Z4stepPd", "step"),
        ("_ZN5hydro14compute_forcesERNS_6DomainE", "hydro::compute_forces"),
        ("_ZNK4Mesh5nodesEv", "Mesh::nodes"),
        ("_ZTV4Mesh", "_ZTV4Mesh"),
        ("_QMheatPstep", "heat::step"),
        ("_ZL9make_gridR4Gridi", "make_grid"),
        ("_ZN4MeshC2Eii", "Mesh::Mesh"),
        ("_ZN6Memory5allocIiEEPT_i", "Memory::alloc"),
        ("_ZNSt3__16vectorIdNS_9allocatorIdEEE9push_backEOd", "std::vector"),
        ("_ZNSt7__cxx1112basic_stringIcE6appendEPKc", "std::basic_string"),
        ("_ZSt4sortIPdEvT_S1_", "std::sort"),
        ("@_ZN12_GLOBAL__N_16SolverD1Ev", "(anonymous)::Solver::~Solver"),
    ],
)
def test_names_of_functions_are_readable(symbol: str, expected: str) -> None:
    assert source_name(symbol) == expected
