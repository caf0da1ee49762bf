"""Hypothesis strategies for small random value graphs and partitions."""

from dataclasses import dataclass

from hypothesis import strategies as st

from commanalyzer.foundation.flows import Fold, SourceRole
from commanalyzer.graph.value_graph import ValueGraph
from tests.graphs import Row, build

_LOOP_VALUES = 40


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
def loop_graphs(draw: st.DrawFn) -> ValueGraph:
    """Graphs of loops: sinks and sources advance by fixed steps, or stay, in each of some rounds."""
    rows = []
    for _ in range(draw(st.integers(1, 4))):
        rounds = draw(st.sampled_from([1, 2, 7, 8, 9, 12]))
        body = [draw(_loop_rows(rounds)) for _ in range(draw(st.integers(1, 3)))]
        rows += [of_round[i] for i in range(rounds) for of_round in body]
    return build(_LOOP_VALUES, rows, work={v: float(v % 3) for v in range(_LOOP_VALUES)})


@st.composite
def _loop_rows(draw: st.DrawFn, rounds: int) -> list[Row]:
    """What one statement does in each round."""

    def lane() -> tuple[int, int]:
        step = draw(st.sampled_from([1, 1, 1, 0, 2, -1]))
        way = step * (rounds - 1)
        return draw(st.integers(max(0, -way), _LOOP_VALUES - 1 - max(0, way))), step

    first, step = lane()
    fold = draw(st.sampled_from([Fold.NONE, Fold.NONE, Fold.SUM]))
    most = 1 if fold == Fold.NONE else 3
    terms = [[lane() for _ in range(draw(st.integers(1, 3)))] for _ in range(draw(st.integers(0, most)))]
    count, adds, copies = draw(st.integers(1, 3)), draw(st.booleans()), draw(st.booleans())
    result = []
    for i in range(rounds):
        sink = first + i * step
        found = [sorted({at + i * by for at, by in term} - {sink}) for term in terms]
        result.append(Row(sink, [term for term in found if term], count, fold, adds, copies))
    return result


@st.composite
def cases(draw: st.DrawFn) -> Case:
    graph = draw(graphs())
    p = draw(st.integers(1, 4))
    n = graph.num_vertices
    part = draw(st.lists(st.integers(0, p - 1), min_size=n, max_size=n))
    hubs = draw(st.lists(st.sampled_from([False, False, True]), min_size=n, max_size=n))
    return Case(graph, tuple(part), p, tuple(hubs))
