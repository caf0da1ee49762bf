"""What every value follows, and how often it is read: value graph + hubs -> anchors, in passes over its rows.

Private values (registers, temporaries) follow what they are computed for, leaves (matrix entries) follow
their only reader: the array value at the end of that chain is their *anchor*. What takes part in no flow
follows any.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from commanalyzer.division.coarsening import kernels
from commanalyzer.graph.storage.slices import row_slices
from commanalyzer.graph.storage.store import AnyGraph
from commanalyzer.graph.value_graph import Bool, Int32, Int64, sink_of_source

_DENSE = 32  # flows per anchor: from it on, nearly every tile is linked to many others
_FEW_VERTICES = 4096
_MOST_ROUNDS = 4
_NO_PRODUCER = np.iinfo(np.int64).max
_TASK_SHARE = 0.002  # of all values: larger tasks are chains through the program
_LEAST_TASK = 64
_CLEARLY = 2.0  # at the sum only for less than half: about as many on both sides are at their operands


@dataclass(frozen=True, slots=True)
class Neighbours:
    """What is known of every vertex after one pass over all flows."""

    anchor: Int32  # [V], the vertex whose owner each vertex gets: itself, or the end of what it follows
    readers: Int32  # [V], source entries that read it
    most: Int32  # [V], largest count of a row that reads it
    most_folded: Int32  # [V], largest count of a reduction into it
    flows: int  # of the graph
    num_anchors: int  # that are no hubs
    idle: Int64  # [I], values without any flow or work: they follow what they have nothing to do with
    otherwise: Int32  # [V], where private values that feed each other stay together, as tasks, or do not
    result_anchor: Int32  # [V], where all private values are with what they are computed for, sums included

    @property
    def has_no_tasks(self) -> bool:
        """Whether tasks make no difference."""
        return self.otherwise is self.anchor

    @property
    def is_dense(self) -> bool:
        """Whether nearly every tile will be linked to many others."""
        return self.flows > _DENSE * self.num_anchors

    def tiles_wanted(self, wanted: int) -> int:
        """Return ``wanted``, or fewer tiles of a dense graph."""
        return min(wanted, _FEW_VERTICES) if self.is_dense else wanted


def find_neighbours(graph: AnyGraph, removed: Bool, *, with_terms: bool = False) -> Neighbours:
    """Return anchors and uses of all values; hubs (``removed``, bool[V]) neither follow nor lead.

    With ``with_terms``, terms of sums will have places of their own: their operands do not follow sums.
    """
    v = graph.num_vertices
    private = (graph.is_register | graph.is_temporary) & ~removed
    follow, rank = np.full(v, -1, np.int32), np.zeros(v, np.int8)
    several, is_computed = np.zeros((2, v), np.bool_)
    readers, most, most_folded = np.zeros((3, v), np.int32)
    uses, flows = kernels.ReaderNotes(follow, rank, several, is_computed, readers, most, most_folded), 0
    for piece in row_slices(graph):
        flows += piece.num_flows
        kernels.note_readers(piece, private, removed, uses)
    private &= (readers > 0) | is_computed  # others neither lead nor follow
    leaf = ~is_computed & (graph.versions - graph.is_input <= 1) & ~removed
    leads = rank > (kernels.TO_SUM if with_terms else 0)
    ahead = (private & (rank > kernels.TO_SUM)) | (leaf & ~several & leads)
    parent = np.where(ahead & (follow >= 0), follow, np.arange(v, dtype=np.int32))
    last = np.where(private & (rank == kernels.TO_SUM), follow, np.int32(-1))
    own = np.arange(v, dtype=np.int32)
    del follow, rank, uses, ahead
    anchor = _settled(graph, removed, private, parent, last, readers)
    parent = _beside_readers(graph, removed, leaf & several & ~private, anchor, parent)
    made_for = _made_for(graph, private)
    of_task = _joined_tasks(graph, private, parent)
    kernels.find_anchors(np.where(anchor != own, anchor, parent), anchor)
    idle = (readers == 0) & ~is_computed & ~removed & (graph.work_flops == 0)
    others, idle = np.flatnonzero(~idle & ~removed), np.flatnonzero(idle)
    for found in (anchor, made_for, of_task):
        _lay_beside(graph, others, idle, found)
    of_task = anchor if np.array_equal(of_task, anchor) else of_task
    num_anchors = int(np.count_nonzero(~removed & (anchor == own)))
    return Neighbours(anchor, readers, most, most_folded, flows, num_anchors, idle, of_task, made_for)


def _made_for(graph: AnyGraph, private: Bool) -> Int32:
    """Return int32[V], the array value, a hub or not, that each private one leads to at last.

    Private values that feed each other follow what any of them leads to.
    """
    own = np.arange(len(private), dtype=np.int32)
    anchor = own.copy()
    for _ in range(_MOST_ROUNDS if private.any() else 0):
        leads_to = np.full(len(own), -1, np.int32)
        for piece in row_slices(graph):
            kernels.note_exits(piece, anchor, private, leads_to)
        if not (leads_to >= 0).any():
            break
        kernels.find_anchors(np.where(leads_to >= 0, leads_to, anchor), anchor)
    return anchor


def _lay_beside(graph: AnyGraph, others: Int64, idle: Int64, anchor: Int32) -> None:
    """Let ``idle`` values follow the one before them in their array, in place; whole arrays lie along all.

    They move nothing wherever they are. As vertices of their own they would take the room of those that
    matter: the columns of a sparse matrix are most values of its program.
    """
    if not len(idle) or not len(others):
        return
    before = np.maximum(np.searchsorted(others, idle) - 1, 0)
    home = graph.home_object
    alone = np.flatnonzero(home[others[before]] != home[idle])
    before[alone] = np.arange(len(alone)) * len(others) // max(len(alone), 1)
    anchor[idle] = anchor[others[before]]


def _joined_tasks(graph: AnyGraph, private: Bool, parent: Int32) -> Int32:
    """Return int32[V], anchors where private values that feed each other stay together."""
    v = graph.num_vertices
    root, size = np.arange(v, dtype=np.int32), np.ones(v, np.int32)
    most = max(int(_TASK_SHARE * v), _LEAST_TASK)
    for piece in row_slices(graph) if private.any() else ():
        kernels.unite(piece, private, root, size, most)
    kernels.find_anchors(np.where(private, root, parent), root)
    return root


def _beside_readers(graph: AnyGraph, removed: Bool, leaf: Bool, anchor: Int32, parent: Int32) -> Int32:
    """Return ``parent`` with leaves that several private values of one place read in that place, too.

    The entries of a matrix that several products of the program read are such.
    """
    if not leaf.any():
        return parent
    place, elsewhere = np.full(len(parent), -1, np.int32), np.zeros(len(parent), np.bool_)
    for piece in row_slices(graph):
        sink = sink_of_source(piece)
        chosen = leaf[piece.source] & ~removed[sink]
        source, reader = piece.source[chosen], anchor[sink[chosen]]
        is_new = place[source] < 0
        place[source[is_new]] = reader[is_new]
        elsewhere[source[place[source] != reader]] = True
    return np.where((place >= 0) & ~elsewhere, place, parent)


def _settled(
    graph: AnyGraph, removed: Bool, private: Bool, parent: Int32, last: Int32, readers: Int32
) -> Int32:
    """Return int32[V], anchors; private values that end no array value go beside what they are computed from.

    Contributions to sums are such: they are computed where their operands are, and wait for those that are
    settled later. Those without any operand that is settled follow the sum itself (``last``).

    Of several operands, that with the fewest readers: what few others read is what belongs to it, the data of
    an element rather than those of its nodes. Before all others comes the sum it is a term of: ``u += w *
    (f - u)`` changes u from what it was.
    """
    own = np.arange(len(parent), dtype=np.int32)
    anchor = np.empty(len(parent), np.int32)
    parent = np.where(_cheaper_at_sum(graph, private, last, readers), last, parent)
    kernels.find_anchors(parent, anchor)
    waits = True
    for more in reversed(range(_MOST_ROUNDS)):
        is_open = private & (anchor == own)
        if not is_open.any():
            return anchor
        best = np.full(len(own), _NO_PRODUCER)  # (readers + 1) << 32 | anchor
        for piece in row_slices(graph):
            user = anchor[sink_of_source(piece)]
            chosen = np.flatnonzero(is_open[user] & ~removed[piece.source])
            user, source = user[chosen], piece.source[chosen]
            made = anchor[source]
            uses = np.where(source == last[user], 0, readers[source] + np.int64(1))
            known = (made != user) & (waits | ~is_open[made])
            np.minimum.at(best, user[known], (uses << 32 | made)[known])
        producer = np.where(best < _NO_PRODUCER, best & 0xFFFFFFFF, -1).astype(np.int32)
        settled = is_open & (producer >= 0) & ~is_open[producer]
        if not (waits or settled.any()):
            break
        waits = more > 1 and bool(settled.any())
        parent = np.where(settled, producer, parent)
        kernels.find_anchors(parent, anchor)
    left = private & (anchor == own) & (last >= 0)
    kernels.find_anchors(np.where(left, last, parent), anchor)
    return anchor


def _cheaper_at_sum(graph: AnyGraph, private: Bool, last: Int32, readers: Int32) -> Bool:
    """bool[V], contributions that cross a border in fewer bytes if they are with their only sum (``last``).

    At a border, half of the contributions that share an operand, or a sum, lie on the other side: either the
    operands are sent there once for these, or one partial sum for its contributions. Private operands would
    be computed there, of others; private sums are where what they are computed for is.
    """
    chosen, users = (last >= 0) & ~private[last] & (readers == 1), np.where(private, 1, readers)
    share = np.zeros(len(last))
    for piece in row_slices(graph) if chosen.any() else ():
        sink = sink_of_source(piece)
        at = np.flatnonzero(chosen[sink] & (piece.source != last[sink]))
        share += np.bincount(sink[at], 1.0 / users[piece.source[at]], len(last))
    terms = np.bincount(last[chosen], minlength=len(last))[last]
    return np.asarray((share > 0) & (_CLEARLY * share * terms < 1.0))
