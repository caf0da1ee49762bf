"""Layout of the trace file: the numpy side of ``runtime_shim/include/comm_shim.h``."""

from __future__ import annotations

import numpy as np

TRACE_MAGIC = 0x3152544D4D4F43

ROW_WIDE = 1
ROW_FILL = 2
ROW_REGISTER = 4
ROW_INPUT = 8
ROW_TEMPORARY = 16
ROW_UPDATE = 32
ROW_FAMILY = 64
ROW_COMPACT = 256
COMPACT_BITS = 29
COMPACT_FIRST = 0x680000000000 % 2**44 // 4
FAMILY_SUM = 1 << 63

ORDER_INSIDE = 0xFFFFFFFF
ORDER_OUTSIDE = 0xFFFFFFFE
ORDER_EARLIER = 0xFFFFFFFD
ORDER_VERSIONS = 65535

EXTENT_GLOBAL, EXTENT_HEAP, EXTENT_STACK, EXTENT_PART, EXTENT_BLOCK = range(1, 6)

CELL = np.dtype([("hash", "<u8"), ("count", "<u8")])
HEAD = np.dtype([("sink", "<u8"), ("site", "<u4"), ("num_labels", "<u2"), ("flags", "<u2")])
LABEL_UNIT = np.dtype("<i4")
GROUP = np.dtype([("row", "<u8"), ("first", "<u8"), ("count", "<u8"), ("width", "<u4"), ("is_listed", "<u4")])
LISTED = np.dtype("<u8")
RUN = np.dtype([("start", "<u8"), ("stride", "<i8")])
COPY = np.dtype([("word", "<u8"), ("places", "<u8")])
EXTENT = np.dtype(
    [
        ("start", "<u8"),
        ("size", "<u8"),
        ("offset", "<u8"),
        ("object", "<u4"),
        ("kind", "<u4"),
        ("depth", "<u8"),
    ]
)
CONTEXT = np.dtype([("outer", "<u4"), ("call", "<u4")])
BLOCKS = np.dtype([("first", "<u8"), ("size", "<u8"), ("period", "<u8"), ("count", "<u8")])
COUNTER = np.dtype("<u8")
ORDER_UNIT = np.dtype("<u4")
WORKSPACE = np.dtype([("max_rows", "<u8"), ("num_pieces", "<u8"), ("ends_there", "<u8")])
PIECE = np.dtype([("kind", "<u4"), ("object", "<u4"), ("depth", "<u8"), ("first", "<u8"), ("last", "<u8")])

SECTIONS: tuple[tuple[str, np.dtype[np.generic]], ...] = (
    ("cells", CELL),
    ("heads", HEAD),
    ("labels", LABEL_UNIT),
    ("groups", GROUP),
    ("runs", RUN),
    ("listed", LISTED),
    ("extents", EXTENT),
    ("block_counters", COUNTER),
    ("external_calls", COUNTER),
    ("copies", COPY),
    ("contexts", CONTEXT),
    ("blocks", BLOCKS),
    ("order", ORDER_UNIT),
)
STATISTICS = np.dtype(
    [
        ("num_block_counters", "<u8"),
        ("hash_collisions", "<u8"),
        ("unaligned_copies", "<u8"),
        ("dropped_rows", "<u8"),
        ("unnamed_lifetimes", "<u8"),
        ("recorder_bytes", "<u8"),
        ("peak_rss_bytes", "<u8"),
        ("spilled_bytes", "<u8"),
        ("region_entries", "<u8"),
    ]
)
HEADER = np.dtype(
    [
        ("magic", "<u8"),
        ("abi_version", "<u8"),
        ("sections", [("offset", "<u8"), ("count", "<u8")], (len(SECTIONS),)),
        ("statistics", STATISTICS),
    ]
)
