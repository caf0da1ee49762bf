"""Writes loops that exist twice into a function's text: the choice before them, the copy, the joined exit."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from commanalyzer.instrument.code import RepeatedLoop
from commanalyzer.instrument.loop_code import TOKEN
from commanalyzer.ir.model import Block, Function

_INCOMING = re.compile(r'\[ ([^\[\]]+?), (%(?:[\w.$-]+|"[^"]*")) \]')


class LoopCopies:
    """The copies of one function's loops.

    Args:
        function: The function.
        repeated: Its loops that get a copy.
    """

    def __init__(self, function: Function, repeated: Sequence[RepeatedLoop]) -> None:
        self._blocks = {block.label: block for block in function.blocks}
        self._repeated = repeated
        self._before = {loop.preheader: loop for loop in repeated}
        self._left = {loop.exiting: loop for loop in repeated}
        self._behind = {loop.exit: loop for loop in repeated}
        self._renamed = {loop.number: self._new_names(loop) for loop in repeated}

    def joined(self, block: Block, lines: list[str]) -> list[str]:
        """Lines of an instrumented block, with its branches to and from copies."""
        result = list(lines)
        behind = self._behind.get(block.label)
        if behind is not None:
            phis = next((k for k, line in enumerate(result) if " = phi " not in line), len(result))
            result[:phis] = [self._with_copy(behind, line) for line in result[:phis]]
        left = self._left.get(block.label)
        if left is not None:
            old, new = f"%{left.exit}", _exit_of(left)
            result[-1] = TOKEN.sub(lambda m: new if m[0] == old else m[0], result[-1])
        before = self._before.get(block.label)
        if before is not None:
            result[-1:] = [
                *before.guard,
                f"  br i1 {before.known}, label {_entry_of(before)}, label %{before.header}",
            ]
        return result

    def blocks(self, text: Callable[[int], str]) -> list[str]:
        """All blocks that are new; ``text`` gives a line of the original."""
        result: list[str] = []
        for loop in self._repeated:
            renamed = self._renamed[loop.number]
            result += ["", f"{_entry_of(loop)[1:]}:", *loop.before_copy]
            result.append(f"  br label {renamed[f'%{loop.header}']}")
            for label in loop.blocks:
                block = self._blocks[label]
                result += ["", f"{renamed[f'%{label}'][1:]}:"]
                lines = range(block.instructions[0].first_line, block.instructions[-1].last_line + 1)
                result += [self._copied(loop, text(line)) for line in lines]
            result += ["", f"{_exit_of(loop)[1:]}:", *loop.behind, f"  br label %{loop.exit}"]
        return result

    def _copied(self, loop: RepeatedLoop, line: str) -> str:
        """A line of the copy: registers and labels of the loop have other names."""
        if line.lstrip().startswith("#dbg_"):
            return ""
        renamed = self._renamed[loop.number]
        preheader = f"%{loop.preheader}"
        return TOKEN.sub(lambda m: _entry_of(loop) if m[0] == preheader else renamed.get(m[0], m[0]), line)

    def _with_copy(self, loop: RepeatedLoop, phi: str) -> str:
        """A phi of the exit that also takes the copy's value."""
        renamed = self._renamed[loop.number]
        left = f"%{loop.exiting}"

        def both(found: re.Match[str]) -> str:
            value, label = found[1], found[2]
            if label != left:
                return found[0]
            return f"[ {value}, {_exit_of(loop)} ], [ {renamed.get(value, value)}, {renamed[left]} ]"

        return _INCOMING.sub(both, phi)

    def _new_names(self, loop: RepeatedLoop) -> dict[str, str]:
        names = [f"%{label}" for label in loop.blocks]
        names += [i.name for label in loop.blocks for i in self._blocks[label].instructions if i.name]
        return {name: _suffixed(name, f".ca.{loop.number}") for name in names}


def _suffixed(name: str, suffix: str) -> str:
    return f'{name[:-1]}{suffix}"' if name.endswith('"') else name + suffix


def _entry_of(loop: RepeatedLoop) -> str:
    return _suffixed(f"%{loop.header}", f".ca.{loop.number}.entry")


def _exit_of(loop: RepeatedLoop) -> str:
    return _suffixed(f"%{loop.header}", f".ca.{loop.number}.exit")
