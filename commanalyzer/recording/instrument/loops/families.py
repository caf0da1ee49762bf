"""Stores and sums of loops as families: what the recorder needs to count them all without running a hook.

Where the words that a loop looks at hold values of their own or copies of other arrays, the labels of a store
are known when the loop is entered: in round i they are those of the first round plus i times a constant, for
many rounds at once. If all that a loop does is storing values with such labels (:class:`LineReader`), the
guard (:mod:`.repeats`) offers its stores to the recorder when it is not known yet::

    preheader --> guard: known? --> offer (ca_family): counted? --> instrumented loop
                   | known                  | yes
                   +--> original loop <-----+

The same holds for a nest that stores in its innermost loop alone; labels may be loaded in those around it.
For each j, sums over k that are stored are known as well: the guard of the outer loop offers all of them, or
that of the outermost one where several loops lie around the sums (:class:`NestReader`).

Input: the events inserted into the loops. Output: the lines of the offer. Labels that are computed from
others get their value of the first round there as they do in the loop, with addresses in place of the shadow.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from commanalyzer.program.ir.cfg import Loop
from commanalyzer.program.ir.loops.induction import Polynomial, round_number
from commanalyzer.recording.abi import MAX_LABELS, WORD_MASK
from commanalyzer.recording.instrument.code import Computed, Event, FunctionPatch, HookCall, Spilled
from commanalyzer.recording.instrument.loops.loop_code import Numbers, computed_address
from commanalyzer.recording.instrument.loops.repeat_guards import GuardWriter, signed

_ROLES = frozenset({"ca_control", "ca_address"})
_MOST_AROUND = 4  # loops around sums
_IS_LOADED, _IS_RESULT, _WORDS = 40, 48, 56  # bits of what an entry is described by, see families.c
_INITIAL, _IS_SUM, _IS_COMPUTED = 56, 62, 63
_MOST_INITIAL = 8


@dataclass(frozen=True, slots=True)
class Label:
    """A label: of the word at an address, or a register from outside the loop; then what marks it.

    The number of a reduction stands for its result.
    """

    source: Polynomial | str | int
    marks: tuple[tuple[str, str], ...] = ()  # operations on bits above the word: (and|or|hook, number)


@dataclass(frozen=True, slots=True)
class Store:
    """A store: its site, address, size and labels."""

    site: str
    address: Polynomial
    words: int
    labels: tuple[Label, ...]


@dataclass(slots=True)
class LineReader:
    """Reads the lines inserted into a block whose addresses are known.

    Attributes:
        numbers: Addresses in the loop.
        addresses: By register.
        labels: By register.
        stores: In their order.
    """

    numbers: Numbers
    addresses: dict[str, Polynomial] = field(default_factory=dict)
    labels: dict[str, Label] = field(default_factory=dict)
    stores: list[Store] = field(default_factory=list)

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
            self.labels[result] = Label(self.addresses[arguments[0]])
            return True
        if hook in _ROLES:
            return self._mark(result, arguments[0], (hook, ""))
        if hook.startswith("ca_row_") and hook != "ca_row_many" and arguments[1] in self.addresses:
            labels = tuple(self.label(name) for name in arguments[3:])
            self.stores.append(Store(arguments[0], self.addresses[arguments[1]], int(arguments[2]), labels))
            return True
        return False

    def label(self, name: str) -> Label:
        """The label in a register."""
        return self.labels.get(name, Label(name))

    def _mark(self, result: str, name: str, mark: tuple[str, str]) -> bool:
        label = self.label(name)
        self.labels[result] = Label(label.source, (*label.marks, mark))
        return True


def _is_above_word(operation: str, number: int) -> bool:
    """Bits of a word stay as they are."""
    return number & WORD_MASK == (WORD_MASK if operation == "and" else 0)


@dataclass(frozen=True, slots=True)
class RoundSum:
    """A reduction that begins and ends in a round of the loops around it.

    Attributes:
        site: Of the value that it makes.
        header: Inner loop that adds its terms, one per round.
        initial: Labels of the value that it begins with.
        labels: Of a term.
    """

    site: str
    header: str
    initial: tuple[Label, ...]
    labels: tuple[Label, ...]


Entry = Store | RoundSum


class NestReader:
    """Reads the lines inserted into a nest, in the order in which they are executed.

    Args:
        numbers: Addresses in the nest.
        has_sums: Inner loops may add terms; otherwise all that is stored is known as it is.

    Attributes:
        entries: Reductions and stores, in the order of their rows.
    """

    def __init__(self, numbers: Numbers, *, has_sums: bool) -> None:
        self._has_sums = has_sums
        self.entries: list[Entry] = []
        self._numbers = numbers
        self._outer = LineReader(numbers)
        self._inner: dict[str, LineReader] = {}  # by header
        self._spilled: list[str] = []  # labels that the next call finds in memory
        self._initial: dict[str, tuple[Label, ...]] = {}  # by storage
        self._terms: dict[str, tuple[str, tuple[Label, ...]] | None] = {}  # by storage, since its reset

    def read_around(self, line: str) -> bool:
        """Take a line of a loop around the outer one; false if it does more than loading."""
        known = len(self._outer.stores)
        return self._outer.read(line) and len(self._outer.stores) == known

    def read_outer(self, line: str) -> bool:
        """Take a line of the outer loop; false if it does more than beginning, ending and storing sums."""
        if isinstance(line, Spilled):
            self._spilled += line.uses
            return self._has_sums
        of_sums = ("ca_accumulator_", "ca_term_") if self._has_sums else ()
        if not isinstance(line, HookCall) or not line.what.startswith(of_sums):
            known = len(self._outer.stores)
            taken = self._outer.read(line)
            self.entries += (fresh := self._outer.stores[known:])
            return taken and all(self._is_outer(store.labels) for store in fresh)
        arguments = line.uses
        if line.what == "ca_accumulator_reset":
            return self._begin(arguments[0], int(arguments[1]))
        terms = self._terms.pop(arguments[0], None)
        if line.what != "ca_accumulator_close" or terms is None:
            return False
        number = sum(isinstance(entry, RoundSum) for entry in self.entries)
        self._outer.labels[line.result] = Label(number)
        header, labels = terms
        self.entries.append(RoundSum(arguments[1], header, self._initial[arguments[0]], labels))
        return True

    def _begin(self, storage: str, count: int) -> bool:
        initial = tuple(self._outer.label(name) for name in self._spilled)
        self._spilled = []
        self._terms[storage], self._initial[storage] = None, initial
        return len(initial) == count <= _MOST_INITIAL and self._is_outer(initial) and _are_plain(initial)

    def read_inner(self, line: str, header: str) -> bool:
        """Take a line of the inner loop at ``header``; false if it does more than adding terms."""
        reader = self._inner.setdefault(header, LineReader(self._numbers))
        if not isinstance(line, HookCall) or not line.what.startswith("ca_term_"):
            return reader.read(line) and not reader.stores
        storage, *names = line.uses
        if line.what == "ca_term_many" or self._terms.get(storage, ()) is not None:
            return False  # not begun, or the second term of a round
        labels = tuple(reader.labels.get(name) or self._outer.label(name) for name in names)
        self._terms[storage] = header, labels
        return _are_plain(labels)

    def _is_outer(self, labels: Iterable[Label]) -> bool:
        """No label is that of an inner loop's last round."""
        registers = {label.source for label in labels if isinstance(label.source, str)}
        return all(registers.isdisjoint(reader.labels) for reader in self._inner.values())


def _are_plain(labels: Iterable[Label]) -> bool:
    """Loaded, or registers from outside, as they are."""
    return all(not label.marks and not isinstance(label.source, int) for label in labels)


def loops_around(loops: Mapping[str, Loop], outermost: str, *, has_sums: bool) -> list[str]:
    """Loops one in the other, the outermost first, up to the innermost one, or to the one around sums.

    None if there is no such chain, or if it is too long. Loops around sums have nothing but innermost loops
    inside the last of them.
    """
    inside: dict[str, list[str]] = {header: [] for header in loops}
    for header, inner in loops.items():
        if header != outermost and inner.parent is not None:
            inside[inner.parent].append(header)
    around = [outermost]
    while any(inside[header] or not has_sums for header in inside[around[-1]]):
        if len(inside[around[-1]]) > 1:
            return []
        around += inside[around[-1]]
    if has_sums and not inside[around[-1]]:
        return []
    return around if len(around) <= _MOST_AROUND + (not has_sums) else []


def offer(
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
        headers: Of the loops around the stores and reductions, the outermost first.
        made: Registers with the rounds of each loop, by header.
        loop: Registers with the nest's hash, changes of the shadow and rounds of all loops, multiplied.
    """
    around = [round_number(header) for header in headers]
    words = [str(len(headers)), *(made[header] for header in headers)]
    try:
        for entry in entries:
            if isinstance(entry, Store):
                words += _store_words(guard, entry, around)
            else:
                words += _sum_words(guard, entry, around, made[entry.header])
    except _UnsteadyError:
        return None
    if len(words) > MAX_LABELS:
        return None
    pointer = patch.spill(guard.lines, words)
    taken = guard.call("ca_family", *loop, len(words), pointer)
    return patch.value(guard.lines, f"icmp ne i32 {taken}, 0")


class _UnsteadyError(Exception):
    """An address or label does not change by the same in every round."""


def _store_words(guard: GuardWriter, store: Store, around: Sequence[str]) -> list[str]:
    """What describes a store to the recorder, see ``families.c``.

    Args:
        guard: Where the code goes.
        store: The store.
        around: Symbols of the rounds of its loops.

    Raises:
        _UnsteadyError: If it cannot be described.
    """
    words = list(_first_and_strides(guard, store.address, around))
    head = int(store.site) | len(store.labels) << 32 | store.words << _WORDS
    for k, label in enumerate(store.labels):
        words += _written_label(guard, label, around)
        is_loaded = isinstance(label.source, Polynomial)
        head |= is_loaded << (_IS_COMPUTED if label.marks else _IS_LOADED + k)
        head |= isinstance(label.source, int) << (_IS_RESULT + k)
    return [str(signed(head)), *words]


def _first_and_strides(guard: GuardWriter, address: Polynomial, numbers: Sequence[str]) -> tuple[str, ...]:
    """The address in the first round and its change per round, then per round of the loops around.

    Changes are the bytes times those of a word; where they are no multiple of these, with the place in it.
    """
    found = [address.coefficient(symbol) for symbol in numbers]
    first, strides = address.without(numbers), [stride for stride in found if stride is not None]
    symbols = (symbol for polynomial in (first, *strides) for symbol in polynomial.symbols)
    if len(strides) < len(found) or any(symbol.startswith("#") for symbol in symbols):
        raise _UnsteadyError
    place, word_bytes = guard.value(first), guard.word_bytes
    is_whole = not any(c % word_bytes for stride in strides for c in stride.terms.values())
    inside = "0" if is_whole else guard.compute("and", place, str(word_bytes - 1))
    changes = [guard.value(stride * Polynomial.number(word_bytes)) for stride in strides]
    return place, *(c if is_whole else guard.compute("or", c, inside) for c in changes)


def _written_label(guard: GuardWriter, label: Label, numbers: Sequence[str]) -> tuple[str, ...]:
    """The label of the first round, and its changes as those of addresses."""
    value, strides = str(label.source), ("0",) * len(numbers)
    if isinstance(label.source, int) and label.marks:
        raise _UnsteadyError  # the result of a reduction is known later
    if isinstance(label.source, Polynomial):
        found = _first_and_strides(guard, label.source, numbers)
        bits = guard.word_bytes.bit_length() - 1
        inside = guard.compute("and", found[0], str((WORD_MASK + 1 << bits) - 1))
        value, strides = guard.compute("lshr", inside, str(bits)), found[1:]
    for operation, operand in label.marks:
        if operation in _ROLES:
            value = guard.call(operation, value)
        else:
            value = guard.compute(operation, value, operand)
    return value, *strides


def _sum_words(guard: GuardWriter, sum_: RoundSum, around: Sequence[str], terms: str) -> list[str]:
    """What describes a sum to the recorder, see ``families.c``."""
    head = int(sum_.site) | len(sum_.labels) << 32 | len(sum_.initial) << _INITIAL | 1 << _IS_SUM
    words = [terms]
    for k, label in enumerate((*sum_.initial, *sum_.labels)):
        inner = [round_number(sum_.header)] if k >= len(sum_.initial) else []
        words += _written_label(guard, label, [*around, *inner])
        head |= isinstance(label.source, Polynomial) << (_IS_LOADED + k)
    return [str(signed(head)), *words]
