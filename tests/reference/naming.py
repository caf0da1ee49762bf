"""Names for vertices: the variable, allocation or register that each home belongs to."""

import numpy as np

from commanalyzer.graph.homes import Names
from commanalyzer.graph.reading.tables import Tables
from commanalyzer.graph.value_graph import HomeObject
from commanalyzer.recording.abi import ROW_TEMPORARY
from commanalyzer.recording.instrument.sites import SiteTable
from commanalyzer.recording.trace import Trace
from tests.reference.arrays import Int32, Int64
from tests.reference.homes import Extents, WordIndex


def name_homes(
    index: WordIndex, defining_rows: Int64, trace: Trace, sites: SiteTable, tables: Tables
) -> tuple[Int32, Int64, tuple[HomeObject, ...]]:
    """Object and byte offset of every vertex, and the objects.

    Args:
        defining_rows: Rows that define the other vertices (register values, lifetimes in workspaces), which
            follow the memory vertices.
        tables: Columns of the recording, ranges included.

    Returns:
        int32[V] object numbers, int64[V] byte offsets, objects. Register values of a site are one object.
    """
    names = Names(sites, trace, tables)
    in_memory, offset = _places(names, trace, index.home)
    heads = trace.heads[defining_rows]
    in_workspace = (heads["flags"] & ROW_TEMPORARY) != 0
    named_object = np.zeros(len(heads), np.int64)
    named_offset = np.arange(len(heads), dtype=np.int64)
    register_sites = heads["site"][~in_workspace].astype(np.int64)
    is_register = np.zeros(len(sites.sites), np.bool_)
    is_register[register_sites] = True
    named_object[~in_workspace] = names.registers(is_register)[register_sites]
    slots, slot_of = np.unique(heads["sink"][in_workspace].astype(np.int64), return_inverse=True)
    objects, offsets = _places(names, trace, slots)
    named_object[in_workspace], named_offset[in_workspace] = objects[slot_of], offsets[slot_of]
    return (
        np.concatenate([in_memory, named_object]).astype(np.int32),
        np.concatenate([offset, named_offset]),
        tuple(names.objects),
    )


def _places(names: Names, trace: Trace, word: Int64) -> tuple[Int64, Int64]:
    """Object number and byte offset of words in increasing order."""
    row = Extents(trace).row_of(word)
    object_of = np.zeros(len(word), np.int64)
    offset = word * trace.word_bytes
    first = np.flatnonzero(np.diff(row, prepend=-2))
    for begin, end in zip(first, np.append(first, len(row))[1:], strict=True):  # one step per extent
        if row[begin] < 0:
            continue
        extent = np.asarray(trace.extents)[row[begin]]
        within = (
            offset[begin:end]
            + int(extent["offset"])
            - int(trace.words_at(extent["start"])) * trace.word_bytes
        )
        object_of[begin:end], shifts = names.resolve(extent, within)
        offset[begin:end] = within - shifts
    return object_of, offset
