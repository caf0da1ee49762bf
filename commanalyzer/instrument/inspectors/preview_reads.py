"""What a preview reads from memory: while that does not change, the preview need not be made again.

Input: the instructions of a preview. Output: the addresses that it loads from, for the recorder to keep what
is there (``runtime_shim/src/snapshots.c``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from commanalyzer.instrument.labelling.values import FunctionValues
from commanalyzer.ir.loops.induction import LoopEnds
from commanalyzer.ir.model import Instruction, Module
from commanalyzer.ir.types import alloc_size_bytes

MOST_READS = 32
_BITS_PER_SIZE = 2
_PROTECTING = frozenset({"@mprotect", "@pkey_mprotect"})


@dataclass(frozen=True, slots=True)
class PreviewReads:
    """Loads of a preview that is made again only if what they found has changed.

    Attributes:
        sizes: Bytes that are loaded, per address as the program prints it.
        steady: Those that are read in every round of an inner loop through which they advance by a constant.
    """

    sizes: Mapping[str, int]
    steady: frozenset[str]

    @property
    def packed_sizes(self) -> int:
        """Logarithms of the sizes (1, 2, 4 or 8) in the order of the addresses, 2 bits each."""
        return sum(
            (size.bit_length() - 1) << (_BITS_PER_SIZE * k) for k, size in enumerate(self.sizes.values())
        )


def preview_reads(
    values: FunctionValues, computed: Iterable[Instruction], steady: Mapping[str, LoopEnds]
) -> PreviewReads | None:
    """What a preview reads; ``None`` if it is not worth while to keep it, or too much.

    Args:
        values: Facts of the function.
        computed: Instructions of the preview.
        steady: Addresses that advance by a constant in an inner loop, with the edges of that loop.
    """
    instructions = list(computed)
    if any(o.type.kind == "float" for i in instructions for o in i.operands):
        return None  # numbers are what programs compute: they change
    sizes: dict[str, int] = {}
    elsewhere: set[str] = set()
    for load in instructions:
        if load.opcode != "load":
            continue
        address = load.operands[0].text
        sizes[address] = max(sizes.get(address, 0), alloc_size_bytes(load.type))
        if not _is_in_every_round(values, load, steady.get(address)):
            elsewhere.add(address)
    if len(sizes) > MOST_READS:
        return None
    return PreviewReads(sizes, frozenset(sizes.keys() - elsewhere))


def _is_in_every_round(values: FunctionValues, load: Instruction, ends: LoopEnds | None) -> bool:
    """A load in the loop through which its address advances, not in a loop inside it."""
    if ends is None:
        return False
    block = values.block_of(load.name)
    cfg = values.cfg
    return cfg.innermost_loop[block] == cfg.innermost_loop[ends.exiting] and cfg.dominates(
        block, ends.exiting
    )


def may_protect_memory(module: Module) -> bool:
    """The program may forbid itself to read its memory: nobody else may look at it then."""
    return any(declaration.name in _PROTECTING for declaration in module.declarations)
