"""Integers and addresses inside a loop nest as polynomials of its invariants and round numbers.

Input: a function, its control flow and a loop. Output: per register a :class:`Polynomial` whose symbols are
registers from outside the loop and, per loop of the nest, the number of its current round (0, 1, ...); and
per loop what decides how many rounds it makes. Numbers are exact modulo 2^64; narrower integers are taken as
signed and must not wrap (``nsw``), so that their polynomials are exact, too.

Branches that only control how often a loop runs.

LLVM rotates loops: ``for (i = 0; i < n; i++)`` becomes ``if (0 < n) do ... while (++i < n)``. The branch in
front is trip control like the one at the end, although it looks like one that selects between two values
behind the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from commanalyzer.program.ir.cfg import ControlFlow, Loop, reached
from commanalyzer.program.ir.model import Function, Instruction, IrType, Operand
from commanalyzer.program.ir.types import address_steps

Monomial = tuple[str, ...]  # sorted symbols, () for the constant
MAX_MONOMIALS = 16


@dataclass(frozen=True, slots=True)
class Polynomial:
    """A sum of products of symbols: the coefficient of each monomial, none of them 0."""

    terms: Mapping[Monomial, int] = field(default_factory=dict)

    @staticmethod
    def of(symbol: str) -> Polynomial:
        """The polynomial that is one symbol."""
        return Polynomial({(symbol,): 1})

    @staticmethod
    def number(value: int) -> Polynomial:
        """A constant."""
        return Polynomial({(): value} if value else {})

    def __add__(self, other: Polynomial) -> Polynomial:
        return _collected([*self.terms.items(), *other.terms.items()])

    def __sub__(self, other: Polynomial) -> Polynomial:
        return self + other * Polynomial.number(-1)

    def __mul__(self, other: Polynomial) -> Polynomial:
        return _collected(
            (tuple(sorted(a + b)), x * y) for a, x in self.terms.items() for b, y in other.terms.items()
        )

    @property
    def constant(self) -> int:
        """Coefficient of the constant monomial."""
        return self.terms.get((), 0)

    @property
    def is_constant(self) -> bool:
        """There are no symbols."""
        return not any(self.terms)

    @property
    def symbols(self) -> frozenset[str]:
        """All symbols."""
        return frozenset(symbol for monomial in self.terms for symbol in monomial)

    def without_constant(self) -> Polynomial:
        """The polynomial without its constant monomial."""
        return Polynomial({m: c for m, c in self.terms.items() if m})

    def coefficient(self, symbol: str) -> Polynomial | None:
        """Factor of ``symbol``; ``None`` if the polynomial is not linear in it."""
        if any(monomial.count(symbol) > 1 for monomial in self.terms):
            return None
        return Polynomial(
            {tuple(s for s in m if s != symbol): c for m, c in self.terms.items() if symbol in m}
        )

    def without(self, symbols: Iterable[str]) -> Polynomial:
        """The polynomial with the ``symbols`` set to 0."""
        gone = frozenset(symbols)
        return Polynomial({m: c for m, c in self.terms.items() if not gone & set(m)})


def _collected(terms: Iterable[tuple[Monomial, int]]) -> Polynomial:
    total: dict[Monomial, int] = {}
    for monomial, coefficient in terms:
        total[monomial] = total.get(monomial, 0) + coefficient
    return Polynomial({m: c for m, c in total.items() if c})


_DECIMAL = frozenset("0123456789-")
_SIGNED = {"slt": (1, 0), "sle": (1, 1), "sgt": (-1, 0), "sge": (-1, 1)}
_UNSIGNED = {"ult": (1, 0), "ule": (1, 1)}
_OPPOSITE = {
    "eq": "ne", "ne": "eq", "slt": "sge", "sge": "slt", "sgt": "sle", "sle": "sgt",
    "ult": "uge", "uge": "ult", "ugt": "ule", "ule": "ugt",
}  # fmt: skip


def round_number(header: str) -> str:
    """Symbol of the number of the current round of the loop at ``header``."""
    return f"#{header}"


@dataclass(frozen=True, slots=True)
class Rounds:
    """What decides how many rounds a loop makes.

    Before its first round ends, ``left`` and ``right`` are compared; ``left - right`` grows by ``step`` per
    round, which is not 0 if it is constant. All three are polynomials of invariants. The loop ends when the
    two are equal (``until_equal``), otherwise when ``left < right`` no longer holds.
    """

    left: Polynomial
    right: Polynomial
    step: Polynomial
    until_equal: bool
    is_unsigned: bool = False

    @property
    def constant(self) -> int | None:
        """Number of rounds, where it is known without running the program."""
        if not (self.left.is_constant and self.right.is_constant and self.step.is_constant):
            return None
        distance = self.right.constant - self.left.constant
        if self.until_equal and distance % self.step.constant:
            return None
        return 1 + max(0, -(-distance // self.step.constant))


@dataclass(frozen=True, slots=True)
class LoopEnds:
    """Only block in front of a loop, which goes nowhere else; only one that leaves it, and where to."""

    preheader: str
    exiting: str
    exit: str


def loop_ends(cfg: ControlFlow, loop: Loop) -> LoopEnds | None:
    """Edges of a loop; ``None`` if there are several of a kind."""
    outside = [p for p in cfg.predecessors[loop.header] if p not in loop.blocks]
    exiting = [b for b in loop.blocks if any(s not in loop.blocks for s in cfg.successors[b])]
    if len(outside) != 1 or len(cfg.successors[outside[0]]) != 1 or len(loop.latches) != 1:
        return None
    if len(exiting) != 1 or len(loop.exits) != 1 or len(cfg.predecessors[loop.exits[0]]) != 1:
        return None
    return LoopEnds(outside[0], exiting[0], loop.exits[0])


class NestNumbers:
    """Polynomials of the registers in one loop nest, which its outermost loop stands for."""

    def __init__(self, function: Function, cfg: ControlFlow, nest: Loop) -> None:
        self._cfg = cfg
        self._nest = nest
        self._blocks = {b.label: b for b in function.blocks if b.label in nest.blocks}
        self._defined = {
            i.name: (i, b.label) for b in self._blocks.values() for i in b.instructions if i.name
        }
        self._known: dict[str, Polynomial | None] = {}
        self._standing: dict[str, Polynomial | None] = {}  # phis that are being followed
        self.types: dict[str, IrType] = {}  # of symbols

    def polynomial(self, operand: Operand) -> Polynomial | None:
        """Value of an integer or pointer; ``None`` if it is no polynomial."""
        text = operand.text
        if operand.type.kind == "int" and operand.type.bits <= 64 and set(text) <= _DECIMAL:
            return Polynomial.number(int(text))
        if operand.type.kind not in ("int", "ptr") or operand.type.bits > 64:
            return None
        if text not in self._defined:
            return self._symbol(operand)
        if text not in self._known:
            self._known[text] = None  # while it is computed: what depends on itself is no polynomial
            instruction, block = self._defined[text]
            found = self._of_instruction(instruction, block)
            is_small = found is not None and len(found.terms) <= MAX_MONOMIALS
            self._known[text] = found if is_small else None
        return self._known[text]

    def decides(self, condition: str) -> bool:
        """A condition is known in advance."""
        return False

    def rounds(self, loop: Loop, ends: LoopEnds) -> Rounds | None:
        """What decides how many rounds ``loop`` makes, if only invariants of the nest do."""
        terminator = self._blocks[ends.exiting].terminator
        if terminator.opcode != "br" or len(terminator.targets) != 2:
            return None
        compare, _ = self._defined.get(terminator.operands[0].text, (None, ""))
        if compare is None or compare.opcode != "icmp" or compare.predicate not in _OPPOSITE:
            return None
        stays_if_true = terminator.targets[1] == ends.exit
        predicate = compare.predicate if stays_if_true else _OPPOSITE[compare.predicate]
        left, right = (self.polynomial(o) for o in compare.operands)
        if left is None or right is None:
            return None
        return _rounds(left, right, predicate, round_number(loop.header))

    def _symbol(self, operand: Operand) -> Polynomial | None:
        text = operand.text
        if text == "null":
            return Polynomial()
        if text[0] not in "%@" or " " in text or text[1:2] == '"':
            return None
        self.types[text] = operand.type
        return Polynomial.of(text)

    def _of_instruction(self, instruction: Instruction, block: str) -> Polynomial | None:
        opcode = instruction.opcode
        if opcode == "phi":
            return self._of_phi(instruction, block)
        if opcode == "getelementptr":
            return self._of_address(instruction)
        if opcode == "sext" or (opcode == "zext" and "nneg" in instruction.flags):
            return self.polynomial(instruction.operands[0])
        if instruction.type.kind != "int" or (instruction.type.bits != 64 and "nsw" not in instruction.flags):
            return None
        return self._of_arithmetic(instruction)

    def _of_arithmetic(self, instruction: Instruction) -> Polynomial | None:
        opcode = instruction.opcode
        if opcode not in ("add", "sub", "mul", "shl") and not (
            opcode == "or" and "disjoint" in instruction.flags
        ):
            return None
        left, right = (self.polynomial(o) for o in instruction.operands)
        if left is None or right is None:
            return None
        if opcode == "mul":
            return left * right
        if opcode == "shl":
            shift = right.constant
            return left * Polynomial.number(1 << shift) if right.is_constant and 0 <= shift < 63 else None
        return left - right if opcode == "sub" else left + right

    def _of_address(self, instruction: Instruction) -> Polynomial | None:
        if instruction.type.kind != "ptr" or instruction.element_type is None:
            return None
        total = self.polynomial(instruction.operands[0])
        for operand, size, offset in address_steps(instruction.element_type, instruction.operands[1:]):
            index = self.polynomial(operand)
            if total is None or index is None:
                return None
            total += index * Polynomial.number(size) + Polynomial.number(offset)
        return total

    def _of_phi(self, phi: Instruction, block: str) -> Polynomial | None:
        """First value, and the same change in every round."""
        loop = self._cfg.loops.get(block)
        if loop is None or len(phi.incoming) != 2 or len(loop.latches) != 1:
            return None
        sides = dict(zip(phi.incoming, phi.operands, strict=True))
        following = sides.pop(loop.latches[0], None)
        start = self.polynomial(next(iter(sides.values())))
        if following is None or start is None:
            return None
        saved = self._known  # what is derived while the register stands for itself is not kept
        self._standing[phi.name] = Polynomial.of(phi.name)
        self._known = dict(self._standing)
        behind = self.polynomial(following)
        self._known = saved
        del self._standing[phi.name]
        if behind is None:
            return None
        step = behind - Polynomial.of(phi.name)
        if phi.name in step.symbols or any(symbol.startswith("#") for symbol in step.symbols):
            return None
        return start + step * Polynomial.of(round_number(block))


def _rounds(left: Polynomial, right: Polynomial, predicate: str, number: str) -> Rounds | None:
    """Rounds of a loop that goes on while ``left predicate right``."""
    step = (left - right).coefficient(number)
    if step is None or not step.terms:
        return None
    first, second = left.without([number]), right.without([number])
    if any(symbol.startswith("#") for symbol in (first - second).symbols | step.symbols):
        return None
    is_moving = any(symbol.startswith("#") for symbol in first.symbols)  # both ends alike
    if is_moving and predicate in _UNSIGNED:
        return None
    if is_moving:
        first, second = first - second, Polynomial.number(0)
    if predicate == "ne":
        return Rounds(first, second, step, True)
    direction, inclusive = (_SIGNED | _UNSIGNED).get(predicate, (0, 0))
    if not direction or number in right.symbols:
        return None
    sign = Polynomial.number(direction)
    step = step * sign
    if step.is_constant and step.constant < 0:
        return None
    second = second * sign + Polynomial.number(inclusive)
    return Rounds(first * sign, second, step, False, predicate in _UNSIGNED)


_ENDS = frozenset({"load", "phi", "atomicrmw", "cmpxchg", "alloca", "invoke", "va_arg", "landingpad"})


def is_computed_place(pointer: str, made_by: Callable[[str], Instruction | None]) -> bool:
    """Whether a place depends on a number, or is one of several; ``made_by`` says what defines a name."""
    made = made_by(pointer)
    if made is None or made.opcode not in ("getelementptr", "phi", "select", "load"):
        return False
    is_computed = made.opcode in ("phi", "select") or any(o.is_local for o in made.operands[1:])
    return is_computed or is_computed_place(made.operands[0].text, made_by)


def loop_guards(function: Function, cfg: ControlFlow) -> frozenset[str]:
    """Blocks whose branch asks whether the loop behind it runs at all.

    One side leads straight to a loop, and everything that the condition is computed from also decides, from
    the start of its counters on, when that loop ends.
    """
    definitions = {i.name: i for i in function.instructions if i.name}
    terminators = {block.label: block.terminator for block in function.blocks}
    found = set()
    for block, terminator in terminators.items():
        if terminator.opcode != "br" or len(set(terminator.targets)) != 2:
            continue
        asked = _leaves([terminator.operands[0].text], definitions)
        for target in terminator.targets:
            loop = _loop_behind(cfg, target)
            if loop and block not in loop.blocks and asked <= _trip_leaves(loop, definitions, terminators):
                found.add(block)
    return frozenset(found)


def _loop_behind(cfg: ControlFlow, block: str) -> Loop | None:
    """The loop that ``block`` leads to without any further decision."""
    while not cfg.is_loop_header(block):
        if len(cfg.successors[block]) != 1 or len(cfg.predecessors[block]) != 1:
            return None
        block = cfg.successors[block][0]
    return cfg.loops[block]


def _trip_leaves(
    loop: Loop, definitions: Mapping[str, Instruction], terminators: Mapping[str, Instruction]
) -> frozenset[str]:
    conditions = [
        terminators[block].operands[0].text
        for block in loop.blocks
        if terminators[block].operands and any(t not in loop.blocks for t in terminators[block].targets)
    ]
    leaves = _leaves(conditions, definitions)
    starts = [
        operand.text
        for leaf in leaves
        if leaf in definitions and definitions[leaf].opcode == "phi"
        for operand, block in zip(definitions[leaf].operands, definitions[leaf].incoming, strict=True)
        if block not in loop.blocks
    ]
    return leaves | _leaves(starts, definitions)


def _leaves(names: Iterable[str], definitions: Mapping[str, Instruction]) -> frozenset[str]:
    """Registers that ``names`` are computed from: loaded, passed, chosen, or results of calls."""

    def is_leaf(name: str) -> bool:
        made = definitions.get(name)
        if made is None or made.opcode in _ENDS:
            return True
        return made.opcode == "call" and not made.callee.startswith("@llvm.")

    def operands(name: str) -> list[str]:
        return [] if is_leaf(name) else [o.text for o in definitions[name].operands if o.is_local]

    return frozenset(filter(is_leaf, reached((n for n in names if n.startswith("%")), operands)))
