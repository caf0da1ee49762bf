"""The 30 kernels of the task applications: range mappers and bytes against theory, an oracle and the exact counter."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from commanalyzer.tasks.graph import TaskGraph
from commanalyzer.tasks.mappers import parse_mapper
from commanalyzer.vcg.graph import Fold, HomeKind, ValueGraph
from tests.bench.tasks import NODES, Application, applications, found_kernel, graph_of, unlike
from tests.e2e.tasks_oracle import Loop, fields, line, moved_elements, stencil

WORKLOADS = Path(__file__).resolve().parents[2] / "workloads" / "tasks"
_LISTED = {application.name: application for application in applications()}


def test_there_are_30_kernels_in_20_applications() -> None:
    assert len(_LISTED) == 20
    assert len({k.function for a in _LISTED.values() for k in a.kernels}) == 30


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


def _without_folds(graph: ValueGraph, free: set[str]) -> ValueGraph:
    """Work items add up their own sums; what is passed to kernels beside buffers costs nothing."""
    is_free = np.isin(graph.home_object, [k for k, o in enumerate(graph.objects) if o.name in free])
    return replace(
        graph,
        row_fold=np.full_like(graph.row_fold, Fold.NONE),
        term_ptr=np.arange(graph.num_rows + 1, dtype=np.int64),
        source_ptr=graph.source_ptr[graph.term_ptr],
        width_bytes=np.where(is_free, 1, graph.width_bytes * 100).astype(np.int64),
    )


def _owners(
    graph: ValueGraph, tasks: TaskGraph, n: int, parts: int
) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    """Owner of each value: the node whose work item writes it; of inputs, their block of rows."""
    shapes = {a.buffer: a for k in tasks.kernels for a in k.accesses}
    part = np.full(graph.num_vertices, -1, np.int64)
    for number, known in enumerate(graph.objects):
        mine = np.flatnonzero(graph.home_object == number)
        if known.name in shapes and known.kind != HomeKind.REGISTER:
            access = shapes[known.name]
            element = graph.home_offset[mine] // access.element_bytes
            row, column = (element // n, element % n) if len(access.shape) > 1 else (element, element)
            row = np.minimum(row, column) if known.name == "symmat" else row  # item j1 writes row and column
            part[mine] = row * parts // n
    row_of = np.repeat(np.arange(graph.num_rows), np.diff(graph.source_ptr[graph.term_ptr]))
    sink = graph.row_sink[row_of]
    while True:  # sums in registers are where they are stored
        open_ = (part[graph.source] < 0) & (part[sink] >= 0)
        if not open_.any():
            return np.maximum(part, 0).astype(np.int32)
        part[graph.source[open_]] = part[sink[open_]]
