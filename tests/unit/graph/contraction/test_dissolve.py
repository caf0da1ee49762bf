"""Dissolving of registers, by hand and against a recursive reference."""

import pytest
from hypothesis import given, settings

from commanalyzer.foundation.errors import ConfigError
from commanalyzer.graph.contraction.dissolve import dissolve_registers
from commanalyzer.graph.invariants import check_dissolved
from commanalyzer.graph.value_graph import ValueGraph
from tests.graphs import build, row
from tests.reference.counting import RowKey, dissolved_rows, entries_of
from tests.strategies import graphs


def rows_as_dict(graph: ValueGraph) -> dict[RowKey, int]:
    rows, entries = graph.rows, entries_of(graph)
    assert all(len(set(found)) == len(found) for found in entries)
    keys = list(
        zip(rows.row_sink.tolist(), map(frozenset, entries), rows.row_accumulates.tolist(), strict=True)
    )
    assert len(set(keys)) == len(keys)
    return dict(zip(keys, rows.row_count.tolist(), strict=True))


@given(graphs(registers=True))
@settings(max_examples=300, deadline=None)
def test_equals_recursive_substitution(graph: ValueGraph) -> None:
    result = dissolve_registers(graph)
    gone = graph.is_register.tolist()
    kept = [v for v in range(graph.num_vertices) if not gone[v]]
    expected = {
        (kept.index(sink), frozenset((kept.index(v), role) for v, role in sources), own): count
        for (sink, sources, own), count in dissolved_rows(graph, gone).items()
    }
    assert rows_as_dict(result) == expected
    check_dissolved(graph, result)


def test_work_is_split_by_count() -> None:
    g = build(4, [row(1, 0), row(2, 1, count=3), row(3, 1, count=1)], registers=[1], work={1: 8})
    assert dissolve_registers(g).work_flops.tolist() == [0, 6, 2]


def test_registers_of_a_cycle_share_their_sources() -> None:
    g = build(5, [row(2, 3, 0), row(3, 2, 1), row(4, 3)], registers=[2, 3], work={2: 1, 3: 1})
    result = dissolve_registers(g)
    assert rows_as_dict(result) == {(2, frozenset({(0, 0), (1, 0)}), False): 1}
    assert result.work_flops.tolist() == [0, 0, 2]


def test_work_of_a_register_nobody_reads_stays_with_its_sources() -> None:
    g = build(3, [row(2, 0, 1)], registers=[2], work={2: 4})
    assert dissolve_registers(g).work_flops.tolist() == [2, 2]


def test_returned_value_stays() -> None:
    g = build(3, [row(1, 0), row(2, 1)], registers=[1], exits=[2])
    result = dissolve_registers(g)
    assert rows_as_dict(result) == {(1, frozenset({(0, 0)}), False): 1}
    assert result.objects[int(result.home_object[1])].name == "return"


def test_explosion_is_refused_with_the_place() -> None:
    n = 50
    rows = [row(n, *range(n)), *(row(n + 1 + i, n) for i in range(n))]
    g = build(2 * n + 1, rows, registers=[n])
    assert dissolve_registers(g, limit=n * n).num_flows == n * n
    with pytest.raises(
        ConfigError, match=r"test.c:7 \(main\): .* 2,500 flows, expected at most 2,000"
    ) as caught:
        dissolve_registers(g, limit=2000)
    assert "--model volume" in caught.value.hint
    with pytest.raises(ConfigError, match="makes 50 flows, expected at most 10"):
        dissolve_registers(g, limit=10)
