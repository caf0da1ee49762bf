"""Reads the trace that the shim wrote: a file in, memory-mapped columns out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from commanalyzer.foundation.errors import TraceError
from commanalyzer.recording.abi import ABI_VERSION, HEADER, SECTIONS, TRACE_MAGIC, WORD_MASK

Column = NDArray[np.void]
Counters = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class TraceStatistics:
    """What the recorder says about itself."""

    hash_collisions: int  # rows that shared a hash with another row and were merged with it
    unaligned_copies: int  # memory copies between addresses that differ modulo 4 (replication not followed)
    dropped_rows: int  # rows lost because the recorder had no memory left
    unnamed_lifetimes: int  # lifetimes of workspace words that were merged with the one before: too many
    recorder_bytes: int  # bytes of all columns
    peak_rss_bytes: int  # largest resident memory of the recorded process, 0 if not known
    spilled_bytes: int  # bytes of columns that were moved to the trace while the program ran
    region_entries: int  # how often the analysed region began; 0 where everything is analysed


@dataclass(frozen=True, slots=True)
class Trace:
    """Columns of one recording; record layouts are those of :mod:`commanalyzer.recording.abi`."""

    cells: Column  # hash and count per row
    heads: Column  # sink, site, number of labels and flags per row
    labels: NDArray[np.int32]  # int32 units of all labels, rows one after the other
    groups: Column  # terms collected in loops
    runs: Column  # start and stride of the labels of groups
    listed: Counters  # uint64, labels of groups without strides
    extents: Column  # named pieces of memory
    block_counters: Counters  # uint64, executions per counter
    external_calls: Counters  # uint64, calls per unmodelled function
    copies: Column  # words whose values were copied to several places
    contexts: Column  # paths of at least two calls to allocations
    blocks: Column  # where the blocks of each path are
    order: NDArray[np.uint32]  # uint32, rows as they occurred, with marks; empty unless it was asked for
    statistics: TraceStatistics
    word_bytes: int = 4  # bytes of a word: 4, or 1 where the program works on smaller values

    def words_at(self, addresses: NDArray[np.integer]) -> NDArray[np.int64]:
        """The words that addresses lie in."""
        return (addresses.astype(np.int64) // self.word_bytes) & WORD_MASK


def read_trace(path: Path) -> Trace:
    """Map the trace at ``path``; TraceError if it is missing, truncated, no trace, or of another version."""
    size = path.stat().st_size if path.is_file() else 0
    if size < HEADER.itemsize:
        raise TraceError(
            "expected a recorded trace, found none: the program ended without its exit handlers (it became "
            "another one with exec, called daemon(), or a library called _exit), or there was no room for it",
            where=str(path),
            hint="analyse the program that does the work, in the foreground; check the free space of the "
            "temporary directory (TMPDIR) and the limit of file sizes (ulimit -f)",
        )
    header = np.fromfile(path, dtype=HEADER, count=1)[0]
    if int(header["magic"]) != TRACE_MAGIC:
        raise TraceError("the trace is truncated: its end was never written", where=str(path))
    if int(header["abi_version"]) != ABI_VERSION:
        raise TraceError(
            f"expected trace version {ABI_VERSION}, found {int(header['abi_version'])}", where=str(path)
        )
    columns = {}
    for (name, dtype), section in zip(SECTIONS, header["sections"], strict=True):
        offset, count = int(section["offset"]), int(section["count"])
        if count and offset + count * dtype.itemsize > size:
            raise TraceError(f"the trace ends inside its section '{name}'", where=f"{path} at byte {offset}")
        columns[name] = np.zeros(0, dtype)
        if count:
            columns[name] = np.memmap(path, dtype=dtype, mode="r", offset=offset, shape=(count,))
    statistics = header["statistics"]
    return Trace(
        **columns,
        statistics=TraceStatistics(*(int(statistics[name]) for name in TraceStatistics.__dataclass_fields__)),
        word_bytes=int(header["word_bytes"]),
    )
