"""Activations of functions, and what they count.

What the interpreter tells others about a run while it lasts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from commanalyzer.program.ir.libcalls import CallKind
from commanalyzer.program.ir.model import Instruction
from commanalyzer.recording.interpreter.plan import FunctionPlan
from commanalyzer.recording.interpreter.values import Labels, Value


@dataclass(slots=True)
class Counts:
    """What was executed: instructions (debug records excluded), loads, stores, floating-point operations."""

    instructions: int = 0
    loads: int = 0
    stores: int = 0
    flops: int = 0


@dataclass(slots=True)
class Frame:
    """An activation: registers, position, and the call in the caller that waits for the result.

    ``path`` is the path of allocations that led here, of a function that hands out blocks.
    """

    plan: FunctionPlan
    depth: int
    stack_height: int
    registers: dict[str, Value]
    code: tuple[Instruction, ...]
    label: str
    is_root: bool
    path: str = ""
    index: int = 0
    selected: dict[str, Labels] = field(default_factory=dict)


class Observer(Protocol):
    """Is told of control transfer and of accesses, in the order of execution."""

    def entered(self, frame: Frame) -> None:
        """An activation begins."""

    def left(self, frame: Frame) -> None:
        """An activation ends."""

    def jumped(self, frame: Frame, previous: str, target: str) -> None:
        """Control goes from one block to another."""

    def called(self, name: str, kind: CallKind, instruction: Instruction) -> None:
        """A library function is called; what it reads and writes is told afterwards."""

    def accessed(self, address: int, size_bytes: int, *, is_write: bool) -> None:
        """The instruction that is executed reads or writes memory."""


class Unobserved:
    """Listens to nothing."""

    def entered(self, frame: Frame) -> None:
        """Do nothing."""

    def left(self, frame: Frame) -> None:
        """Do nothing."""

    def jumped(self, frame: Frame, previous: str, target: str) -> None:
        """Do nothing."""

    def called(self, name: str, kind: CallKind, instruction: Instruction) -> None:
        """Do nothing."""

    def accessed(self, address: int, size_bytes: int, *, is_write: bool) -> None:
        """Do nothing."""
