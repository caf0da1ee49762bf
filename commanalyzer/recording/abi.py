"""The hooks that instrumented code calls: name, LLVM signature, meaning.

This table and ``runtime_shim/include/comm_shim.h`` describe the same contract; declarations in instrumented
modules are printed from here and a test compares them with the compiled shim.

Layout of the trace file: the numpy side of ``runtime_shim/include/comm_shim.h``.

What makes recording fast, each part of which can be switched off: the graph is the same without.

The planner asks :class:`Mechanisms`; the instrumented module hands one word of it to the recorder
(``ca_switched_off`` of ``comm_shim.h``).
"""

from __future__ import annotations

from dataclasses import dataclass

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
COMPACT_FIRST = 1 << 41
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
        *((name, "<u8") for name in ("start", "size", "offset")),
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
_COUNTED = (
    "num_block_counters hash_collisions unaligned_copies dropped_rows unnamed_lifetimes recorder_bytes "
    "peak_rss_bytes spilled_bytes region_entries"
)
STATISTICS = np.dtype([(name, "<u8") for name in _COUNTED.split()])
HEADER = np.dtype(
    [
        ("magic", "<u8"),
        ("abi_version", "<u8"),
        ("word_bytes", "<u8"),
        ("sections", [("offset", "<u8"), ("count", "<u8")], (len(SECTIONS),)),
        ("statistics", STATISTICS),
    ]
)
ABI_VERSION = 23
EXACT_8 = 1 << 63
EXACT_4 = 1 << 59
EXACT_SMALL = 1 << 58
EXACT = EXACT_8 | EXACT_4 | EXACT_SMALL
REGISTER = 1 << 62
ADDRESS = 1 << 61
CONTROL = 1 << 60
WORD_MASK = (1 << 42) - 1
NOTHING = REGISTER | WORD_MASK
MAX_INLINE_LABELS = 8
MAX_LABELS = 48
MAX_TERM_LABELS = 8
MAX_INLINE_TERM_LABELS = 4
MAX_INITIAL_LABELS = 32
MAX_CALL_ARGUMENTS = 64
ACCUMULATOR_BYTES = 336
VARIADICS_BYTES = 8 + 64 * 24
PREFIX = "ca_"
MARKER = "__ca_instrumented"
OF_BYTES = "__ca_words_are_bytes"  # defined where they are: such a module needs a recorder of its own


@dataclass(frozen=True, slots=True)
class Hook:
    """Signature of a hook: name without ``@``, LLVM types, and its meaning in one line."""

    name: str
    returns: str
    parameters: tuple[str, ...]
    meaning: str

    def declaration(self) -> str:
        """The ``declare`` line."""
        return f"declare {self.returns} @{self.name}({', '.join(self.parameters)})"


def _numbered() -> list[Hook]:
    rows = []
    for n in range(MAX_INLINE_LABELS + 1):
        labels = ("i64",) * n
        rows.append(Hook(f"ca_row_{n}", "void", ("i32", "i64", "i32", *labels), "store of a new value"))
        rows.append(Hook(f"ca_register_{n}", "i64", ("i32", *labels), "name a register value"))
    for n in range(MAX_INLINE_TERM_LABELS + 1):
        rows.append(Hook(f"ca_term_{n}", "void", ("ptr", *("i64",) * n), "term of a reduction"))
    return rows


HOOKS: dict[str, Hook] = {
    hook.name: hook
    for hook in (
        *_numbered(),
        Hook("ca_load", "i64", ("i64",), "label of the value at an address"),
        Hook("ca_load_high", "i64", ("i64",), "label of the second word"),
        Hook("ca_lower", "i64", ("i64",), "label of the first word of a passed 64-bit integer"),
        Hook("ca_upper", "i64", ("i64", "i64"), "label of its second word"),
        Hook("ca_store_pair", "void", ("i32", "i64", "i64", "i64"), "store of a passed 64-bit integer"),
        Hook("ca_store_if", "void", ("i32", "i32", "i64", "i32", "i32", "ptr"), "store of a masked lane"),
        Hook("ca_control", "i64", ("i64",), "the label as a selecting source"),
        Hook("ca_address", "i64", ("i64",), "the label as the address of a count"),
        Hook("ca_row_many", "void", ("i32", "i64", "i32", "i32", "ptr"), "store with more labels"),
        Hook("ca_register_many", "i64", ("i32", "i32", "ptr"), "name a register value, more labels"),
        Hook("ca_join", "i64", ("i32", "i32", "ptr"), "one label for several"),
        Hook("ca_copy_4", "void", ("i32", "i64", "i64"), "replicating store of a word"),
        Hook("ca_copy_part", "void", ("i32", "i64", "i32", "i64"), "replicating store of less than 4 bytes"),
        Hook("ca_copy_8", "void", ("i32", "i64", "i64", "i64"), "replicating store of two words"),
        Hook("ca_copy_value", "void", ("i32", "i64", "i64"), "replicating store of an 8-byte value"),
        Hook("ca_store_unknown", "void", ("i32", "i64", "i32", "i32", "ptr"), "label tells if it replicates"),
        Hook("ca_forget", "void", ("i64", "i32"), "words no longer hold a replicated value"),
        Hook("ca_term_many", "void", ("ptr", "i32", "ptr"), "term with more labels"),
        Hook("ca_accumulator_reset", "void", ("ptr", "i32", "ptr"), "a reduction starts"),
        Hook("ca_accumulator_close", "i64", ("ptr", "i32"), "label of the reduced value"),
        Hook("ca_accumulator_free", "void", ("ptr",), "the function returns"),
        Hook("ca_count_block", "void", ("i32",), "a block was executed"),
        Hook("ca_count_blocks", "void", ("i32", "i64"), "a block will have been executed so often"),
        Hook("ca_rounds_until", "i64", ("i64", "i64", "i64"), "rounds until two numbers are equal"),
        Hook("ca_rounds_below", "i64", ("i64", "i64", "i64", "i32"), "rounds while one is smaller"),
        Hook("ca_changes", "i64", ("i64", "i64"), "changes of the shadow of addresses so far"),
        Hook("ca_repeat_known", "i32", ("i64", "i64", "i64"), "a loop will do what it did before"),
        Hook("ca_repeat_ready", "i32", ("i64", "i64", "i64"), "the same; nothing begins if it is not known"),
        Hook("ca_family", "i32", ("i64", "i64", "i64", "i32", "ptr"), "rows of whole loops are counted"),
        Hook("ca_preview_due", "i32", ("i32",), "a preview of a loop is worth while"),
        Hook(
            "ca_repeat_previewed", "i32", ("i32", "i64", "i64", "i32", "i32"), "ca_repeat_known, counts too"
        ),
        Hook("ca_preview_same", "i32", ("i64", "ptr"), "a preview would find out what it did before"),
        Hook("ca_preview_seen", "void", ("i64", "ptr", "i32", "i32", "i64"), "what a preview found out"),
        Hook("ca_repeat_end", "void", ("i64",), "the loop that was not known is left"),
        Hook("ca_count_external", "void", ("i32",), "an unmodelled function was called"),
        Hook("ca_region_enter", "void", (), "the analysed region begins"),
        Hook("ca_region_leave", "void", (), "the analysed region ends"),
        Hook("ca_frame", "ptr", ("i32", "i64", "i64"), "storage of a function's local arrays"),
        Hook("ca_local", "ptr", ("i32", "i64", "i64"), "storage of an array of variable length"),
        Hook("ca_take_copy", "void", ("ptr", "ptr", "i64"), "bytes of a structure passed by value"),
        Hook("ca_pass_variadics", "void", ("i32",), "number of variadic arguments"),
        Hook("ca_pass_variadic", "void", ("i32", "i32", "i32", "i32", "i64", "i64"), "a variadic argument"),
        Hook("ca_take_variadics", "void", ("ptr",), "the callee keeps what was passed"),
        Hook("ca_va_start", "void", ("ptr", "ptr"), "labels of what va_arg will read"),
        Hook("ca_fill", "void", ("i32", "i64", "i64"), "bytes became constant"),
        Hook(
            "ca_copy_words", "void", ("i32", "i64", "i64", "i64"), "replication of a range (to, from, bytes)"
        ),
        Hook("ca_input", "void", ("i32", "i64", "i64"), "bytes came from outside"),
        Hook("ca_string_bytes", "i64", ("i64", "i64"), "bytes of a text with its zero byte, at most"),
        Hook("ca_gather", "i64", ("i32", "i64", "i64", "i32"), "one label for a range (bytes, width)"),
        Hook("ca_scatter", "void", ("i32", "i64", "i64", "i32", "i64"), "new values in a range"),
        Hook("ca_show", "void", ("i64", "i64", "i64"), "text shows a value"),
        Hook("ca_shown", "i64", ("i64", "i64"), "value that a text shows"),
        Hook("ca_scanned", "void", ("i32", "i64", "ptr", "i32", "i32", "ptr"), "scanf assigned"),
        Hook("ca_copy_string", "void", ("i32", "i64", "i64"), "replication of a text (to, from)"),
        Hook("ca_permute_begin", "ptr", ("i64", "i64", "i64"), "elements are about to change places"),
        Hook("ca_permute_end", "void", ("ptr",), "elements changed places"),
        Hook("ca_nested", "i32", ("i32", "i32"), "path of a call within an outer path"),
        Hook("ca_part", "void", ("ptr", "i32"), "a pointer to an array in a block, and its path"),
        Hook("ca_malloc", "ptr", ("i32", "i64"), "allocation"),
        Hook("ca_calloc", "ptr", ("i32", "i64", "i64"), "zeroed allocation"),
        Hook("ca_aligned_alloc", "ptr", ("i32", "i64", "i64"), "aligned allocation"),
        Hook("ca_posix_memalign", "i32", ("i32", "ptr", "i64", "i64"), "aligned allocation"),
        Hook("ca_realloc", "ptr", ("i32", "ptr", "i64"), "reallocation"),
        Hook("ca_free", "void", ("ptr",), "release"),
        Hook("ca_mmap", "ptr", ("i32", "ptr", "i64", "i32", "i32", "i32", "i64"), "pages are mapped"),
        Hook("ca_munmap", "i32", ("ptr", "i64"), "pages are unmapped"),
        Hook("ca_mremap", "ptr", ("ptr", "i64", "i64", "i32"), "pages change place or size"),
        Hook("ca_exit_now", "void", ("i32",), "_exit"),
        Hook("ca_refuse_thread", "void", (), "a thread is about to start: the recording ends"),
    )
}


@dataclass(frozen=True, slots=True)
class Mechanisms:
    """Ways to record a loop without running its hooks; all are on unless one is being measured."""

    # A loop with the same addresses, labels and shadow as before counts its rows again
    memoisation: bool = True
    outcomes: bool = True  # loops that change the shadow are memoised, too: their changes are made again
    # A loop of affine stores and sums is one row of the log when it is met for the first time
    families: bool = True
    # loops whose addresses depend on data are looked through first, to see what they will do
    inspectors: bool = True
    memoised_inspectors: bool = True  # an inspector whose inputs are as they were is not run again

    @property
    def recorder_word(self) -> int:
        """Bits of those that the recorder has to leave out, as ``CA_WITHOUT_*`` of ``comm_shim.h``."""
        return sum((not is_on) << bit for bit, is_on in enumerate((self.memoisation, self.outcomes)))


EVERY = Mechanisms()
