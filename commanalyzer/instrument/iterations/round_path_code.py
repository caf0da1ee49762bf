"""Writes what a preview notes about the path of a round, see :mod:`.round_paths`."""

from __future__ import annotations

from commanalyzer.instrument.code import FunctionPatch
from commanalyzer.instrument.inspectors.preview_storage import PreviewStorage
from commanalyzer.instrument.iterations.round_paths import MOST_MOVING, RoundPath
from commanalyzer.instrument.loops.repeat_guards import multiplier, signed

_START, _AT, _LIMIT, _PATH = range(4)  # slots: accesses of the round, their end, where they must end; hash
_WEIGHT = 0x9E3779B97F4A7C15
_MIXER = signed(0xD6E8FEB86659FD93)
_ADDRESS_MASK = (1 << 44) - 1
_SIZE_BIT = 48


class RoundPathWriter:
    """Writes the accesses of a round that depend on what it loads to memory, and hashes its branches.

    Args:
        patch: Gives names to registers.
        path: What to note.
        storage: Register with the address of the preview's slots.
        first_slot: The first one of the four that are used here.
    """

    num_slots = 4

    def __init__(self, patch: FunctionPatch, path: RoundPath, storage: str, first_slot: int) -> None:
        self._patch = patch
        self._path = path
        self._slots = PreviewStorage(patch, storage, first_slot)
        self._num_hashed = 0  # in the block that is written

    def is_moving(self, address: str) -> bool:
        """Whether an address depends on what the round loads."""
        return address in self._path.moving

    def has(self, name: str) -> bool:
        """Whether something is noted about a register."""
        return name in self._path.moving or name in self._path.deciding

    def begin(self, out: list[str]) -> None:
        """In front of the first round."""
        self._slots.set(out, _START, self._patch.call(out, "ca_rounds_accesses"))

    def begin_round(self, out: list[str]) -> None:
        """In the header."""
        start = self._slots.get(out, _START)
        self._slots.set(out, _AT, start)
        self._slots.set(out, _LIMIT, self._patch.value(out, f"add i64 {start}, {8 * (MOST_MOVING + 2)}"))
        self._slots.set(out, _PATH, "0")

    def begin_block(self) -> None:
        """In front of a block of the preview."""
        self._num_hashed = 0

    def note(self, out: list[str], name: str, value: str) -> None:
        """Note a register whose value is ``value`` as i64."""
        if name in self._path.deciding:
            self._hash(out, value)
        if name in self._path.moving:
            self._write_access(out, value, *self._path.moving[name])

    def end_round(self, out: list[str], found: str) -> None:
        """The round is over; ``found`` is its hash."""
        noted = self._slots.get(out, _PATH), self._slots.get(out, _AT)
        self._slots.set(out, _START, self._patch.call(out, "ca_round_found", found, *noted))

    def _hash(self, out: list[str], value: str) -> None:
        """Horner's rule per block; a block counts even if all its values are 0."""
        total = self._slots.get(out, _PATH)
        if self._num_hashed == 0:
            total = self._patch.value(out, f"mul i64 {total}, {_MIXER}")
            total = self._patch.value(out, f"add i64 {total}, {signed(_WEIGHT)}")
        weight = signed(multiplier(self._num_hashed + 1))
        value = self._patch.value(out, f"mul i64 {value}, {weight}")
        self._num_hashed += 1
        self._slots.set(out, _PATH, self._patch.value(out, f"add i64 {total}, {value}"))

    def _write_access(self, out: list[str], address: str, first: int, end: int) -> None:
        at = self._slots.get(out, _AT)
        place = self._patch.value(out, f"inttoptr i64 {at} to ptr")
        start = self._patch.value(out, f"add i64 {address}, {first}")
        folded = self._patch.value(out, f"and i64 {start}, {_ADDRESS_MASK}")
        access = self._patch.value(out, f"or i64 {folded}, {(end - first) << _SIZE_BIT}")
        out.append(f"  store i64 {access}, ptr {place}, align 8")
        behind = self._patch.value(out, f"add i64 {at}, 8")
        if self._path.are_few:
            self._slots.set(out, _AT, behind)
            return
        fits = self._patch.value(out, f"icmp ult i64 {behind}, {self._slots.get(out, _LIMIT)}")
        self._slots.set(out, _AT, self._patch.value(out, f"select i1 {fits}, i64 {behind}, i64 {at}"))
