"""Numbers that a preview keeps from round to round: slots of local storage, which become registers."""

from __future__ import annotations

from collections.abc import Sequence

from commanalyzer.instrument.code import FunctionPatch

LEAST, MOST = 0, 1  # sides of an address: its slot and the next one
_PREDICATES = ("slt", "sgt")


class PreviewStorage:
    """Writes code that reads and changes slots.

    Args:
        patch: Gives names to registers.
        address: Register with the address of the storage.
    """

    def __init__(self, patch: FunctionPatch, address: str) -> None:
        self._patch = patch
        self._address = address

    def get(self, out: list[str], number: int) -> str:
        """Register with what is in a slot."""
        return self._patch.value(out, f"load i64, ptr {self._place(out, number)}, align 8")

    def set(self, out: list[str], number: int, value: str) -> None:
        """Put ``value`` into a slot."""
        out.append(f"  store i64 {value}, ptr {self._place(out, number)}, align 8")

    def note(self, out: list[str], slot: int, value: str, sides: Sequence[int] = (LEAST, MOST)) -> None:
        """The least and largest of all values, in two slots; or one of them."""
        for side in sides:
            known = self.get(out, slot + side)
            bit = self._patch.value(out, f"icmp {_PREDICATES[side]} i64 {value}, {known}")
            self.set(out, slot + side, self._patch.choose(out, bit, value, known))

    def _place(self, out: list[str], number: int) -> str:
        return self._patch.value(out, f"getelementptr inbounds i64, ptr {self._address}, i64 {number}")
