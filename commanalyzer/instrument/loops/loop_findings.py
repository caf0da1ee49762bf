"""Which loops run without hooks when they repeat, and why the others do not: for users, and for tests.

Input: facts of a function and a loop. Output: :class:`LoopFinding` per loop (filled by
:mod:`commanalyzer.instrument.loops.repeats`), and their list as text.
"""

from __future__ import annotations

from collections.abc import Mapping

from commanalyzer.instrument.code import FunctionPatch
from commanalyzer.instrument.labelling.values import FunctionValues
from commanalyzer.ir.cfg import ControlFlow, Loop
from commanalyzer.ir.libcalls import CallKind
from commanalyzer.ir.model import Block, Instruction, Module
from commanalyzer.ir.names.debug_info import DebugInfo
from commanalyzer.ir.names.loop_places import loop_place

MAX_INSTRUCTIONS = 2000  # of a nest: it is written out once more per level
_SIDE_EFFECTS = frozenset(
    {"invoke", "fence", "atomicrmw", "cmpxchg", "alloca", "va_arg", "switch", "indirectbr", "callbr"}
)
_NOTES = ("@llvm.lifetime.", "@llvm.assume", "@llvm.experimental.noalias.")  # for the compiler only


def obstacle(values: FunctionValues, blocks: list[Block]) -> str:
    """What a loop does besides computing, loading and storing; empty for nothing."""
    if sum(len(b.instructions) for b in blocks) > MAX_INSTRUCTIONS:
        return f"more than {MAX_INSTRUCTIONS} instructions"
    others = (i for b in blocks for i in b.instructions if not _is_plain(values, i))
    return next((_named(instruction) for instruction in others), "")


def _named(instruction: Instruction) -> str:
    if instruction.opcode in ("call", "invoke"):
        return f"calls {instruction.callee.removeprefix('@') or 'through a pointer'}"
    if instruction.flags & {"volatile", "atomic"}:
        return "volatile or atomic accesses"
    return f"contains '{instruction.opcode}'"


def _is_plain(values: FunctionValues, instruction: Instruction) -> bool:
    """Nothing but computing, loading and storing."""
    if instruction.opcode in _SIDE_EFFECTS or instruction.flags & {"volatile", "atomic"}:
        return False
    if instruction.opcode == "br":
        return True
    if instruction.opcode == "call":
        if instruction.callee.startswith(_NOTES):
            return True
        known = values.calls.effect(instruction)
        if known is None or known.reads or known.writes:
            return False
        return known.kind in (CallKind.PURE, CallKind.COPY, CallKind.FILL) and not known.calls
    return not instruction.targets and instruction.opcode not in ("ret", "resume", "unreachable")


def why_not_single_ended(cfg: ControlFlow, loop: Loop) -> str:
    """Why a loop has no edges that :func:`commanalyzer.ir.loops.induction.loop_ends` would take."""
    exiting = sum(any(s not in loop.blocks for s in cfg.successors[b]) for b in loop.blocks)
    if exiting > 1:
        return f"{exiting} exits"
    return "endless" if exiting == 0 else "entered, repeated or left in several ways"


def loops_text(module: Module, patches: Mapping[str, FunctionPatch]) -> str:
    """One line per loop: place, function, how it is run again, and why not better."""
    debug = DebugInfo(module)
    rows = [("loop", "function", "when it repeats", "because")]
    for function in module.functions:
        for finding in patches[function.name].findings:
            place = loop_place(module, debug, function, finding.header)
            where = f"{place.file}:{place.line}" if place.line else finding.header
            rows.append((where, function.name.removeprefix("@"), finding.how, finding.reason))
    widths = [max(len(row[k]) for row in rows) for k in range(3)]
    return "\n".join(_padded(row, widths) for row in rows)


def _padded(row: tuple[str, ...], widths: list[int]) -> str:
    columns = [text.ljust(width) for text, width in zip(row, widths, strict=False)]
    return "  ".join([*columns, *row[len(widths) :]]).rstrip()
