"""Hypothesis strategies for small random value graphs and partitions."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

from commanalyzer.vcg.graph import Fold, SourceRole, ValueGraph
from tests.graphs import Row, build


@dataclass(frozen=True, slots=True)
class Case:
    """A graph with owners and hubs."""

    graph: ValueGraph
    part: tuple[int, ...]
    num_parts: int
    hubs: tuple[bool, ...]


@st.composite
def graphs(draw: st.DrawFn, registers: bool = False) -> ValueGraph:
    n = draw(st.integers(2, 9))
    regs = draw(st.sets(st.integers(n // 2, n - 1))) if registers else set()
    rows = [draw(_rows(n, frozenset(regs))) for _ in range(draw(st.integers(1, 12)))]
    widths = {v: draw(st.sampled_from([4, 8, 16])) for v in range(n)}
    work = {v: float(draw(st.integers(0, 9))) for v in range(n)}
    inputs = draw(st.sets(st.integers(0, n - 1)))
    return build(n, rows, inputs=sorted(inputs), registers=sorted(regs), widths=widths, work=work)


@st.composite
def _rows(draw: st.DrawFn, n: int, registers: frozenset[int]) -> Row:
    sink = draw(st.integers(0, n - 1))
    # Registers are computed from earlier registers and memory only.
    later = {v for v in registers if v > sink} if sink in registers else set()
    others = [v for v in range(n) if v != sink and v not in later] or [
        v for v in range(n) if v not in registers
    ]
    source = st.tuples(st.sampled_from(others), st.sampled_from(list(SourceRole)))
    term = st.lists(source, min_size=1, max_size=3, unique_by=lambda s: s[0])
    fold = draw(st.sampled_from([Fold.NONE, Fold.SUM, Fold.SUM, Fold.MIN]))
    most = 1 if fold == Fold.NONE else 4
    terms = draw(st.lists(term, min_size=0, max_size=most))
    accumulates = draw(st.booleans())
    return Row(sink, terms, draw(st.integers(1, 5)), fold, accumulates)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    graph = draw(graphs())
    p = draw(st.integers(1, 4))
    n = graph.num_vertices
    part = draw(st.lists(st.integers(0, p - 1), min_size=n, max_size=n))
    hubs = draw(st.lists(st.sampled_from([False, False, True]), min_size=n, max_size=n))
    return Case(graph, tuple(part), p, tuple(hubs))
