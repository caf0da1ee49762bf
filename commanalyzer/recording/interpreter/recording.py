"""Recording of dynamic slices while the program runs.

Every computed register remembers the execution that made it, so that the slice of a store is what can be
reached from the stored value. Loads end a slice (their values live in memory), addresses are left out: this
is the thin slice of paper Figure 5.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from commanalyzer.program.ir.model import Instruction
from commanalyzer.recording.interpreter.values import Chain, Home, Step, Value


@dataclass(frozen=True, slots=True)
class RecordedStore:
    """An execution of a chosen store, with the home of the first word that is written.

    The chain is ``None`` when a value was replicated or a pointer stored.
    """

    function: str
    instruction: Instruction
    value: Value
    home: Home
    chain: Chain | None


class Recorder:
    """Keeps the ``occurrence``-th execution (1 is the first) of the stores on some lines of the module."""

    def __init__(self, lines: frozenset[int], occurrence: int) -> None:
        self._lines = lines
        self._occurrence = occurrence
        self._seen = 0
        self._order = 0
        self.found: RecordedStore | None = None

    @property
    def executions(self) -> int:
        """How often the chosen stores were executed."""
        return self._seen

    def computed(
        self, function: str, instruction: Instruction, result: Value, operands: Sequence[Value]
    ) -> Value:
        """Return ``result`` with the step that made it; addresses get none."""
        if instruction.type.kind == "ptr":
            return result
        self._order += 1
        homes = tuple(result.labels) if instruction.opcode == "load" else ()
        parents = tuple(v.step for v in operands if v.step is not None)
        step = Step(self._order, function, instruction.first_line, result.data, homes, parents)
        return result._replace(step=step)

    def stored(
        self, function: str, instruction: Instruction, value: Value, home: Home, chain: Chain | None
    ) -> None:
        """Note the execution of a store."""
        if instruction.first_line not in self._lines:
            return
        self._seen += 1
        if self._seen == self._occurrence:
            self.found = RecordedStore(function, instruction, value, home, chain)
