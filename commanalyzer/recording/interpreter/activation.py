"""Activations of functions, and what they count."""

from __future__ import annotations

from dataclasses import dataclass, field

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
