"""Paths of allocations: which calls led to the one that is executed."""

from __future__ import annotations

from commanalyzer.program.ir.allocators import Allocators, call_key, joined_key
from commanalyzer.program.ir.libcalls import LibraryModel
from commanalyzer.program.ir.model import Instruction, Module
from commanalyzer.recording.interpreter.activation import Frame


class Paths:
    """Paths of one program.

    Args:
        module: The program.
        library: What external functions do.

    Attributes:
        current: Path of the last call that may lead to a function that hands out blocks.
    """

    def __init__(self, module: Module, library: LibraryModel) -> None:
        self._allocators = Allocators(module, library)
        self.current = ""

    def note(self, frame: Frame, call: Instruction) -> None:
        """A function of the program is about to be called."""
        if self._allocators.enters(call):
            is_longer = self._allocators.lengthens(frame.plan.function.name, call)
            self.current = self.path(frame, call) if is_longer else frame.path

    def path(self, frame: Frame, call: Instruction) -> str:
        """Path that ends with ``call``."""
        function = frame.plan.function.name
        own = call_key(function, call)
        is_nested = frame.path and self._allocators.hands_out(function)
        return joined_key(frame.path, own) if is_nested else own
