"""Writes a loop in which each round runs with or without hooks, see :mod:`.rounds`.

apart --> turn: the next round that changed?
           | yes                 | no
    instrumented round      original round
           |                     |
           +-- back to turn, or out of the loop
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from commanalyzer.instrument.code import RepeatedLoop
from commanalyzer.instrument.events import HookCall
from commanalyzer.instrument.loops.loop_code import TOKEN
from commanalyzer.instrument.loops.loop_names import INCOMING, BlockRole, block_at, suffixed
from commanalyzer.ir.model import Block

_DEFINED = re.compile(r'\s*(%(?:[\w.$-]+|"[^"]*")) = ')


def tally(number: int, counter: int) -> str:
    """Register with the address of a local count of executions in rounds without hooks of loop ``number``."""
    return f"%ca.tally.{number}.{counter}"


class RoundCopies:
    """Both copies of a loop's rounds.

    Args:
        loop: The loop.
        blocks: Blocks of its function by label.
        hooked: Lines of its blocks with hooks, and of blocks that were added to them.
        text: Gives a line of the original.
    """

    def __init__(
        self,
        loop: RepeatedLoop,
        blocks: Mapping[str, Block],
        hooked: Mapping[str, list[str]],
        text: Callable[[int], str],
    ) -> None:
        self._loop = loop
        self._hooked = hooked
        counting = {label: _counters(hooked[label]) for label in loop.blocks}
        self._counters = [counter for found in counting.values() for counter in found]
        self._plain = {
            label: _plain_lines(blocks[label], self._counting(counting[label]), text) for label in loop.blocks
        }
        self._with_hooks = self._new_names(self._hooked, ".h")
        self._without = self._new_names(self._plain, ".q")

    def _new_names(self, lines: Mapping[str, list[str]], suffix: str) -> dict[str, str]:
        number, header = self._loop.number, self._loop.header
        names = {f"%{label}": suffixed(f"%{label}", f".ca.{number}{suffix}") for label in lines}
        for label, block in lines.items():
            for line in block:
                found = _DEFINED.match(line)
                if found:
                    is_joined = label == header and " = phi " in line
                    names[found[1]] = suffixed(found[1], f".ca.{number}{'.m' if is_joined else suffix}")
        return names

    def blocks(self) -> Iterator[str]:
        """All blocks of the loop and around it."""
        number, loop = self._loop.number, self._loop
        yield from ("", f"{self._at('apart')[1:]}:", f"  %ca.first.{number} = call i64 @ca_rounds_first()")
        yield from (f"  store i64 0, ptr {tally(number, c)}, align 8" for c in self._counters)
        yield f"  br label {self._at('turn')}"
        yield from ("", f"{self._at('turn')[1:]}:", *self._joined_phis(), *self._decision())
        ended = f"  %ca.ended.{number} = call i64 @ca_round_end(i64 %ca.round.{number})"
        yield from self._round(self._hooked, self._with_hooks, "left", [ended])
        yield from self._round(self._plain, self._without, "gone", [])
        for role in ("left", "gone"):
            yield from ("", f"{self._at(role)[1:]}:", "  call void @ca_rounds_end()")
            yield from self._counts(role)
            yield f"  br label %{loop.exit}"

    def _counting(self, counters: list[int]) -> list[str]:
        """Counts an execution in a round without hooks: in a register, if the compiler finds one."""
        number = self._loop.number
        return [
            line
            for c in counters
            for line in (
                f"  %ca.tallied.{number}.{c} = load i64, ptr {tally(number, c)}, align 8",
                f"  %ca.more.{number}.{c} = add i64 %ca.tallied.{number}.{c}, 1",
                f"  store i64 %ca.more.{number}.{c}, ptr {tally(number, c)}, align 8",
            )
        ]

    def _counts(self, role: BlockRole) -> Iterator[str]:
        """Counts what was executed in rounds without hooks, behind the loop."""
        for c in self._counters:
            name = tally(self._loop.number, c)
            yield f"  {name}.{role} = load i64, ptr {name}, align 8"
            yield f"  call void @ca_count_blocks(i32 {c}, i64 {name}.{role})"

    def _at(self, role: BlockRole) -> str:
        return block_at(role, self._loop.header, self._loop.number)

    def _joined_phis(self) -> Iterator[str]:
        loop, number = self._loop, self._loop.number
        latches = [names[f"%{loop.latch}"] for names in (self._with_hooks, self._without)]
        for line in self._plain[loop.header]:
            if " = phi " in line:
                name, values = line.split(" = ", 1)
                yield f"  {self._without[name.strip()]} = {INCOMING.sub(self._incoming, values)}"
        entered = self._at("apart")
        yield (
            f"  %ca.round.{number} = phi i64 [ 0, {entered} ], [ %ca.more.{number}, {latches[0]} ], "
            f"[ %ca.more.{number}, {latches[1]} ]"
        )
        yield (
            f"  %ca.next.{number} = phi i64 [ %ca.first.{number}, {entered} ], "
            f"[ %ca.ended.{number}, {latches[0]} ], [ %ca.next.{number}, {latches[1]} ]"
        )

    def _incoming(self, found: re.Match[str]) -> str:
        value, label = found[1], found[2]
        if label == f"%{self._loop.preheader}":
            return f"[ {value}, {self._at('apart')} ]"
        both = (f"[ {n.get(value, value)}, {n[label]} ]" for n in (self._with_hooks, self._without))
        return ", ".join(both)

    def _decision(self) -> list[str]:
        number, header = self._loop.number, f"%{self._loop.header}"
        return [
            f"  %ca.more.{number} = add i64 %ca.round.{number}, 1",
            f"  %ca.changed.{number} = icmp eq i64 %ca.round.{number}, %ca.next.{number}",
            f"  br i1 %ca.changed.{number}, label {self._with_hooks[header]}, label {self._without[header]}",
        ]

    def _round(
        self, lines: Mapping[str, list[str]], names: dict[str, str], out: BlockRole, ended: list[str]
    ) -> Iterator[str]:
        loop = self._loop
        for label, block in lines.items():
            yield from ("", f"{names[f'%{label}'][1:]}:")
            body = [line for line in block if label != loop.header or " = phi " not in line]
            yield from (_renamed(line, names) for line in body[:-1])
            ways = dict(names)
            if label == loop.latch:
                yield from ended
                ways[f"%{loop.header}"] = self._at("turn")
            if label == loop.exiting:
                ways[f"%{loop.exit}"] = self._at(out)
            yield _renamed(body[-1], ways)


def values_behind(loop: RepeatedLoop, blocks: Mapping[str, Block], value: str) -> str:
    """What a phi of the exit takes from both copies where it takes ``value`` from the loop."""
    inside = {i.name: (i.opcode, label) for label in loop.blocks for i in blocks[label].instructions}
    ways: tuple[tuple[BlockRole, str], ...] = (("left", ".h"), ("gone", ".q"))
    result = []
    for role, suffix in ways:
        name = value
        if value in inside:
            is_joined = inside[value] == ("phi", loop.header)
            name = suffixed(value, f".ca.{loop.number}{'.m' if is_joined else suffix}")
        result.append(f"[ {name}, {block_at(role, loop.header, loop.number)} ]")
    return ", ".join(result)


def _renamed(line: str, names: Mapping[str, str]) -> str:
    return TOKEN.sub(lambda m: names.get(m[0], m[0]), line)


def _counters(hooked: list[str]) -> list[int]:
    """Counters of the executions of a block."""
    return [
        int(line.uses[0]) for line in hooked if isinstance(line, HookCall) and line.hook == "ca_count_block"
    ]


def _plain_lines(block: Block, counting: list[str], text: Callable[[int], str]) -> list[str]:
    """The original block; its executions are counted."""
    numbers = range(block.instructions[0].first_line, block.instructions[-1].last_line + 1)
    lines = [text(n) for n in numbers]
    lines = [line for line in lines if line and not line.lstrip().startswith("#dbg_")]
    phis = sum(i.opcode == "phi" for i in block.instructions)
    return [*lines[:phis], *counting, *lines[phis:]]
