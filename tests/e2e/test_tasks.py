"""The 30 kernels of the task applications: mappers and bytes by theory, an oracle, the exact counter."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from commanalyzer.foundation.errors import ConfigError
from commanalyzer.foundation.flows import Fold
from commanalyzer.graph.value_graph import HomeKind, ValueGraph, sink_of_source
from commanalyzer.kernels.features.kernels import FEATURES
from commanalyzer.kernels.learning.inputs import predict_application
from commanalyzer.kernels.learning.runs import runs_of
from commanalyzer.kernels.tasks.accesses.buffers import Ints
from commanalyzer.kernels.tasks.graph import TaskGraph
from commanalyzer.kernels.tasks.mappers import parse_mapper
from tests.counts import count_volume
from tests.e2e.tasks_oracle import Loop, fields, line, moved_elements, stencil
from tests.graphs import build, flows_of, row
from tests.recorded import record_file
from tests.task_kernels import NODES, Application, analysed, applications, found_kernel, graph_of, unlike

WORKLOADS = Path(__file__).resolve().parents[2] / "workloads" / "tasks"
_LISTED = {application.name: application for application in applications()}


@pytest.mark.parametrize("name", sorted(_LISTED))
def test_mappers_are_those_of_the_table_or_the_difference_is_explained(name: str) -> None:
    graph = graph_of(_LISTED[name])
    for listed in _LISTED[name].kernels:
        found = found_kernel(graph, listed)
        assert unlike(listed, found, "needed") == []
        assert len(found.range) == listed.items
        assert found.executions == listed.tasks
        assert bool(unlike(listed, found, "published")) <= bool(listed.because), listed.function
        for access in listed.accesses:
            for text in (access.published, access.needed):
                assert text == "fixed" or parse_mapper(text)


@pytest.mark.parametrize("name", sorted(n for n, a in _LISTED.items() if a.moved))
def test_programs_move_what_theory_says(name: str) -> None:
    assert graph_of(_LISTED[name]).moved_bytes() == _LISTED[name].expected(0)


def _described(application: Application) -> list[Loop]:
    n, *more = map(int, application.sizes[0].split())
    if application.name == "fdtd2d":
        return fields(n, more[0])
    if application.name == "jacobi1d":
        return line(n)
    source, sink = {"2dconv": "ab", "jacobi2d": ("a", "res"), "seidel": "aa"}[application.name]
    return stencil(n, source, sink, star=application.name == "jacobi2d")


@pytest.mark.parametrize("name", sorted(n for n, a in _LISTED.items() if not a.moved))
def test_stencils_with_borders_move_what_their_items_need(name: str) -> None:
    loops = _described(_LISTED[name])
    expected = tuple(4 * moved_elements(loops, p) for p in NODES)
    assert graph_of(_LISTED[name]).moved_bytes() == expected


def _counted(source: Ints, reader: Ints, node_of_source: Ints, width: Ints, num_nodes: int) -> int:
    """Bytes by the exact counter: a value per source, a value per reading node that is computed from it."""
    sources, first, index = np.unique(source, return_index=True, return_inverse=True)
    if not len(sources):
        return 0
    rows = [row(len(sources) + q, *np.unique(index[reader == q]).tolist()) for q in range(num_nodes)]
    widths = dict(enumerate(width[first].tolist()))
    graph = build(len(sources) + num_nodes, rows, widths=widths)
    part = np.concatenate((node_of_source[first], np.arange(num_nodes))).astype(np.int32)
    return count_volume(graph, part, num_nodes).total_bytes


@pytest.mark.parametrize("name", sorted(_LISTED))
def test_every_edge_moves_what_the_exact_counter_says(name: str) -> None:
    analysis, graph, nodes = analysed(_LISTED[name])
    words, task = analysis.words, analysis.execution.task
    is_flow = (words.source >= 0) & ~analysis.is_index[words.access] & ~analysis.is_update[words.access]
    is_flow |= (words.source >= 0) & (task[words.access] != task[words.access[words.source]])
    is_flow &= analysis.is_buffer[analysis.log.object[words.access]]
    sink = np.flatnonzero(is_flow)
    source = words.source[sink]
    number = np.unique(task[np.isin(analysis.log.object, np.flatnonzero(analysis.is_buffer))])
    for k, p in enumerate(NODES):
        node = nodes[k][words.access]
        everywhere = node[sink] == p
        readers = np.where(everywhere, 0, node[sink])
        extra = [np.full(int(everywhere.sum()), q) for q in range(1, p)]
        flow = np.concatenate((np.arange(len(sink)), *(np.flatnonzero(everywhere) for _ in extra)))
        reader = np.concatenate((readers, *extra))
        at = source[flow]
        whole = _counted(at, reader, node[at], words.bytes[at], p)
        assert whole == graph.moved_bytes()[k]
        for edge in graph.edges:
            mine = (task[words.access[at]] == number[edge.source]) & (
                task[words.access[sink[flow]]] == number[edge.sink]
            )
            needed = _counted(at[mine], reader[mine], node[at[mine]], words.bytes[at[mine]], p)
            same = [e for e in graph.edges if (e.source, e.sink) == (edge.source, edge.sink)]
            assert needed == sum(e.needed_bytes[k] for e in same)


def _without_folds(graph: ValueGraph) -> ValueGraph:
    """Work items add up their own sums, as kernels do that are ported as they stand."""
    rows = graph.rows._replace(
        row_fold=np.full_like(graph.rows.row_fold, Fold.NONE),
        term_ptr=np.arange(graph.num_rows + 1, dtype=np.int64),
        source_ptr=graph.rows.row_ptr,
    )
    return replace(graph, rows=rows)


def _owners(
    graph: ValueGraph, tasks: TaskGraph, n: int, parts: int
) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    """Owner of each value: the node whose work item writes it; of inputs, their block of rows."""
    shapes = {a.buffer: a for task in reversed(tasks.tasks) for a in task.accesses}
    part = np.full(graph.num_vertices, -1, np.int64)
    for number, known in enumerate(graph.objects):
        mine = np.flatnonzero(graph.home_object == number)
        if known.name in shapes and known.kind != HomeKind.REGISTER:
            access = shapes[known.name]
            element = graph.home_offset[mine] // access.element_bytes
            row, column = (element // n, element % n) if len(access.shape) > 1 else (element, element)
            row = np.minimum(row, column) if known.name == "symmat" else row  # item j1 writes row and column
            part[mine] = row * parts // n
    sink = sink_of_source(graph.rows)
    while True:  # sums in registers are where they are stored
        open_ = (part[graph.rows.source] < 0) & (part[sink] >= 0)
        if not open_.any():
            return np.maximum(part, 0).astype(np.int32)
        part[graph.rows.source[open_]] = part[sink[open_]]


# Where kernels read several versions of an element, or need workspace, the recorded graph collapses these.
_MORE = ("atax", "bicg", "gesummv", "2mm", "sobel5", "vecadd")


def test_the_application_is_that_of_the_named_kernels() -> None:
    """Instructions, items and weights of syrk, whose two kernels alone count: paper Section 4.2."""
    graph = graph_of(_LISTED["syrk"])
    instructions = {"initialise": 12, "syrk_scale": 3, "syrk_product": 903, "print_sum": 9}
    known = [
        {**dict.fromkeys(FEATURES, 0.0), "work_items": 8194.0**2, "total": n, "kernel": name, "devices": p}
        for name, n in instructions.items()
        for p in (1, 2)
    ]
    runs = runs_of(known)
    every = predict_application(graph, runs, runs.of("devices"))
    assert every.tasks == tuple(instructions)
    own = predict_application(graph, runs, runs.of("devices"), names=("syrk_scale:13", "syrk_product"))
    assert own.tasks == ("syrk_scale", "syrk_product")
    assert own.shares == pytest.approx([0.003, 0.997], abs=5e-4)
    with pytest.raises(ConfigError, match="expected tasks of gemm, found those of initialise, syrk_scale"):
        predict_application(graph, runs, runs.of("devices"), names=("gemm",))


@pytest.mark.parametrize(
    "name", ["syrk", "gemm", *(pytest.param(n, marks=pytest.mark.extended) for n in _MORE)]
)
def test_recorded_graphs_give_the_same_bytes(name: str) -> None:
    application = _LISTED[name]
    graph = graph_of(application)
    kernels = {k.function for k in application.kernels}
    n = int(application.sizes[0])
    recorded = record_file(WORKLOADS / f"{name}.c", str(n), regions=tuple(kernels)).graph
    values = _without_folds(recorded)
    shapes = {a.buffer for task in graph.tasks for a in task.accesses}
    buffers = np.array([o.name in shapes for o in values.objects])[values.home_object]
    for k, p in enumerate(NODES):
        owners = _owners(values, graph, n, p)
        # what main passes to kernels beside buffers, its n, is an input that every other node gets once
        sent = {(v, int(owners[s])) for _, s, v in flows_of(values) if not buffers[v] and values.is_input[v]}
        passed = sum(int(values.width_bytes[v]) for v, reader in sent if owners[v] != reader)
        expected = sum(e.moved_bytes[k] for e in graph.edges if graph.tasks[e.sink].name in kernels)
        assert count_volume(values, owners, p).total_bytes - passed == expected
