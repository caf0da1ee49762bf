"""Compiled loops over rows and vertices: what rows define, what fills cover.

Tables and ranges are those of :mod:`commanalyzer.vcg.reading.trace_kernels`.
"""

from __future__ import annotations

from typing import Any

from commanalyzer.abi.trace_layout import ROW_REGISTER, ROW_TEMPORARY, ROW_UPDATE
from commanalyzer.foundation.compiled import compiled, compiled_in_place
from commanalyzer.vcg.reading.trace_kernels import FLAGS, LOW, NONE, find_range


@compiled
def number_defined(heads: Any, names: Any, first_vertex: Any, vertex_of_row: Any) -> Any:
    """Number the vertices that rows define: register values, lifetimes in workspaces. Return the next one."""
    for row in range(len(heads)):
        flags = heads[row, 1] >> FLAGS
        name = names[row] if len(names) > 0 else row
        vertex_of_row[name] = NONE
        if flags & (ROW_REGISTER | ROW_TEMPORARY) and not flags & ROW_UPDATE:
            vertex_of_row[name] = first_vertex
            first_vertex += 1
    return first_vertex


@compiled_in_place
def _dense_of(word: Any, places: Any, cache: Any) -> Any:
    """Dense number of a word of a range."""
    starts, base = places
    if word < starts[cache[0]] or word >= starts[cache[0] + 1]:
        cache[0] = find_range(word, starts)
    return base[cache[0]] + word - starts[cache[0]]


@compiled_in_place
def note_defined(
    heads: Any, names: Any, vertex_of_row: Any, places: Any, cache: Any, is_register: Any, is_slot: Any
) -> None:
    """Note the sites that define register values, and the words whose lifetimes are vertices.

    Args:
        heads: Heads of all rows.
        names: By what labels call each; empty if that is its place.
        vertex_of_row: Vertex that a row defines, -1 for none.
        places: Starts and base of ranges.
        cache: int64[1], the range found last.
        is_register: bool, result, per site.
        is_slot: bool, result, per dense number.
    """
    for row in range(len(heads)):
        if vertex_of_row[names[row] if len(names) > 0 else row] >= 0:
            if (heads[row, 1] >> FLAGS) & ROW_REGISTER:
                is_register[heads[row, 1] & LOW] = True
            else:
                is_slot[_dense_of(heads[row, 0], places, cache)] = True


@compiled_in_place
def next_defined(
    heads: Any,
    names: Any,
    vertex_of_row: Any,
    row: Any,
    first: Any,
    places: Any,
    cache: Any,
    known: Any,
    out: Any,
) -> Any:
    """Fill columns of vertices that rows define; arguments as for :func:`note_defined`.

    Args:
        heads: As said, like the next two.
        names: Likewise.
        vertex_of_row: Likewise.
        row: Row to begin with.
        first: How many vertices rows before it define.
        places: As said.
        cache: As said.
        known: Columns of :class:`~commanalyzer.vcg.naming.DefinedNames`.
        out: Results: site, whether it is a lifetime of a word, object, offset; registers are numbered.

    Returns:
        Number of vertices, and the row to go on with.
    """
    register_object, word_object, word_offset, place = known
    site, is_temporary, object_of, offset = out
    found = 0
    while row < len(heads) and found < len(site):
        if vertex_of_row[names[row] if len(names) > 0 else row] >= 0:
            site[found] = heads[row, 1] & LOW
            is_temporary[found] = not (heads[row, 1] >> FLAGS) & ROW_REGISTER
            if is_temporary[found]:
                at = place[_dense_of(heads[row, 0], places, cache)]
                object_of[found], offset[found] = word_object[at], word_offset[at]
            else:
                object_of[found], offset[found] = register_object[site[found]], first + found
            found += 1
        row += 1
    return found, row


@compiled
def next_filled(
    fills: Any,
    fill: Any,
    dense: Any,
    starts: Any,
    length: Any,
    base: Any,
    vertex: Any,
    home: Any,
    count: Any,
    site: Any,
) -> Any:
    """Fill vertices, counts and sites of the homes that fills cover.

    Args:
        fills: int64[n, 4]: first word, words, count, site.
        fill: Fill to begin with.
        dense: 0, or the dense word at which to go on.
        starts: Ranges, as the next two.
        length: int64.
        base: int64.
        vertex: int32, per dense word.
        home: int32, result.
        count: int64, result.
        site: int32, result.

    Returns:
        How many, and the fill and the dense word to go on with when the results are full.
    """
    found = 0
    while fill < len(fills):
        first = fills[fill, 0]
        last = first + fills[fill, 1]
        c = find_range(first, starts)
        while c < len(base) and starts[c] < last:
            low, high = max(first, starts[c]), min(last, starts[c] + length[c])
            for d in range(max(dense, base[c] + low - starts[c]), base[c] + high - starts[c]):
                if vertex[d] < 0:
                    continue
                if found == len(home):
                    return found, fill, d
                home[found], count[found], site[found] = vertex[d], fills[fill, 2], fills[fill, 3]
                found += 1
            c += 1
        fill += 1
        dense = 0
    return found, fill, dense
