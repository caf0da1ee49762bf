"""Writes loops that exist twice into a function's text: the choice before them, the copy, the joined exit."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Literal

from commanalyzer.program.ir.model import BasicBlock, Function
from commanalyzer.recording.instrument.code import RepeatedLoop, Text
from commanalyzer.recording.instrument.loops.loop_code import TOKEN

BlockRole = Literal["entry", "exit", "look", "recall", "seen", "guard", "offer"]
"""Blocks that are added around a loop: ``entry`` in front of its copy; ``exit`` behind the instrumented loop;
``look`` in front of a preview, ``recall`` takes what a preview found out before, ``seen`` says what it found
out, ``guard`` behind it; ``offer`` between a guard and the instrumented loop."""

_INCOMING = re.compile(r'\[ ([^\[\]]+?), (%(?:[\w.$-]+|"[^"]*")) \]')


def suffixed(name: str, suffix: str) -> str:
    """A register or label with another name."""
    return f'{name[:-1]}{suffix}"' if name.endswith('"') else name + suffix


def block_at(role: BlockRole, header: str, number: int) -> str:
    """Label of a block that is added around loop ``number``."""
    return suffixed(f"%{header}", f".ca.{number}.{role}")


class LoopCopies:
    """The copies of one function's loops, made of lines of the original, which ``text`` gives."""

    def __init__(self, function: Function, repeated: Sequence[RepeatedLoop], text: Text) -> None:
        self._text = text
        self._blocks = {block.label: block for block in function.blocks}
        self._repeated = repeated
        self._before = {loop.ends.preheader: loop for loop in repeated}
        self._headers = {loop.header: loop for loop in repeated}
        self._left = {loop.ends.exiting: loop for loop in repeated}
        self._behind = {loop.ends.exit: loop for loop in repeated}
        self._renamed = {loop.number: self._new_names(loop) for loop in repeated}

    def joined(self, block: BasicBlock, lines: list[str]) -> list[str]:
        """Lines of an instrumented block, with its branches to and from copies."""
        result = list(lines)
        if (loop := self._behind.get(block.label)) is not None:  # it takes the copy's values, too
            renamed, left = self._renamed[loop.number], _at("exit", loop)
            last = renamed[f"%{loop.ends.exiting}"]
            _rejoin(result, loop.ends.exiting, lambda v: f"[ {v}, {left} ], [ {renamed.get(v, v)}, {last} ]")
        if (loop := self._left.get(block.label)) is not None:
            old, new = f"%{loop.ends.exit}", _at("exit", loop)
            result[-1] = TOKEN.sub(lambda m: new if m[0] == old else m[0], result[-1])
        if (loop := self._before.get(block.label)) is not None:
            ways = f"label {_at('look', loop)}, label %{loop.header}"
            asked = [*loop.due, f"  br i1 {loop.is_due}, {ways}"]  # whether a preview is worth while
            result[-1:] = asked if loop.preview else self._choice(loop)
        if (loop := self._headers.get(block.label)) is not None:  # it takes the preheader's values
            before = f"%{loop.ends.preheader}"
            if loop.preview:
                guard = _at("guard", loop)
                _rejoin(result, loop.ends.preheader, lambda v: f"[ {v}, {before} ], [ {v}, {guard} ]")
            if loop.offer:
                offer = _at("offer", loop)
                _rejoin(result, loop.ends.preheader, lambda v: f"[ {v}, {offer} ]")
        return result

    def _choice(self, loop: RepeatedLoop) -> list[str]:
        """The guard and the branch to the copy or the instrumented loop."""
        copy = _at("entry", loop)
        if not loop.offer:
            return [*loop.guard, f"  br i1 {loop.known}, label {copy}, label %{loop.header}"]
        behind = _at("offer", loop)
        return [
            *loop.guard,
            f"  br i1 {loop.known}, label {copy}, label {behind}",
            "",
            f"{behind[1:]}:",
            *loop.offer,
            f"  br i1 {loop.is_taken}, label {copy}, label %{loop.header}",
        ]

    def blocks(self) -> list[str]:
        """All blocks that are new; those of the function were asked for before."""
        result: list[str] = []
        for loop in self._repeated:
            renamed = self._renamed[loop.number]
            if loop.preview:
                guard = _at("guard", loop)
                result += [*loop.preview, "", f"{guard[1:]}:", *self._choice(loop)]
            result += ["", f"{_at('entry', loop)[1:]}:", *loop.before_copy]
            result.append(f"  br label {renamed[f'%{loop.header}']}")
            for label in loop.blocks:
                block = self._blocks[label]
                result += ["", f"{renamed[f'%{label}'][1:]}:"]
                lines = range(block.instructions[0].first_line, block.instructions[-1].last_line + 1)
                result += [self._copied(loop, self._text(line)) for line in lines if self._text(line)]
            result += ["", f"{_at('exit', loop)[1:]}:", *loop.behind, f"  br label %{loop.ends.exit}"]
        return result

    def _copied(self, loop: RepeatedLoop, line: str) -> str:
        """A line of the copy: registers and labels of the loop have other names."""
        renamed = self._renamed[loop.number]
        return "" if line.lstrip().startswith("#dbg_") else TOKEN.sub(lambda m: renamed.get(m[0], m[0]), line)

    def _new_names(self, loop: RepeatedLoop) -> dict[str, str]:
        names = [f"%{label}" for label in loop.blocks]
        names += [i.name for label in loop.blocks for i in self._blocks[label].instructions if i.name]
        renamed = {name: suffixed(name, f".ca.{loop.number}") for name in names}
        return renamed | {f"%{loop.ends.preheader}": _at("entry", loop)}


def _rejoin(lines: list[str], block: str, ways: Callable[[str], str]) -> None:
    """Replace what the phis in front of the lines take from ``block`` by the ``ways`` of that value."""
    for k, line in enumerate(lines):
        if " = phi " not in line:
            break
        lines[k] = _INCOMING.sub(lambda m: ways(m[1]) if m[2] == f"%{block}" else m[0], line)


def _at(role: BlockRole, loop: RepeatedLoop) -> str:
    return block_at(role, loop.header, loop.number)
