"""Stores and sums of loops as families: what the recorder needs to count them all without running a hook.

Where the words that a loop looks at hold values of their own or copies of other arrays, the labels of a store
are known when the loop is entered: in round i they are those of the first round plus i times a constant, for
many rounds at once. If all that a loop does is storing values with such labels, the guard (:mod:`.repeats`)
offers its stores to the recorder when it is not known yet::

    preheader --> guard: known? --> offer (ca_family): counted? --> instrumented loop
                   | known                  | yes
                   +--> original loop <-----+

The same holds for a nest that stores in its innermost loop alone, or in one around loops that add up what is
stored there: such sums are known as well (:class:`NestReader`). Labels may be loaded everywhere.

Input: the events inserted into the loops. Output: the lines of the offer. Labels that are computed from
others get their value of the first round there as they do in the loop, with addresses in place of the shadow.

Code in front of a loop that finds out how its rounds and addresses will be.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass

from commanalyzer.program.ir import constants
from commanalyzer.program.ir.loops.induction import Monomial, Polynomial, Rounds, round_number
from commanalyzer.program.ir.model import IrType
from commanalyzer.recording.abi import EXACT, MAX_LABELS, WORD_MASK
from commanalyzer.recording.instrument.code import Computed, Event, FunctionPatch, HookCall, Joined, Spilled
from commanalyzer.recording.instrument.loops.loop_code import Numbers, computed_address

_MASK = (1 << 64) - 1


class GuardWriter:
    """Writes integer code to the end of a preheader; ``types`` are those of the symbols of polynomials."""

    def __init__(self, patch: FunctionPatch, types: Mapping[str, IrType]) -> None:
        self.lines: list[str] = []
        self.word_bytes = patch.word_bytes
        self._patch = patch
        self._types = types
        self._symbols: dict[str, str] = {}
        self._products: dict[Monomial, str] = {}
        self._hash = ""
        self._num_hashed = 0

    def value(self, polynomial: Polynomial) -> str:
        """Register or constant with the polynomial's value."""
        total = ""
        for monomial, coefficient in polynomial.terms.items():
            if not monomial:
                continue
            term = self._product(monomial)
            if coefficient != 1:
                term = self.compute("mul", term, str(coefficient))
            total = self.compute("add", total, term) if total else term
        if not total:
            return str(signed(polynomial.constant))
        return self.compute("add", total, str(signed(polynomial.constant))) if polynomial.constant else total

    def compute(self, operation: str, left: str, right: str) -> str:
        """``left operation right``."""
        return self._patch.compute(self.lines, operation, left, right)

    def call(self, hook: str, *arguments: str | int) -> str:
        """Result of a hook."""
        return self._patch.call(self.lines, hook, *arguments)

    def rounds(self, rounds: Rounds) -> str:
        """Rounds that a loop is going to make; 0 if that is not certain."""
        left, right, step = (self.value(p) for p in (rounds.left, rounds.right, rounds.step))
        if rounds.until_equal:
            return self.call("ca_rounds_until", left, right, step)
        return self.call("ca_rounds_below", left, right, step, int(rounds.is_unsigned))

    def smaller(self, left: str, right: str, *, wanted: bool = True) -> str:
        """The smaller (or else the larger) of two signed numbers."""
        predicate = "slt" if wanted else "sgt"
        bit = self._patch.compute(self.lines, f"icmp {predicate}", left, right)
        return self._patch.choose(self.lines, bit, left, right)

    def hashed(self, values: Iterable[str]) -> str:
        """Hash of all values given so far and these."""
        for value in values:
            self._num_hashed += 1
            term = self.compute("mul", value, str(signed(multiplier(self._num_hashed))))
            self._hash = self.compute("add", self._hash, term) if self._hash else term
        return self._hash

    def _product(self, monomial: Monomial) -> str:
        if monomial not in self._products:
            symbol = monomial[0]
            if symbol not in self._symbols:
                self._symbols[symbol] = as_i64(self._patch, self.lines, symbol, self._types[symbol])
            found = self._symbols[symbol]
            if len(monomial) > 1:
                found = self.compute("mul", found, self._product(monomial[1:]))
            self._products[monomial] = found
        return self._products[monomial]


def changes(patch: FunctionPatch, out: list[str], ranges: Iterable[tuple[str, str]]) -> str:
    """How often the shadow of addresses, from first to last bytes, has changed so far."""
    total = "0"
    for low, high in ranges:
        found = patch.call(out, "ca_changes", low, high)
        total = found if total == "0" else patch.compute(out, "add", total, found)
    return total


def as_i64(patch: FunctionPatch, out: list[str], name: str, type_: IrType) -> str:
    """A register's value as i64."""
    if type_.kind == "ptr":
        return patch.address(out, name)
    return name if type_.bits == 64 else patch.value(out, f"sext {type_} {name} to i64")


def signed(value: int) -> int:
    """The 64-bit pattern as LLVM prints it."""
    return constants.signed(value & _MASK, 64)


def multiplier(index: int) -> int:
    """Odd number with well mixed bits (splitmix64)."""
    mixed = (index * 0x9E3779B97F4A7C15) & _MASK
    mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _MASK
    return (mixed ^ (mixed >> 31)) | 1


_ROLES = frozenset({"ca_control", "ca_address"})
_MOST_AROUND, _MOST_INNER, _MOST_LOOPS = 5, 4, 6  # loops around a store, those of terms, and both
_IS_LOADED, _IS_RESULT, _WORDS = 40, 48, 56  # bits of what an entry is described by, see families.c
_INITIAL, _INNER_LOOPS, _IS_SUM, _IS_COMPUTED = 56, 60, 62, 63
_MOST_INITIAL = 8
_INEXACT = str(signed(~EXACT))


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


@dataclass(frozen=True, slots=True)
class RoundSum:
    """A reduction that begins and ends in a round of the loops around it.

    Those of ``loops`` (headers) add its terms, one in each round of the innermost, which is the last. Labels
    are those of the value that it begins with, and of a term.
    """

    site: str
    loops: tuple[str, ...]
    initial: tuple[Label, ...]
    labels: tuple[Label, ...]


Entry = Store | RoundSum


class NestReader:
    """Reads the lines inserted into a nest, in the order in which they are executed.

    Of the nest, ``skipped`` blocks are not executed. Reductions and stores are in the order of their rows.
    """

    def __init__(self, numbers: Numbers, skipped: Container[str]) -> None:
        self.entries: list[Entry] = []
        self._numbers, self._skipped = numbers, skipped
        self._addresses: dict[str, Polynomial] = {}  # by register, as labels
        self._labels: dict[str, Label] = {}
        self._spilled: list[str] = []  # labels that the next call finds in memory
        self._initial: dict[str, tuple[Label, ...]] = {}  # by storage
        self._terms: dict[str, tuple[tuple[str, ...], tuple[Label, ...]] | None] = {}  # since its reset

    def read(self, line: str, inside: Sequence[str], *, is_around: bool) -> bool:
        """Take a line in loops ``inside`` those that store, around or in these; false if it does not fit."""
        is_stored, known = not inside and not is_around, len(self.entries)
        if isinstance(line, HookCall) and line.what.startswith("ca_term_"):
            return self._add(line, tuple(inside))
        if isinstance(line, HookCall) and line.what.startswith("ca_accumulator_"):
            return is_stored and self._begin_or_end(line, line.uses)
        return isinstance(line, Event) and self._take(line) and (is_stored or len(self.entries) == known)

    def _take(self, line: Event) -> bool:
        """Take a line; false if what it does is more than storing values with such labels."""
        address = computed_address(line, self._numbers, self._addresses)
        if address is not None:
            self._addresses[line.result] = address
            return True
        if isinstance(line, Joined):
            ways = line.besides(self._skipped)
            self._labels[line.result] = self._label(ways[0])
            return len(ways) == 1
        if isinstance(line, Computed):
            kept = {"and": WORD_MASK, "or": 0}.get(line.what)  # of the word
            is_mark = line.constant is not None and line.constant & WORD_MASK == kept
            return is_mark and self._mark(line.result, line.uses[0], (line.what, line.uses[1]))
        if isinstance(line, Spilled):
            self._spilled += line.uses
            return True
        return isinstance(line, HookCall) and self._call(line)

    def _call(self, call: HookCall) -> bool:
        hook, arguments, result = call.what, call.uses, call.result
        if hook == "ca_count_block":
            return True
        if hook == "ca_load" and arguments[0] in self._addresses:
            self._labels[result] = Label(self._addresses[arguments[0]])
            return True
        if hook in _ROLES:
            return self._mark(result, arguments[0], (hook, ""))
        is_row = hook.startswith("ca_row_") and hook != "ca_row_many"
        if (hook != "ca_store_unknown" and not is_row) or arguments[1] not in self._addresses:
            return False
        labels = tuple(map(self._label, arguments[3:])) if is_row else self._from_memory()
        self.entries.append(Store(arguments[0], self._addresses[arguments[1]], int(arguments[2]), labels))
        return is_row or all(isinstance(label.source, int) for label in labels)  # of some terms: no copies

    def _label(self, name: str) -> Label:
        return self._labels.get(name, Label(name))

    def _from_memory(self) -> tuple[Label, ...]:
        names, self._spilled = self._spilled, []
        return tuple(map(self._label, names))

    def _mark(self, result: str, name: str, mark: tuple[str, str]) -> bool:
        label = self._label(name)
        is_kept = isinstance(label.source, int) and mark == ("and", _INEXACT)  # no copy of a value
        self._labels[result] = label if is_kept else Label(label.source, (*label.marks, mark))
        return True

    def _begin_or_end(self, line: HookCall, arguments: Sequence[str]) -> bool:
        if line.what == "ca_accumulator_reset":
            initial = self._from_memory()
            self._terms[arguments[0]], self._initial[arguments[0]] = None, initial
            return len(initial) == int(arguments[1]) <= _MOST_INITIAL and _are_plain(initial)
        terms = self._terms.pop(arguments[0], None)
        if line.what != "ca_accumulator_close" or terms is None:
            return False
        number = sum(isinstance(entry, RoundSum) for entry in self.entries)
        self._labels[line.result] = Label(number)
        self.entries.append(RoundSum(arguments[1], terms[0], self._initial[arguments[0]], terms[1]))
        return True

    def _add(self, line: HookCall, inside: tuple[str, ...]) -> bool:
        storage, *names = line.uses
        if line.what == "ca_term_many" or not inside or self._terms.get(storage, ()) is not None:
            return False  # not begun, or the second term of a round
        self._terms[storage] = inside, (labels := tuple(map(self._label, names)))
        return _are_plain(labels)


def _are_plain(labels: Iterable[Label]) -> bool:
    """Loaded, or registers from outside, as they are or marked as copies."""
    marks = (operation for label in labels for operation, _ in label.marks)
    return all(m == "or" for m in marks) and not any(isinstance(label.source, int) for label in labels)


def offer(
    patch: FunctionPatch,
    guard: GuardWriter,
    entries: Sequence[Entry],
    headers: Sequence[str],
    made: Mapping[str, str],
    loop: tuple[str, str, str],
) -> str | None:
    """Write the offer to the recorder; the register that says whether it was taken, if there can be one.

    There is at least one store. ``headers`` are of the loops around the stores and reductions, the outermost
    first, ``made`` registers with the rounds of each loop, by header, and ``loop`` registers with the nest's
    hash, changes of the shadow and rounds of all loops, multiplied.
    """
    inner = max(len(entry.loops) if isinstance(entry, RoundSum) else 0 for entry in entries)
    if len(headers) > _MOST_AROUND or inner > _MOST_INNER or len(headers) + inner > _MOST_LOOPS:
        return None
    around = [round_number(header) for header in headers]
    words = [str(len(headers)), *(made[header] for header in headers)]
    try:
        for entry in entries:
            if isinstance(entry, Store):
                words += _store_words(guard, entry, around)
            else:
                words += _sum_words(guard, entry, around, made)
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
    """What describes a store to the recorder, see ``families.c``; raises _UnsteadyError if nothing can."""
    words = list(_first_and_strides(guard, store.address, around))
    head = int(store.site) | len(store.labels) << 32 | store.words << _WORDS
    for k, label in enumerate(store.labels):
        words += _written_label(guard, label, around)
        is_loaded = isinstance(label.source, Polynomial)
        head |= is_loaded << (_IS_COMPUTED if {mark for mark, _ in label.marks} - _ROLES else _IS_LOADED + k)
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


def _sum_words(
    guard: GuardWriter, sum_: RoundSum, around: Sequence[str], made: Mapping[str, str]
) -> list[str]:
    """What describes a sum to the recorder, see ``families.c``."""
    head = int(sum_.site) | len(sum_.labels) << 32 | len(sum_.initial) << _INITIAL | 1 << _IS_SUM
    head |= len(sum_.loops) - 1 << _INNER_LOOPS
    words = [made[header] for header in sum_.loops]
    for k, label in enumerate((*sum_.initial, *sum_.labels)):
        inner = map(round_number, sum_.loops if k >= len(sum_.initial) else ())
        words += _written_label(guard, label, [*around, *inner])
        head |= isinstance(label.source, Polynomial) << (_IS_LOADED + k)
    return [str(signed(head)), *words]
