"""Writes loops that exist twice into a function's text: the choice before them, the copy, the joined exit."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from commanalyzer.instrument.code import RepeatedLoop
from commanalyzer.instrument.loops.loop_code import TOKEN
from commanalyzer.instrument.loops.loop_names import INCOMING as _INCOMING
from commanalyzer.instrument.loops.loop_names import block_at, suffixed
from commanalyzer.ir.model import Block, Function

Text = Callable[[int], str]


class LoopCopies:
    """The copies of one function's loops.

    Args:
        function: The function.
        repeated: Its loops that get a copy.
        text: Gives a line of the original.
    """

    def __init__(self, function: Function, repeated: Sequence[RepeatedLoop], text: Text) -> None:
        self._function = function
        self._text = text
        self._blocks = {block.label: block for block in function.blocks}
        self._repeated = repeated
        self._before = {loop.preheader: loop for loop in repeated}
        self._headers = {loop.header: loop for loop in repeated}
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
            old, new = f"%{left.exit}", block_at("exit", left.header, left.number)
            result[-1] = TOKEN.sub(lambda m: new if m[0] == old else m[0], result[-1])
        before = self._before.get(block.label)
        if before is not None:
            result[-1:] = self._choice(before) if not before.preview else self._question(before)
        entered = self._headers.get(block.label)
        if entered is not None and entered.preview:
            phis = next((k for k, line in enumerate(result) if " = phi " not in line), len(result))
            result[:phis] = [self._also_from_guard(entered, line) for line in result[:phis]]
        if entered is not None and entered.offer:
            phis = next((k for k, line in enumerate(result) if " = phi " not in line), len(result))
            result[:phis] = [self._from_offer(entered, line) for line in result[:phis]]
        return result

    def _choice(self, loop: RepeatedLoop) -> list[str]:
        """The guard and the branch to the copy or the instrumented loop."""
        copy = block_at("entry", loop.header, loop.number)
        if not loop.offer:
            return [*loop.guard, f"  br i1 {loop.known}, label {copy}, label %{loop.header}"]
        behind = block_at("offer", loop.header, loop.number)
        return [
            *loop.guard,
            f"  br i1 {loop.known}, label {copy}, label {behind}",
            "",
            f"{behind[1:]}:",
            *loop.offer,
            f"  br i1 {loop.is_taken}, label {copy}, label %{loop.header}",
        ]

    def _question(self, loop: RepeatedLoop) -> list[str]:
        """The branch to the preview, if it is worth while."""
        look = block_at("look", loop.header, loop.number)
        return [*loop.due, f"  br i1 {loop.is_due}, label {look}, label %{loop.header}"]

    def _also_from_guard(self, loop: RepeatedLoop, phi: str) -> str:
        """A phi of the header that takes the same value behind a preview."""
        guard, preheader = block_at("guard", loop.header, loop.number), f"%{loop.preheader}"
        return _INCOMING.sub(lambda m: f"{m[0]}, [ {m[1]}, {guard} ]" if m[2] == preheader else m[0], phi)

    def _from_offer(self, loop: RepeatedLoop, phi: str) -> str:
        """A phi of the header that takes the preheader's value behind an offer."""
        offer = block_at("offer", loop.header, loop.number)
        return _INCOMING.sub(
            lambda m: f"[ {m[1]}, {offer} ]" if m[2] == f"%{loop.preheader}" else m[0],
            phi,
        )

    def blocks(self) -> list[str]:
        """All blocks that are new; those of the function were asked for before."""
        result: list[str] = []
        for loop in self._repeated:
            renamed = self._renamed[loop.number]
            if loop.preview:
                guard = block_at("guard", loop.header, loop.number)
                result += [*loop.preview, "", f"{guard[1:]}:", *self._choice(loop)]
            result += ["", f"{block_at('entry', loop.header, loop.number)[1:]}:", *loop.before_copy]
            result.append(f"  br label {renamed[f'%{loop.header}']}")
            for label in loop.blocks:
                block = self._blocks[label]
                result += ["", f"{renamed[f'%{label}'][1:]}:"]
                lines = range(block.instructions[0].first_line, block.instructions[-1].last_line + 1)
                result += [self._copied(loop, self._text(line)) for line in lines if self._text(line)]
            result += [
                "",
                f"{block_at('exit', loop.header, loop.number)[1:]}:",
                *loop.behind,
                f"  br label %{loop.exit}",
            ]
        return result

    def _copied(self, loop: RepeatedLoop, line: str) -> str:
        """A line of the copy: registers and labels of the loop have other names."""
        if line.lstrip().startswith("#dbg_"):
            return ""
        renamed = self._renamed[loop.number]
        preheader = f"%{loop.preheader}"
        return TOKEN.sub(
            lambda m: (
                block_at("entry", loop.header, loop.number) if m[0] == preheader else renamed.get(m[0], m[0])
            ),
            line,
        )

    def _with_copy(self, loop: RepeatedLoop, phi: str) -> str:
        """A phi of the exit that also takes the copy's value."""
        renamed = self._renamed[loop.number]
        left = f"%{loop.exiting}"

        def both(found: re.Match[str]) -> str:
            value, label = found[1], found[2]
            if label != left:
                return found[0]
            instrumented = block_at("exit", loop.header, loop.number)
            return f"[ {value}, {instrumented} ], [ {renamed.get(value, value)}, {renamed[left]} ]"

        return _INCOMING.sub(both, phi)

    def _new_names(self, loop: RepeatedLoop) -> dict[str, str]:
        names = [f"%{label}" for label in loop.blocks]
        names += [i.name for label in loop.blocks for i in self._blocks[label].instructions if i.name]
        return {name: suffixed(name, f".ca.{loop.number}") for name in names}
