"""Lanes of vectors that are carried from block to block, as registers of their own.

Two ``float`` results of a function, the parts of a ``std::complex<float>`` and the partial sums of a
vectorised loop share one register. Which values it carries is a question about each lane, so operations that
act lane by lane become one per lane, with the same results.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from itertools import count

from commanalyzer.program.ir.model import Function, Instruction
from commanalyzer.program.ir.opcodes import BINARY, CASTS
from commanalyzer.program.ir.parsing.parser import parse_module

_CARRIED = re.compile(r"^ +%\S.* = phi (?:[a-z]+ )*<\d", re.MULTILINE)
_VECTOR = re.compile(r"<\d+ x ([^<>]+)>")
_LANEWISE = {*BINARY, *CASTS, "fneg", "freeze", "icmp", "fcmp", "select", "phi"}
_FUNCTION = re.compile(
    r"(@llvm\.(?:fabs|sqrt|fma|fmuladd|copysign|m(?:in|ax)(?:num|imum)|[su](?:min|max))\.)v\d+(?=[fi]\d)"
)


def with_lanes(ir_text: str) -> str:
    """Module text in which functions with phis of vectors compute lane by lane.

    Each vector is put together again under its name, and taken apart in front of each use; what is not
    needed of this, LLVM's combination of instructions removes.

    Args:
        ir_text: Module without critical edges, as LLVM prints it.
    """
    if not _CARRIED.search(ir_text):
        return ir_text
    module = parse_module(ir_text)
    lines = list(module.lines)
    for function in module.functions:
        kinds = ((i.opcode, i.type.kind) for block in function.blocks for i in block.instructions)
        if ("phi", "vector") in kinds:
            _take_apart(function, lines)
    return "\n".join(lines)


def _take_apart(function: Function, lines: list[str]) -> None:
    names = (f"%commanalyzer.lane{number}" for number in count())
    ends = {block.label: block.terminator for block in function.blocks}
    inserts: dict[int, list[str]] = defaultdict(list)  # both in front of lines
    extracts: dict[int, list[str]] = defaultdict(list)
    for block in function.blocks:
        body = next(i for i in block.instructions if i.opcode not in ("phi", "landingpad"))
        for i in block.instructions:
            if not _is_lanewise(i, ends):
                continue
            places = [ends[p].first_line for p in i.incoming] or [i.first_line] * len(i.operands)
            written, vector = list[str](), "poison"
            for k in range(i.type.count):
                rest, done = lines[i.first_line].partition(" = ")[2], ""
                for operand, place in zip(i.operands, places, strict=True):
                    if operand.type.kind == "vector":
                        whole = rf"(?<=[ (]){re.escape(operand.text)}(?![\w.$-])"
                        before, rest = re.split(whole, rest, maxsplit=1)
                        done += before + (part := next(names))
                        extracts[place].append(
                            f"  {part} = extractelement {operand.type} {operand.text}, i64 {k}"
                        )
                lane, name = next(names), i.name if k + 1 == i.type.count else next(names)
                written.append(f"  {lane} = " + _VECTOR.sub(r"\1", _FUNCTION.sub(r"\1", done + rest)))
                element = f"{i.type.elements[0]} {lane}"
                (inserts[body.first_line] if i.opcode == "phi" else written).append(
                    f"  {name} = insertelement {i.type} {vector}, {element}, i64 {k}"
                )
                vector = name
            lines[i.first_line] = "\n".join(written)
    for place in inserts.keys() | extracts.keys():
        lines[place] = "\n".join((*inserts[place], *extracts[place], lines[place]))


def _is_lanewise(i: Instruction, ends: Mapping[str, Instruction]) -> bool:
    """Each lane of the result is made of the same lanes of operands, which exist in front of it."""
    if i.type.kind != "vector" or not (i.opcode in _LANEWISE or _FUNCTION.match(i.callee)):
        return False
    counts = {o.type.count for o in i.operands if o.type.kind == "vector"}
    made_by_ends = any(o.text == ends[p].name for o, p in zip(i.operands, i.incoming, strict=False))
    return counts == {i.type.count} and not made_by_ends
