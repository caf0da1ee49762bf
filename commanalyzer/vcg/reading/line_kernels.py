"""Compiled loops that find out where rows of ranges may be equal, see :mod:`commanalyzer.vcg.reading.ranges`.

Tables are those of :mod:`commanalyzer.vcg.reading.range_kernels`, and::

    line    [s, 0] hash     [s, 1] place of its first row    [s, 2] behind the last    [s, 3] hash of strides

A line is a site, strides, and the sink and labels at place 0; a row lies at the place that is the word of its
sink divided by the stride of sinks, or if they stay, the first label that advances by its stride: its *axis*.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from commanalyzer.abi.trace_layout import ROW_RANGE
from commanalyzer.foundation.compiled import compiled, compiled_in_place
from commanalyzer.vcg.reading.range_kernels import OTHERS, end_of
from commanalyzer.vcg.reading.trace_kernels import (
    COUNT,
    FLAGS,
    LOW,
    find_range,
    mixed,
    plain_label,
    units_of,
)

_MANY_WAYS = 16


@compiled
def _axis(s: Any, stores: Any, labels: Any) -> Any:
    """Which label of a store says where its rows lie, -1 for the sink; how that advances."""
    axis, stride, k = -1, stores[s, 2], stores[s, 3]
    while stride == 0 and k < end_of(s, stores, labels):
        axis, stride = k - stores[s, 3], labels[k, 1]
        k += 1
    return axis, stride


@compiled
def _strides(s: Any, sign: Any, stores: Any, labels: Any) -> Any:
    """Hash of the strides of a store whose axis advances upward."""
    end = end_of(s, stores, labels)
    hash_ = mixed(end - stores[s, 3], sign * stores[s, 2])
    for i in range(stores[s, 3], end):
        hash_ = mixed(hash_, sign * labels[i, 1])
    return hash_


@compiled
def lines_of(rounds: Any, first_store: Any, stores: Any, labels: Any, line: Any) -> None:
    """Fill ``line`` with the line and the place on it of every store of a range."""
    for n in range(len(rounds)):
        for s in range(first_store[n], first_store[n + 1]):
            axis, stride = _axis(s, stores, labels)
            sign = 1 if stride > 0 else -1
            first = stores[s, 1] if axis < 0 else labels[stores[s, 3] + axis, 0]
            at = first // max(abs(stride), 1)  # of one round, strides may all be 0
            way = _strides(s, sign, stores, labels)
            hash_ = mixed(mixed(stores[s, 0], way), stores[s, 1] - at * sign * stores[s, 2])
            for i in range(stores[s, 3], end_of(s, stores, labels)):
                hash_ = mixed(hash_, labels[i, 0] - at * sign * labels[i, 1])
            line[s, 0], line[s, 3] = hash_, way
            line[s, 1] = at if sign > 0 else at - rounds[n] + 1
            line[s, 2] = line[s, 1] + rounds[n]


@compiled
def _cells_between(line: Any, members: Any) -> Any:
    """Places between which nothing begins or ends on a line."""
    bounds = np.empty(2 * len(members), np.int64)
    for k in range(len(members)):
        bounds[2 * k], bounds[2 * k + 1] = line[members[k], 1], line[members[k], 2]
    bounds.sort()
    distinct = 1
    for k in range(1, len(bounds)):
        if bounds[k] != bounds[distinct - 1]:
            bounds[distinct] = bounds[k]
            distinct += 1
    return bounds[:distinct]


@compiled_in_place
def _alternate(members: Any, segment: Any) -> Any:
    """Two stores next to each other belong to one segment."""
    found = False
    for k in range(1, len(members)):
        found |= segment[members[k]] == segment[members[k - 1]]
    return found


@compiled
def _cut_line(line: Any, members: Any, counts: Any, stores: Any, labels: Any, pieces: Any, found: Any) -> Any:
    """Append the pieces of stores on one line: each place belongs to the first store that has it."""
    bounds = _cells_between(line, members)
    following = np.empty(len(bounds), np.int64)  # the next cell that is nobody's, by ways that get shorter
    total = np.zeros(len(bounds), np.int64)
    for s in members:
        total[find_range(line[s, 1], bounds)] += counts[s]
        total[find_range(line[s, 2], bounds)] -= counts[s]
    for cell in range(len(bounds)):
        following[cell] = cell
        total[cell] += total[cell - 1] if cell else 0
    for s in members:
        cell, stop = find_range(line[s, 1], bounds), find_range(line[s, 2], bounds)
        while True:
            while following[cell] != cell:
                following[cell] = following[following[cell]]
                cell = following[cell]
            if cell >= stop:
                break
            following[cell] = cell + 1
            low, high = bounds[cell] - line[s, 1], bounds[cell + 1] - line[s, 1]
            if _axis(s, stores, labels)[1] < 0:
                rounds = line[s, 2] - line[s, 1]
                low, high = rounds - high, rounds - low
            pieces[found, 0], pieces[found, 1] = s, low
            pieces[found, 2], pieces[found, 3] = high, total[cell]
            found += 1
    return found


@compiled
def cut_overlaps(
    line: Any,
    by_line: Any,
    segment: Any,
    counts: Any,
    stores: Any,
    labels: Any,
    is_merged: Any,
    is_cut: Any,
    pieces: Any,
) -> Any:
    """Cut the stores that share rows on a line, so that each row is counted where it comes first.

    Args:
        line: As :func:`lines_of` fills it.
        by_line: Stores, sorted by line and place.
        segment: int64[S], segment of each store.
        counts: int64[S], how often each was counted.
        stores: int64[S, 4].
        labels: int64[L, 2].
        is_merged: bool, per site, result: lines with several stores of a loop, whose rounds alternate.
        is_cut: bool[S], result.
        pieces: int64[2 S, 4], result: store, first round, round behind the last, count.

    Returns:
        Number of pieces.
    """
    found, first = 0, 0
    while first < len(by_line):
        last, behind, overlaps = first, line[by_line[first], 2], False
        while last < len(by_line) and line[by_line[last], 0] == line[by_line[first], 0]:
            overlaps |= last > first and line[by_line[last], 1] < behind
            behind = max(behind, line[by_line[last], 2])
            last += 1
        if overlaps:
            members = by_line[first:last].copy()
            members.sort()
            if _alternate(members, segment):
                is_merged[stores[members[0], 0]] = True
            else:
                for s in members:
                    is_cut[s] = True
                found = _cut_line(line, members, counts, stores, labels, pieces, found)
        first = last
    return found


@compiled
def reach_of(line: Any) -> None:
    """Let every end become that of the stores so far on the line; ``line`` is sorted by line and place."""
    for s in range(1, len(line)):
        if line[s, 0] == line[s - 1, 0]:
            line[s, 2] = max(line[s, 2], line[s - 1, 2])


@compiled
def mark_crossing(way: Any, low: Any, high: Any, is_merged: Any) -> None:
    """Mark sites where stores with other strides have sinks in between; sorted by site and lowest sink."""
    top, other = np.int64(-1), np.int64(-1)  # highest sink so far: of the way that reached highest, of others
    top_way = np.int64(0)
    for s in range(len(way)):
        if s == 0 or way[s, 0] != way[s - 1, 0]:
            top, other, top_way = np.int64(-1), np.int64(-1), way[s, 1]
        reached = other if way[s, 1] == top_way else top
        if low[s] <= reached:
            is_merged[way[s, 0]] = True
        if way[s, 1] == top_way:
            top = max(top, high[s])
        elif high[s] > top:
            top, other, top_way = high[s], top, way[s, 1]
        else:
            other = max(other, high[s])


@compiled
def _lies_on(line: Any, hash_: Any, place: Any) -> Any:
    """Some store of a range has a row at this place of a line; see :func:`reach_of`."""
    low, high = 0, len(line)
    while low < high:  # the last store that begins at or before it
        middle = (low + high) >> 1
        if line[middle, 0] < hash_ or (line[middle, 0] == hash_ and line[middle, 1] <= place):
            low = middle + 1
        else:
            high = middle
    return low > 0 and line[low - 1, 0] == hash_ and place < line[low - 1, 2]


@compiled
def _meets(heads: Any, row: Any, units: Any, unit: Any, stores: Any, labels: Any, s: Any, line: Any) -> Any:
    """A plain row lies where a range with the strides of store ``s`` has one."""
    first, end = stores[s, 3], end_of(s, stores, labels)
    if (heads[row, 1] >> 32) & COUNT != end - first:
        return False
    axis, stride = _axis(s, stores, labels)
    sign = 1 if stride > 0 else -1
    position = heads[row, 0] if axis < 0 else plain_label(heads, row, units, unit, axis)
    place = position // max(abs(stride), 1)
    way = _strides(s, sign, stores, labels)
    hash_ = mixed(mixed(stores[s, 0], way), heads[row, 0] - place * sign * stores[s, 2])
    for i in range(first, end):
        label = plain_label(heads, row, units, unit, i - first)
        hash_ = mixed(hash_, label - place * sign * labels[i, 1])
    return _lies_on(line, hash_, place)


@compiled
def mark_met(
    heads: Any, units: Any, stores: Any, labels: Any, representatives: Any, line: Any, is_merged: Any
) -> None:
    """Mark sites with plain rows that are part of a range, too.

    ``representatives`` are a store for each site and each way to advance, in the order of sites. Where ways
    are many, they are not looked at one by one.
    """
    first_of_site = np.zeros(len(is_merged) + 1, np.int64)
    for r in representatives:
        first_of_site[stores[r, 0] + 1] += 1
    for site in range(len(is_merged)):
        first_of_site[site + 1] += first_of_site[site]
    unit = 0
    for row in range(len(heads)):
        flags, site = heads[row, 1] >> FLAGS, heads[row, 1] & LOW
        if not flags & (OTHERS | ROW_RANGE) and not is_merged[site]:
            ways = first_of_site[site + 1] - first_of_site[site]
            is_merged[site] = ways > _MANY_WAYS
            for r in range(first_of_site[site], first_of_site[site + 1]):
                if not is_merged[site] and _meets(
                    heads, row, units, unit, stores, labels, representatives[r], line
                ):
                    is_merged[site] = True
        unit += units_of(heads[row, 1])
