"""Transfers put together: what a plain table of all of them gives, for any number of them."""

from collections import defaultdict
from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from commanalyzer.communication.messages.exchanges import Exchanges
from commanalyzer.communication.messages.transfers import Transfers
from commanalyzer.communication.totals import totals_of
from commanalyzer.communication.volume import charge_volume
from commanalyzer.graph.value_graph import Int32
from tests.graphs import build, row

PARTS, VALUES = 3, 6
EXITS = (4, 5)  # values of another array
SITE = np.array([0, 0, 1, -1, 1, 0], dtype=np.int32)
LEVEL = np.array([0, 1, 1, 0, 0, 1])  # in time, of its array
HUBS = np.arange(VALUES) == 2
Item = tuple[int, ...]  # value, sender, receiver behind it, least and more transfers


def _transfers(items: list[Item]) -> Transfers:
    value, sender, turn, low, more = np.array(items, dtype=np.int64).reshape(-1, 5).T

    def short(column: object) -> Int32:
        return np.ascontiguousarray(column, dtype=np.int32)

    columns = short(value), short(sender), short((sender + turn) % PARTS)
    counts = low.copy(), low + more // 2, low + more
    return Transfers(*columns, *counts, np.full(len(value), 4, dtype=np.int64))


_RANGES = ((0, VALUES - 1), (0, PARTS - 1), (1, PARTS - 1), (0, 9), (0, 2))
ITEMS = st.lists(st.tuples(*(st.integers(*ends) for ends in _RANGES)))


@given(ITEMS, ITEMS)
@settings(max_examples=100, deadline=None)
def test_what_a_table_of_all_transfers_gives(folds: list[Item], sent: list[Item]) -> None:
    graph, kinds = build(VALUES, [], exits=EXITS), (_transfers(folds), _transfers(sent))
    totals, part = replace(totals_of(graph), site=SITE.copy(), level=LEVEL), np.zeros(VALUES, np.int32)
    found = Exchanges.of(kinds, PARTS, graph, totals, part, HUBS)
    per_level: dict[tuple[int, ...], int] = defaultdict(int)
    moved = np.zeros((PARTS, PARTS), dtype=np.int64)
    objects = np.zeros(len(graph.objects), dtype=np.int64)
    groups: set[tuple[int, ...]] = set()
    for kind, item in enumerate(kinds):
        for v, i, j, rounds in zip(item.value, item.sender, item.receiver, item.count, strict=True):
            home = int(graph.home_object[v])
            key = i, j, SITE[v], home, LEVEL[v]
            per_level[key] = max(per_level[key], rounds)
            moved[i, j] += 4 * rounds
            objects[home] += 4 * rounds
            groups.add((kind, *key, HUBS[v]))
    per_site: dict[tuple[int, int, int], int] = defaultdict(int)
    for (i, j, site, *_), rounds in per_level.items():
        per_site[i, j, site] += rounds
    messages = np.zeros((PARTS, PARTS), dtype=np.int64)
    for (i, j, _), rounds in per_site.items():
        messages[i, j] = max(messages[i, j], rounds)
    total = found.communication()
    assert (total.comm_bytes.tolist(), total.messages.tolist()) == (moved.tolist(), messages.tolist())
    assert total.low_bytes == 4 * sum(int(item.low.sum()) for item in kinds)
    assert total.high_bytes == 4 * sum(int(item.high.sum()) for item in kinds)
    assert found.bytes_per_object().tolist() == objects.tolist()
    places = found.site, found.home, found.level
    columns = (found.is_expand, found.sender, found.receiver, *places, found.is_hub)
    assert len(found.rounds) == len(groups)
    assert set(zip(*(c.tolist() for c in columns), strict=True)) == groups


def test_what_is_computed_from_what_was_sent_goes_in_a_later_message() -> None:
    """A triangular solution with rows dealt out; steps in time that are all kept."""
    graph = build(8, [row(i, *range(i)) for i in range(1, 8)])
    dealt = np.arange(8, dtype=np.int32) % 2
    messages = charge_volume(graph, dealt, 2).communication(graph, dealt).messages
    assert messages.tolist() == [[0, 3], [3, 0]]  # the first value, of another statement, shares one
    n, steps = 4, 6
    reads = [
        row(n * (t + 1) + i, *(n * t + j for j in (i - 1, i, i + 1) if 0 <= j < n))
        for t in range(steps)
        for i in range(n)
    ]
    graph, part = build(n * (steps + 1), reads), np.tile(np.array([0, 0, 1, 1], np.int32), steps + 1)
    kept = charge_volume(graph, part, 2).communication(graph, part).messages
    assert kept.tolist() == [[0, steps - 1], [steps - 1, 0]]
