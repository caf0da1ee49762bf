"""Formulas of the kernels against the counter: bytes that are counted at the owners of a plain division.

Arrays are found by name where the graph has it, else by size and order; the wrappers of allocation functions
are inlined (``-DAPART=``), so that each array is an object of its own. Values in no array of the table
(registers, temporaries) follow: as the portfolio does it, to their readers, to their sources, or to both.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from commanalyzer.division.options import PortfolioOptions
from commanalyzer.division.portfolio import Portfolio
from commanalyzer.division.views import View
from commanalyzer.foundation.progress import SilentProgress
from commanalyzer.graph.value_graph import HomeKind, Int32, ValueGraph, sink_of_source
from commanalyzer.recording.record import record
from commanalyzer.request import AnalysisRequest, CompilerOptions
from tests.e2e.owner_maps import both_ways, spread
from tests.kernels.table import DeclaredArray, Kernel, bare_name

_PAGE_BYTES = 4096
_GAP_BYTES = 16  # between two blocks of an allocation site
_IMBALANCE = 0.03


@dataclass(frozen=True, slots=True)
class _Place:
    """Where an array is: object, first byte, and bytes from row to row where rows are blocks of their own."""

    number: int
    begin: int
    row_bytes: int = 0
    pitch_bytes: int = 0


def counted_at_plain(kernel: Kernel, size: int, nodes: int) -> list[int]:
    """Return the bytes that are counted at the plain division, one for each way in which the rest follows.

    Raises:
        ValueError: If an array with owners is not found.
    """
    graph = _recorded(kernel, size)
    view = View.of("volume", graph, 0.9, may_be_tiled=False, jobs=1)
    assert isinstance(view.graph, ValueGraph)
    given = _given(kernel, size, kernel.plain(size, nodes)[1], view.graph)
    options = PortfolioOptions((nodes,), 1, _IMBALANCE)
    portfolio = Portfolio(view.graph, view.removed, options, view.counted_cost)
    coarse = portfolio.partitioners.followed(portfolio.view.on_coarse(given), nodes)
    followed = [portfolio.view.completed(coarse, given, nodes)]
    sink, source = sink_of_source(view.graph.rows).astype(np.int64), view.graph.rows.source.astype(np.int64)
    for pairs in ((source, sink), (sink, source)):
        followed.append(spread(spread(given, nodes, *pairs), nodes, *both_ways(sink, source)))
    followed.append(spread(given, nodes, *both_ways(sink, source)))
    found = []
    for part in followed:
        owner = np.where(given >= 0, given, np.maximum(part, 0)).astype(np.int32)
        found.append(view.communication(owner, view.charge(owner, nodes))[0].total_bytes)
    return found


def _recorded(kernel: Kernel, size: int) -> ValueGraph:
    arguments = tuple(map(str, kernel.sizes[size]))
    request = AnalysisRequest(
        (kernel.source,),
        arguments,
        nodes=(4,),
        models=("volume",),
        regions=("kernel",),
        program_output="discard",
        compiler=CompilerOptions("", ("-DAPART=",), (), ""),
    )
    return record(request, SilentProgress()).store.graph()


def _given(kernel: Kernel, size: int, grid: tuple[int, ...], graph: ValueGraph) -> Int32:
    """Return int32[V], owners of the elements of arrays, -1 for all others."""
    part = np.full(graph.num_vertices, -1, np.int32)
    for array, place in _places(kernel, size, graph):
        if not array.owner:
            continue
        owner = kernel.owners(array, size, grid)
        mine = (graph.home_object == place.number) & ~graph.is_temporary
        mine &= (graph.home_offset >= place.begin) & (
            graph.home_offset < place.begin + _bytes(kernel, array, size, place)
        )
        at = graph.home_offset[mine] - place.begin
        if place.pitch_bytes:
            at = at // place.pitch_bytes * place.row_bytes + np.minimum(
                at % place.pitch_bytes, place.row_bytes - 1
            )
        part[mine] = owner[at // array.width]
    return part


def _bytes(kernel: Kernel, array: DeclaredArray, size: int, place: _Place) -> int:
    extents = kernel.extents(array, size)
    return extents[0] * place.pitch_bytes if place.pitch_bytes else math.prod(extents) * array.width


def _places(kernel: Kernel, size: int, graph: ValueGraph) -> Iterator[tuple[DeclaredArray, _Place]]:
    used: set[int] = set()
    for array in kernel.arrays:
        yield array, _place(kernel, size, graph, array, used)


def _place(kernel: Kernel, size: int, graph: ValueGraph, array: DeclaredArray, used: set[int]) -> _Place:
    extents = kernel.extents(array, size)
    least = math.prod(extents) * array.width
    row = least // extents[0]
    pitch = row + _GAP_BYTES + -row % _GAP_BYTES
    rows = extents[0] * pitch - _GAP_BYTES  # each row a block of its own
    sizes = [*range(least, least + _PAGE_BYTES + 128), *([rows] if len(extents) > 1 else [])]
    number = _object(graph, array.name, sizes, used)
    found = graph.objects[number]
    if len(extents) > 1 and found.size_bytes == rows:
        return _Place(number, 0, row, pitch)
    offset = graph.home_offset[graph.home_object == number]
    is_aligned = "align" in found.name or found.size_bytes >= least + _PAGE_BYTES - _GAP_BYTES * 6
    return _Place(number, int(offset.min()) if is_aligned and len(offset) and found.size_bytes else 0)


def _object(graph: ValueGraph, name: str, sizes: Sequence[int], used: set[int]) -> int:
    """Number of the object of that name, else the first of such a size that is not used yet."""
    memory = [
        (bare_name(o.name) != name, number)
        for number, o in enumerate(graph.objects)
        if number
        and o.kind != HomeKind.REGISTER
        and number not in used
        and (o.size_bytes in sizes or (bare_name(o.name) == name and not o.size_bytes))
    ]
    if not memory:
        raise ValueError(
            f"expected an object like {name!r}, found {[(o.name, o.size_bytes) for o in graph.objects]}"
        )
    used.add(min(memory)[1])
    return min(memory)[1]
