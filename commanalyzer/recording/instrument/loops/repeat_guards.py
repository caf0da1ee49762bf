"""Code in front of a loop that finds out how its rounds and addresses will be, see :mod:`repeats`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from commanalyzer.program.ir import constants
from commanalyzer.program.ir.loops.induction import Monomial, Polynomial, Rounds
from commanalyzer.program.ir.model import IrType
from commanalyzer.recording.instrument.code import FunctionPatch

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
