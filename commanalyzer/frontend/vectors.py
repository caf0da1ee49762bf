"""Lanes of vectors that are carried from block to block, as registers of their own.

Two sums of ``float`` that a function returns in one structure, a ``std::complex<float>`` and the partial sums of
vectorised loops share one register. Which values such a register carries is a question about each lane, so
operations that act lane by lane become one per lane, with the same results.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import count

from commanalyzer.ir.model import Function, Instruction, Operand
from commanalyzer.ir.opcodes import BINARY, CASTS
from commanalyzer.ir.parsing.parser import parse_module

_CARRIED = re.compile(r"^ +%\S.* = phi (?:[a-z]+ )*<\d", re.MULTILINE)
_VECTOR = re.compile(r"<\d+ x ([^<>]+)>")
_LANEWISE = {*BINARY, *CASTS, "fneg", "freeze", "icmp", "fcmp", "select", "phi"}
_FUNCTION = re.compile(
    r"(@llvm\.(?:fabs|sqrt|fma|fmuladd|copysign|m(?:in|ax)(?:num|imum)|[su](?:min|max))\.)v\d+(?=[fi]\d+\()"
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
        if any(_is_vector_phi(i) for block in function.blocks for i in block.instructions):
            _take_apart(function, lines)
    return "\n".join(lines)


def _is_vector_phi(instruction: Instruction) -> bool:
    return instruction.opcode == "phi" and instruction.type.kind == "vector"


def _take_apart(function: Function, lines: list[str]) -> None:
    names = (f"%commanalyzer.lane{number}" for number in count())
    ends = {block.label: block.terminator for block in function.blocks}
    lanes: dict[tuple[int, str], list[str]] = {}  # by the line in front of which they are extracted
    inserts: dict[int, list[str]] = {}
    extracts: dict[int, list[str]] = {}
    for block in function.blocks:
        body = next(i for i in block.instructions if i.opcode not in ("phi", "landingpad"))
        for i in block.instructions:
            if not _is_lanewise(i, lines[i.first_line], ends):
                continue
            places = [ends[p].first_line for p in i.incoming] or [i.first_line] * len(i.operands)
            operands = []
            for operand, place in zip(i.operands, places, strict=True):
                if operand.type.kind == "vector":
                    if (place, operand.text) not in lanes:
                        lanes[place, operand.text] = [next(names) for _ in range(i.type.count)]
                        extracts.setdefault(place, []).extend(_extracts(operand, lanes[place, operand.text]))
                    operands.append((operand.text, lanes[place, operand.text]))
            results = [next(names) for _ in range(i.type.count)]
            written = [_one_lane(lines[i.first_line], operands, results, k) for k in range(i.type.count)]
            built = list(_inserts(i, results, names))
            if i.opcode == "phi":
                inserts.setdefault(body.first_line, []).extend(built)
                built = []
            lines[i.first_line] = "\n".join(written + built)
    for place in inserts.keys() | extracts.keys():
        lines[place] = "\n".join((*inserts.get(place, ()), *extracts.get(place, ()), lines[place]))


def _is_lanewise(i: Instruction, line: str, ends: Mapping[str, Instruction]) -> bool:
    """Each lane of the result is made of the same lanes of operands, which exist in front of it."""
    if i.type.kind != "vector" or not (i.opcode in _LANEWISE or _FUNCTION.search(line)):
        return False
    counts = {o.type.count for o in i.operands if o.type.kind == "vector"}
    made_by_ends = any(o.text == ends[p].name for o, p in zip(i.operands, i.incoming, strict=False))
    return counts == {i.type.count} and not made_by_ends


def _extracts(vector: Operand, lanes: list[str]) -> Iterator[str]:
    for k, lane in enumerate(lanes):
        yield f"  {lane} = extractelement {vector.type} {vector.text}, i64 {k}"


def _inserts(vector: Instruction, lanes: list[str], names: Iterator[str]) -> Iterator[str]:
    before, element = "poison", vector.type.elements[0]
    for k, lane in enumerate(lanes):
        name = next(names) if k + 1 < len(lanes) else vector.name
        yield f"  {name} = insertelement {vector.type} {before}, {element} {lane}, i64 {k}"
        before = name


def _one_lane(line: str, operands: list[tuple[str, list[str]]], results: list[str], k: int) -> str:
    rest = line.partition(" = ")[2]
    done = f"  {results[k]} = "
    for text, lanes in operands:
        before, rest = re.split(rf"(?<=[ (]){re.escape(text)}(?![\w.$-])", rest, maxsplit=1)
        done += before + lanes[k]
    return _VECTOR.sub(r"\1", _FUNCTION.sub(r"\1", done + rest))
