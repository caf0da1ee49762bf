"""Loops around reductions as ranges: what the recorder needs to count them all without running a hook.

For each j, sums over k that are stored: where all addresses advance by constants in both loops, the terms of
every sum are known when the outer loop is entered, as the labels of stores are in
:mod:`commanalyzer.instrument.loops.range_events`. The guard of the outer loop offers all of it (``ca_nest``);
that of the outermost one where several loops lie around the sums, one in the other.

Input: the events inserted into the loops. Output: the lines of the offer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from commanalyzer.instrument.code import FunctionPatch, HookCall, Spilled
from commanalyzer.instrument.loops.loop_code import Numbers
from commanalyzer.instrument.loops.range_events import (
    MOST_OUTER,
    RangeLabel,
    RangeReader,
    RangeStore,
    call_offer,
    store_words,
    written_label,
)
from commanalyzer.instrument.loops.repeat_guards import GuardWriter, signed
from commanalyzer.ir.cfg import Loop
from commanalyzer.ir.loops.induction import round_number
from commanalyzer.ir.loops.polynomials import Polynomial

_IS_LOADED, _INITIAL, _IS_INITIAL_LOADED, _IS_REDUCTION = 40, 48, 52, 62  # bits of a reduction, see nests.c
_MOST_INITIAL = 8


@dataclass(frozen=True, slots=True)
class NestReduction:
    """A reduction that begins and ends in a round of the loops around it.

    Attributes:
        site: Of the value that it makes.
        header: Inner loop that adds its terms, one per round.
        initial: Labels of the value that it begins with.
        labels: Of a term.
    """

    site: str
    header: str
    initial: tuple[RangeLabel, ...]
    labels: tuple[RangeLabel, ...]


Entry = RangeStore | NestReduction


class NestReader:
    """Reads the lines inserted into a nest, in the order in which they are executed.

    Args:
        numbers: Addresses in the nest.

    Attributes:
        entries: Reductions and stores, in the order of their rows.
    """

    def __init__(self, numbers: Numbers) -> None:
        self.entries: list[Entry] = []
        self._numbers = numbers
        self._outer = RangeReader(numbers)
        self._inner: dict[str, RangeReader] = {}  # by header
        self._spilled: list[str] = []  # labels that the next call finds in memory
        self._initial: dict[str, tuple[RangeLabel, ...]] = {}  # by storage
        self._terms: dict[str, tuple[str, tuple[RangeLabel, ...]] | None] = {}  # by storage, since its reset

    def read_around(self, line: str) -> bool:
        """Take a line of a loop around the outer one; false if it does more than loading."""
        known = len(self._outer.stores)
        return self._outer.read(line) and len(self._outer.stores) == known

    def read_outer(self, line: str) -> bool:
        """Take a line of the outer loop; false if it does more than beginning, ending and storing sums."""
        if isinstance(line, Spilled):
            self._spilled += line.uses
            return True
        if not isinstance(line, HookCall) or not line.what.startswith(("ca_accumulator_", "ca_term_")):
            taken = self._outer.read(line)
            known = sum(isinstance(entry, RangeStore) for entry in self.entries)
            self.entries += self._outer.stores[known:]
            return taken and all(self._is_outer(store.labels) for store in self._outer.stores[known:])
        arguments = line.uses
        if line.what == "ca_accumulator_reset":
            return self._begin(arguments[0], int(arguments[1]))
        terms = self._terms.pop(arguments[0], None)
        if line.what != "ca_accumulator_close" or terms is None:
            return False
        number = sum(isinstance(entry, NestReduction) for entry in self.entries)
        self._outer.labels[line.result] = RangeLabel(number)
        header, labels = terms
        self.entries.append(NestReduction(arguments[1], header, self._initial[arguments[0]], labels))
        return True

    def _begin(self, storage: str, count: int) -> bool:
        initial = tuple(self._outer.label(name) for name in self._spilled)
        self._spilled = []
        self._terms[storage], self._initial[storage] = None, initial
        return len(initial) == count <= _MOST_INITIAL and self._is_outer(initial) and _are_plain(initial)

    def read_inner(self, line: str, header: str) -> bool:
        """Take a line of the inner loop at ``header``; false if it does more than adding terms."""
        reader = self._inner.setdefault(header, RangeReader(self._numbers))
        if not isinstance(line, HookCall) or not line.what.startswith("ca_term_"):
            return reader.read(line) and not reader.stores
        storage, *names = line.uses
        if line.what == "ca_term_many" or self._terms.get(storage, ()) is not None:
            return False  # not begun, or the second term of a round
        labels = tuple(reader.labels.get(name) or self._outer.label(name) for name in names)
        self._terms[storage] = header, labels
        return _are_plain(labels)

    def _is_outer(self, labels: Iterable[RangeLabel]) -> bool:
        """No label is that of an inner loop's last round."""
        registers = {label.source for label in labels if isinstance(label.source, str)}
        return all(registers.isdisjoint(reader.labels) for reader in self._inner.values())


def _are_plain(labels: Iterable[RangeLabel]) -> bool:
    """Loaded, or registers from outside, as they are."""
    return all(not label.marks and not isinstance(label.source, int) for label in labels)


def loops_around(loops: Mapping[str, Loop], outermost: str) -> list[str]:
    """Loops one in the other, the outermost first, up to one that has nothing but innermost loops inside.

    None if there is no such chain, or if it is too long.
    """
    inside: dict[str, list[str]] = {header: [] for header in loops}
    for header, inner in loops.items():
        if header != outermost and inner.parent is not None:
            inside[inner.parent].append(header)
    around = [outermost]
    while any(inside[header] for header in inside[around[-1]]):
        if len(inside[around[-1]]) > 1:
            return []
        around += inside[around[-1]]
    return around if inside[around[-1]] and len(around) <= MOST_OUTER else []


def offer_nest(
    patch: FunctionPatch,
    guard: GuardWriter,
    entries: Sequence[Entry],
    headers: Sequence[str],
    made: Mapping[str, str],
    loop: tuple[str, str, str],
) -> str | None:
    """Write the offer to the recorder; the register that says whether it was taken, if there can be one.

    Args:
        patch: Gives names to registers.
        guard: Where the code goes.
        entries: At least one store.
        headers: Of the loops around the reductions, the outermost first.
        made: Registers with the rounds of each loop, by header.
        loop: Registers with the nest's hash, changes of the shadow and rounds of all loops, multiplied.
    """
    around = [round_number(header) for header in headers]
    words = [str(len(headers)), *(made[header] for header in headers)]
    for entry in entries:
        if isinstance(entry, RangeStore):
            described = store_words(guard, entry, around[-1], around[:-1])
        else:
            described = _reduction_words(guard, entry, around, made[entry.header])
        if described is None:
            return None
        words += described
    return call_offer(patch, guard, "ca_nest", loop, words)


def _reduction_words(
    guard: GuardWriter, reduction: NestReduction, around: Sequence[str], terms: str
) -> list[str] | None:
    """What describes a reduction to the recorder, see ``nests.c``."""
    head = int(reduction.site) | len(reduction.labels) << 32 | 1 << _IS_REDUCTION
    head |= len(reduction.initial) << _INITIAL
    inner, words = round_number(reduction.header), [terms]
    first_bits = (_IS_INITIAL_LOADED, _IS_LOADED)
    symbols = (around, [inner, *around])
    for bit, names, labels in zip(first_bits, symbols, (reduction.initial, reduction.labels), strict=True):
        for k, label in enumerate(labels):
            written = written_label(guard, label, names[0], names[1:])
            if written is None:
                return None
            head |= isinstance(label.source, Polynomial) << (bit + k)
            words += written
    return [str(signed(head)), *words]
