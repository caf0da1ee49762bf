"""Writes what is asked about the addresses that a preview noted: the shadow there, and which of them meet."""

from __future__ import annotations

from collections.abc import Mapping

from commanalyzer.instrument.code import FunctionPatch
from commanalyzer.instrument.inspectors.preview_slices import Place
from commanalyzer.instrument.inspectors.preview_storage import LEAST, MOST, PreviewStorage
from commanalyzer.instrument.inspectors.previews import Previewed


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
