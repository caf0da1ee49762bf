"""Loops around reductions as ranges: what the recorder needs to count them all without running a hook.

For each j, sums over k that are stored: where all addresses advance by constants in both loops and no word
holds a copy, the terms of every sum are known when the outer loop is entered, as the labels of stores are in
:mod:`commanalyzer.instrument.range_events`. The guard of the outer loop offers all of it (``ca_nest``).

Input: the lines inserted into the two loops. Output: the lines of the offer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from commanalyzer.instrument.code import FunctionPatch
from commanalyzer.instrument.loop_code import CALL_LINE, Numbers
from commanalyzer.instrument.range_events import RangeLabel, RangeReader, RangeStore, call_offer, store_words
from commanalyzer.instrument.repeat_guards import GuardWriter, signed
from commanalyzer.ir.induction import round_number
from commanalyzer.ir.polynomials import Polynomial

_IS_LOADED, _IS_REDUCTION = 40, 62  # bits of what a reduction is described by, see nests.c


@dataclass(frozen=True, slots=True)
class NestReduction:
    """A reduction that begins and ends in a round of the outer loop.

    Attributes:
        site: Of the value that it makes.
        header: Inner loop that adds its terms, one per round.
        labels: Of a term.
    """

    site: str
    header: str
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
        self._terms: dict[str, tuple[str, tuple[RangeLabel, ...]] | None] = {}  # by storage, since its reset

    def read_outer(self, line: str) -> bool:
        """Take a line of the outer loop; false if it does more than beginning, ending and storing sums."""
        found = CALL_LINE.match(line)
        if found is None or not found[2].startswith(("ca_accumulator_", "ca_term_")):
            taken = self._outer.read(line)
            known = sum(isinstance(entry, RangeStore) for entry in self.entries)
            self.entries += self._outer.stores[known:]
            return taken and all(self._is_outer(store.labels) for store in self._outer.stores[known:])
        arguments = [a.rsplit(" ", 1)[1] for a in found[3].split(", ")]
        if found[2] == "ca_accumulator_reset":
            self._terms[arguments[0]] = None
            return arguments[1] == "0"
        terms = self._terms.pop(arguments[0], None)
        if found[2] != "ca_accumulator_close" or terms is None:
            return False
        number = sum(isinstance(entry, NestReduction) for entry in self.entries)
        self._outer.labels[found[1]] = RangeLabel(number)
        self.entries.append(NestReduction(arguments[1], *terms))
        return True

    def read_inner(self, line: str, header: str) -> bool:
        """Take a line of the inner loop at ``header``; false if it does more than adding terms."""
        reader = self._inner.setdefault(header, RangeReader(self._numbers))
        found = CALL_LINE.match(line)
        if found is None or not found[2].startswith("ca_term_"):
            return reader.read(line) and not reader.stores
        storage, *names = [a.rsplit(" ", 1)[1] for a in found[3].split(", ")]
        if found[2] == "ca_term_many" or self._terms.get(storage, ()) is not None:
            return False  # not begun, or the second term of a round
        labels = tuple(reader.labels.get(name) or self._outer.label(name) for name in names)
        self._terms[storage] = header, labels
        return all(not label.marks and not isinstance(label.source, int) for label in labels)

    def _is_outer(self, labels: Iterable[RangeLabel]) -> bool:
        """No label is that of an inner loop's last round."""
        registers = {label.source for label in labels if isinstance(label.source, str)}
        return all(registers.isdisjoint(reader.labels) for reader in self._inner.values())


def offer_nest(
    patch: FunctionPatch,
    guard: GuardWriter,
    entries: Sequence[Entry],
    header: str,
    made: Mapping[str, str],
    loop: tuple[str, str, str],
) -> str | None:
    """Write the offer to the recorder; the register that says whether it was taken, if there can be one.

    Args:
        patch: Gives names to registers.
        guard: Where the code goes.
        entries: At least one store.
        header: Of the outer loop.
        made: Registers with the rounds of each loop, by header.
        loop: Registers with the nest's hash, changes of the shadow and rounds of all loops, multiplied.
    """
    number, words = round_number(header), [made[header]]
    for entry in entries:
        if isinstance(entry, RangeStore):
            described = store_words(patch, guard, entry, number)
        else:
            described = _reduction_words(guard, entry, number, made[entry.header])
        if described is None:
            return None
        words += described
    return call_offer(patch, guard, "ca_nest", loop, words)


def _reduction_words(
    guard: GuardWriter, reduction: NestReduction, number: str, terms: str
) -> list[str] | None:
    """What describes a reduction to the recorder: per label the first one, its change per term and round."""
    head = int(reduction.site) | len(reduction.labels) << 32 | 1 << _IS_REDUCTION
    words = [terms]
    inner = round_number(reduction.header)
    for k, label in enumerate(reduction.labels):
        if not isinstance(label.source, Polynomial):
            words += [str(label.source), "0", "0"]
            continue
        head |= 1 << (_IS_LOADED + k)
        steps = [label.source.coefficient(n) for n in (inner, number)]
        if any(s is None or any(symbol.startswith("#") for symbol in s.symbols) for s in steps):
            return None
        words.append(guard.value(label.source.without([inner, number])))
        words += [guard.value(step) for step in steps if step is not None]
    return [str(signed(head)), *words]
