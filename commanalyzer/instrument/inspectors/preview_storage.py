"""Numbers that a preview keeps from round to round, in slots of local storage, and what is asked about them.

The slots become registers. They hold addresses: the shadow there is looked at, and which of them meet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from commanalyzer.instrument.code import FunctionPatch
from commanalyzer.instrument.inspectors.preview_slices import Place
from commanalyzer.instrument.inspectors.previews import Previewed

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


class PreviewRanges:
    """Ranges of addresses of a previewed loop.

    Args:
        patch: Gives names to registers.
        plan: The loop.
        storage: Where the preview notes addresses.
        slots: Per register, the slot of its least address.
    """

    def __init__(
        self, patch: FunctionPatch, plan: Previewed, storage: PreviewStorage, slots: Mapping[str, int]
    ) -> None:
        self._patch = patch
        self._plan = plan
        self._kept = storage
        self._slots = slots

    def changes(self, out: list[str]) -> str:
        """Changes so far of the shadow of all addresses."""
        total = "0"
        for name, (first, end) in self._plan.tracked.items():
            low, high = self.of(out, Place(name, first, end))
            found = self._patch.call(out, "ca_changes", low, high)
            total = found if total == "0" else self._patch.compute(out, "add", total, found)
        return total

    def of(self, out: list[str], place: Place) -> tuple[str, str]:
        """First and last address of a place in all rounds; the first behind the last if there were none."""
        name = place.address
        if name in self._slots:
            low = self._kept.get(out, self._slots[name] + LEAST)
            high = self._kept.get(out, self._slots[name] + MOST)
        else:
            type_ = self._plan.outside.get(name)
            low = high = name
            if type_ is None or type_.kind == "ptr":  # globals, too
                low = high = self._patch.address(out, name)
        low = self._patch.compute(out, "add", low, place.first)
        return low, self._patch.compute(out, "add", high, place.end - 1)

    def unless_overlapping(self, out: list[str], count: int) -> str:
        """``count``, or 0 if the loop may change what the preview read."""
        places = dict.fromkeys(p for o in self._plan.overlaps for p in (o.read, o.written))
        ranges = {place: self.of(out, place) for place in places}
        result = str(count)
        for overlap in self._plan.overlaps:
            (low, high), (first, last) = ranges[overlap.read], ranges[overlap.written]
            begins = self._patch.value(out, f"icmp sle i64 {low}, {last}")
            ends = self._patch.value(out, f"icmp sle i64 {first}, {high}")
            both = self._patch.value(out, f"and i1 {begins}, {ends}")
            result = self._patch.value(out, f"select i1 {both}, i32 0, i32 {result}")
        return result
