"""Stores of loops as ranges: what the recorder needs to count them all without running a hook.

Where the words that a loop looks at hold values of their own or copies of other arrays, the labels of a store
are known when the loop is entered: in round i they are those of the first round plus i times a constant, for
many rounds at once. If all that a loop does is storing values with such labels (:class:`RangeReader`), the
guard (:mod:`.repeats`) offers its stores to the recorder when it is not known yet::

    preheader --> guard: known? --> offer (ca_range): counted? --> instrumented loop
                   | known                  | yes
                   +--> original loop <-----+

The same holds for a nest that stores in its innermost loop alone; labels may be loaded in those around it.

Input: the events inserted into the loops. Output: the lines of the offer. Labels that are computed from
others get their value of the first round there as they do in the loop, with addresses in place of the shadow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from commanalyzer.abi.hooks import ADDRESS_MASK, MAX_LABELS, WORD_MASK
from commanalyzer.instrument.code import Computed, Event, FunctionPatch, HookCall
from commanalyzer.instrument.loops.loop_code import Numbers, computed_address
from commanalyzer.instrument.loops.repeat_guards import GuardWriter, signed
from commanalyzer.ir.loops.polynomials import Polynomial

_ROLES = frozenset({"ca_control", "ca_address"})
_WORD_BYTES = 4
MOST_OUTER = 4  # loops around the one that stores, see ranges.c
_IS_LOADED, _IS_RESULT, _IS_COMPUTED = 40, 52, 63  # bits of what a store is described by, see ranges.c


@dataclass(frozen=True, slots=True)
class RangeLabel:
    """A label: of the word at an address, or a register from outside the loop; then what marks it.

    The number of a reduction stands for its result.
    """

    source: Polynomial | str | int
    marks: tuple[tuple[str, str], ...] = ()  # operations on bits above the word: (and|or|hook, number)


@dataclass(frozen=True, slots=True)
class RangeStore:
    """A store: its site, address, size and labels."""

    site: str
    address: Polynomial
    words: int
    labels: tuple[RangeLabel, ...]


@dataclass(slots=True)
class RangeReader:
    """Reads the lines inserted into a block whose addresses are known.

    Attributes:
        numbers: Addresses in the loop.
        addresses: By register.
        labels: By register.
        stores: In their order.
    """

    numbers: Numbers
    addresses: dict[str, Polynomial] = field(default_factory=dict)
    labels: dict[str, RangeLabel] = field(default_factory=dict)
    stores: list[RangeStore] = field(default_factory=list)

    def read(self, line: str) -> bool:
        """Take a line; false if what it does is more than storing values with such labels."""
        if not isinstance(line, Event):
            return False
        address = computed_address(line, self.numbers, self.addresses)
        if address is not None:
            self.addresses[line.result] = address
            return True
        if isinstance(line, Computed):
            if line.what not in ("and", "or") or line.constant is None:
                return False
            is_mark = _is_above_word(line.what, line.constant)
            return is_mark and self._mark(line.result, line.uses[0], (line.what, line.uses[1]))
        return isinstance(line, HookCall) and self._call(line)

    def _call(self, call: HookCall) -> bool:
        hook, arguments, result = call.what, call.uses, call.result
        if hook == "ca_count_block" or hook.startswith("ca_term_"):
            return True
        if hook == "ca_load" and arguments[0] in self.addresses:
            self.labels[result] = RangeLabel(self.addresses[arguments[0]])
            return True
        if hook in _ROLES:
            return self._mark(result, arguments[0], (hook, ""))
        if hook.startswith("ca_row_") and hook != "ca_row_many" and arguments[1] in self.addresses:
            labels = tuple(self.label(name) for name in arguments[3:])
            self.stores.append(
                RangeStore(arguments[0], self.addresses[arguments[1]], int(arguments[2]), labels)
            )
            return True
        return False

    def label(self, name: str) -> RangeLabel:
        """The label in a register."""
        return self.labels.get(name, RangeLabel(name))

    def _mark(self, result: str, name: str, mark: tuple[str, str]) -> bool:
        label = self.label(name)
        self.labels[result] = RangeLabel(label.source, (*label.marks, mark))
        return True


def _is_above_word(operation: str, number: int) -> bool:
    """Bits of a word stay as they are."""
    return number & WORD_MASK == (WORD_MASK if operation == "and" else 0)


def offer(
    patch: FunctionPatch,
    guard: GuardWriter,
    stores: Sequence[RangeStore],
    made: Mapping[str, str],
    loop: tuple[str, str, str],
) -> str | None:
    """Write the offer to the recorder; the register that says whether it was taken, if there can be one.

    Args:
        patch: Gives names to registers.
        guard: Where the code goes.
        stores: At least one.
        made: Registers with the rounds of each loop, the outermost first, by symbol of the loop's round.
        loop: Registers with the loop's hash, changes of the shadow and rounds of all loops, multiplied.
    """
    *outer, number = made
    words: list[str] = [str(len(outer)), *made.values()]
    for store in stores:
        described = store_words(guard, store, number, outer)
        if described is None:
            return None
        words += described
    return call_offer(patch, guard, "ca_range", loop, words)


def call_offer(
    patch: FunctionPatch, guard: GuardWriter, hook: str, loop: tuple[str, str, str], words: Sequence[str]
) -> str | None:
    """Hand words that describe a loop to the recorder; the register that says whether it takes them.

    Args:
        patch: Gives names to registers.
        guard: Where the code goes.
        hook: Of the recorder.
        loop: Registers with the loop's hash, changes of the shadow and rounds.
        words: ``None`` is returned if there are too many.
    """
    if len(words) > MAX_LABELS:
        return None
    pointer = patch.spill(guard.lines, words)
    taken = guard.call(hook, *loop, len(words), pointer)
    return patch.value(guard.lines, f"icmp ne i32 {taken}, 0")


def store_words(guard: GuardWriter, store: RangeStore, number: str, outer: Sequence[str]) -> list[str] | None:
    """What describes a store to the recorder, see ``ranges.c``; ``None`` if it does not advance by constants.

    Args:
        guard: Where the code goes.
        store: The store.
        number: Symbol of the loop's round.
        outer: Symbols of the rounds of loops around it.
    """
    place = _first_and_stride(guard, store.address, number, outer)
    labels = [written_label(guard, label, number, outer) for label in store.labels]
    if place is None or any(label is None for label in labels):
        return None
    head = int(store.site) | len(labels) << 32 | store.words << 48
    for k, label in enumerate(store.labels):
        is_loaded = isinstance(label.source, Polynomial)
        head |= is_loaded << (_IS_COMPUTED if label.marks else _IS_LOADED + k)
        head |= isinstance(label.source, int) << (_IS_RESULT + k)
    known = [label for label in labels if label is not None]
    words = [str(signed(head)), place[0], place[1]]
    words += [label[0] for label in known] + [label[1] for label in known]
    for strides in zip(place[2:], *(label[2:] for label in known), strict=True):
        words += strides
    return words


def _first_and_stride(
    guard: GuardWriter, address: Polynomial, number: str, outer: Sequence[str]
) -> tuple[str, ...] | None:
    """The address in the first round and its change per round, then per round of the loops around.

    Changes are four times the bytes, and where the bytes are no multiple of four, the place in the word.
    """
    numbers = [number, *outer]
    strides = [address.coefficient(symbol) for symbol in numbers]
    first = address.without(numbers)
    for polynomial in (first, *strides):
        if polynomial is None or any(symbol.startswith("#") for symbol in polynomial.symbols):
            return None
    known = [stride for stride in strides if stride is not None]
    place = guard.value(first)
    is_whole = not any(c % _WORD_BYTES for stride in known for c in stride.terms.values())
    inside = "0" if is_whole else guard.compute("and", place, str(_WORD_BYTES - 1))
    changes = [guard.value(stride * Polynomial.number(_WORD_BYTES)) for stride in known]
    return place, *(c if is_whole else guard.compute("or", c, inside) for c in changes)


def written_label(
    guard: GuardWriter, label: RangeLabel, number: str, outer: Sequence[str]
) -> tuple[str, ...] | None:
    """The label of the first round, and its changes as those of addresses; ``None`` if it has none."""
    still = ("0",) * (1 + len(outer))
    if isinstance(label.source, int):
        return None if label.marks else (str(label.source), *still)
    if isinstance(label.source, str):
        value, strides = label.source, still
    else:
        place = _first_and_stride(guard, label.source, number, outer)
        if place is None:
            return None
        inside = guard.compute("and", place[0], str(ADDRESS_MASK))
        value, strides = guard.compute("lshr", inside, "2"), place[1:]
    for operation, operand in label.marks:
        if operation in _ROLES:
            value = guard.call(operation, value)
        else:
            value = guard.compute(operation, value, operand)
    return value, *strides
