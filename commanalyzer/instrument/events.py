"""Lines that the planner inserts, as what they say: calls of hooks, addresses, labels. All are printed here.

Input: registers and numbers as text. Output: IR lines that know what they consist of, so that whoever has to
know what inserted code does (:mod:`commanalyzer.instrument.loops.loop_code`) looks at fields, not at text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from commanalyzer.abi.hooks import HOOKS

SCRATCH = "%ca.scratch"  # labels that a hook takes in memory


class Event(str):
    """An inserted line of IR.

    Attributes:
        result: Register that it defines, empty for none.
        uses: Operands that are labels or addresses, registers or numbers.
    """

    __slots__ = ("result", "uses")
    result: str
    uses: tuple[str, ...]

    @classmethod
    def _make(cls, text: str, result: str, uses: Sequence[str]) -> Self:
        line = cls(f"  {result} = {text}" if result else f"  {text}")
        line.result, line.uses = result, tuple(uses)
        return line


class HookCall(Event):
    """A call of a hook; ``uses`` are its arguments.

    Attributes:
        hook: Its name.
    """

    __slots__ = ("hook",)
    hook: str

    @classmethod
    def of(cls, hook: str, arguments: Sequence[str | int], result: str = "") -> Self:
        """Call ``hook``; ``result`` is given where it returns something."""
        signature, uses = HOOKS[hook], [str(argument) for argument in arguments]
        typed = ", ".join(f"{t} {a}" for t, a in zip(signature.parameters, uses, strict=True))
        line = cls._make(f"call {signature.returns} @{hook}({typed})", result, uses)
        line.hook = hook
        return line


class Address(Event):
    """A pointer's value as an integer; nothing is used but the pointer.

    Attributes:
        pointer: Register of the program, or a constant.
    """

    __slots__ = ("pointer",)
    pointer: str

    @classmethod
    def of(cls, pointer: str, result: str) -> Self:
        """Address that ``pointer`` holds."""
        line = cls._make(f"ptrtoint ptr {pointer} to i64", result, ())
        line.pointer = pointer
        return line


class Computed(Event):
    """An operation on two integers of 64 bits.

    Attributes:
        operation: Its opcode, of comparisons with the predicate.
    """

    __slots__ = ("operation",)
    operation: str

    @classmethod
    def of(cls, operation: str, left: str, right: str | int, result: str) -> Self:
        """``left operation right``."""
        line = cls._make(f"{operation} i64 {left}, {right}", result, (left, str(right)))
        line.operation = operation
        return line

    @property
    def constant(self) -> int | None:
        """The second operand, if it is a number."""
        return int(self.uses[1]) if self.uses[1].lstrip("-").isdigit() else None


class Choice(Event):
    """One of two labels.

    Attributes:
        condition: Register, of the program or computed from labels.
    """

    __slots__ = ("condition",)
    condition: str

    @classmethod
    def of(cls, condition: str, yes: str, no: str, result: str) -> Self:
        """``yes`` where ``condition`` holds, else ``no``."""
        line = cls._make(f"select i1 {condition}, i64 {yes}, i64 {no}", result, (yes, no))
        line.condition = condition
        return line


class Joined(Event):
    """A phi of labels."""

    __slots__ = ()

    @classmethod
    def of(cls, incoming: Sequence[tuple[str, str]], result: str) -> Self:
        """Labels with the blocks (with ``%``) that they come from."""
        ways = ", ".join(f"[ {label}, {block} ]" for label, block in incoming)
        return cls._make(f"phi i64 {ways}", result, [label for label, _ in incoming])


class Spilled(Event):
    """A label that goes to memory, for the next hook to take."""

    __slots__ = ()

    @classmethod
    def of(cls, label: str, slot: str) -> Self:
        """Store ``label`` at the register ``slot``."""
        return cls._make(f"store i64 {label}, ptr {slot}, align 8", "", (label,))


class Slot(Event):
    """The place of a label in the scratch array."""

    __slots__ = ()

    @classmethod
    def of(cls, index: int, result: str) -> Self:
        """Slot number ``index``."""
        return cls._make(f"getelementptr inbounds i64, ptr {SCRATCH}, i64 {index}", result, ())
