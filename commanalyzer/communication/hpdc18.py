"""Communication as the paper counts it: dissolved value graph + owners + singletons -> matrix.

Reference: paper Section 4.2.3, Algorithm 4; singleton costs p-1, p-1 and 2(p-1) words per round.
"""

from __future__ import annotations

import numpy as np

from commanalyzer.communication.charges import Charges, check_parts, expand_transfers
from commanalyzer.communication.kernels import TermOwners
from commanalyzer.communication.matrix import Communication
from commanalyzer.communication.messages.transfers import Transfers
from commanalyzer.communication.totals import GraphTotals
from commanalyzer.communication.uses import UseTable, owner_codes
from commanalyzer.foundation.compiled import frozen
from commanalyzer.graph.storage.slices import row_slices
from commanalyzer.graph.storage.store import AnyGraph
from commanalyzer.graph.structure.singletons import SingletonKind
from commanalyzer.graph.value_graph import Bool, Int32, Int64, UInt8


def with_singletons(
    regular: Communication, graph: AnyGraph, part: Int32, singletons: UInt8, totals: GraphTotals
) -> Communication:
    """Return ``regular`` with the singletons' collectives; other arguments as :func:`charge_hpdc18`.

    Each is charged a collective per round: from its owner to all others (source), back (sink), or both.
    """
    num_parts = regular.num_parts
    comm_bytes, messages = regular.comm_bytes.copy(), regular.messages.copy()
    low, high = singleton_rounds(graph, singletons, totals)
    word = graph.width_bytes.astype(np.int64)
    send = (singletons & int(SingletonKind.SOURCE)) != 0
    receive = (singletons & int(SingletonKind.SINK)) != 0
    outgoing, out_messages = _per_root(part, num_parts, send, low, word)
    incoming, in_messages = _per_root(part, num_parts, receive, low, word)
    off_diagonal = ~np.eye(num_parts, dtype=np.bool_)
    comm_bytes += np.where(off_diagonal, outgoing[:, None] + incoming[None, :], 0)
    collective = np.maximum(out_messages[:, None], in_messages[None, :])
    messages = np.where(off_diagonal, np.maximum(messages, collective), 0)
    sides = (send.astype(np.int64) + receive) * word * (num_parts - 1)
    return Communication(
        comm_bytes,
        messages,
        low_bytes=regular.low_bytes + int(np.dot(sides, low)),
        high_bytes=regular.high_bytes + int(np.dot(sides, high)),
        singleton_bytes=int(np.dot(sides, low)),
    )


def charge_hpdc18(
    graph: AnyGraph, part: Int32, num_parts: int, singletons: UInt8, totals: GraphTotals
) -> Charges:
    """Return the transfers by Algorithm 4 that are not singleton communication.

    Edges between parts are pruned to one per (source value, reading part). ``singletons`` are those of
    :func:`.singletons.find_singletons` on the same graph without registers. Raises ``ConfigError`` if
    ``part`` (int32[V]) does not cover the vertices with parts in [0, p).
    """
    check_parts(graph, part, num_parts)
    none = np.zeros(graph.num_vertices, dtype=np.bool_)
    owners = TermOwners(owner_codes(part, none, num_parts), frozen(np.zeros(0), np.int32))
    table = UseTable(owners, num_parts, singletons > 0, totals.writers)
    for rows in row_slices(graph):
        table.add(rows._replace(row_fold=frozen(np.zeros(rows.num_rows), np.uint8)))  # there are no terms
    none32, none64 = np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int64)
    nothing = Transfers(none32, none32, none32, none64, none64, none64, none64)
    pairs = table.lines.pairs()
    return Charges(num_parts, expand_transfers(graph, totals, part, pairs), nothing, none64)


def singleton_rounds(graph: AnyGraph, singletons: UInt8, totals: GraphTotals) -> tuple[Int64, Int64]:
    """Return int64[V] twice: lower and upper end of the collectives that each singleton needs (>= 1).

    Sinks and reductions: versions that do not continue a round. Sources: every version that is read, which
    lies between the largest count of a reading row and the number of versions. Zero for other vertices.
    """
    versions = np.maximum(graph.versions, 1)
    reads, rounds = totals.reads[0], np.maximum(totals.rounds, 1)
    collects = (singletons & int(SingletonKind.SINK)) != 0
    low = np.where(collects, rounds, np.maximum(np.minimum(reads, versions), 1))
    high = np.where(collects, rounds, versions)
    return np.where(singletons > 0, low, 0), np.where(singletons > 0, high, 0)


def _per_root(part: Int32, num_parts: int, chosen: Bool, rounds: Int64, word: Int64) -> tuple[Int64, Int64]:
    """Return int64[p] twice: bytes to each other part, and messages, of the collectives rooted at a part."""
    root = part[chosen]
    volume = np.zeros(num_parts, dtype=np.int64)
    np.add.at(volume, root, rounds[chosen] * word[chosen])
    messages = np.zeros(num_parts, dtype=np.int64)
    np.maximum.at(messages, root, rounds[chosen])
    return volume, messages
