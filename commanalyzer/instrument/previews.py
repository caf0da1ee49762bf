"""Previews: loops whose addresses depend on index arrays, run once without their arithmetic.

Where the addresses and branches of a loop nest are no polynomials, but are computed from integers and
pointers that the nest loads and does not write, a copy of the nest that does nothing else runs first. It
hashes what it loads and notes the lowest and highest address of every access; then the loop's effect may be
known as in :mod:`commanalyzer.instrument.repeats`, with the executions of its blocks.

A preview does what the loop is going to do: no store of the nest can change what the preview loads, by the
types of the accesses (:mod:`commanalyzer.ir.access_types`). A time loop is not previewed as a whole: its
rounds repeat, it does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from commanalyzer.instrument.code import FunctionPatch, RepeatedLoop
from commanalyzer.instrument.loop_code import TOKEN, LoopCode, loop_code
from commanalyzer.instrument.loop_copies import guard_of, look_of, suffixed
from commanalyzer.instrument.repeat_guards import GuardWriter, signed
from commanalyzer.instrument.values import FunctionValues
from commanalyzer.ir.access_types import AccessTypes
from commanalyzer.ir.cfg import Loop
from commanalyzer.ir.induction import LoopEnds, NestNumbers, loop_ends, round_number
from commanalyzer.ir.model import Block, Instruction, IrType, Operand
from commanalyzer.ir.polynomials import Polynomial

_MAX_TRACKED = 96
_MAX_COUNTERS = 256
_COMPUTING = frozenset(
    {
        "phi", "add", "sub", "mul", "shl", "lshr", "ashr", "and", "or", "xor", "udiv", "sdiv", "urem", "srem",
        "icmp", "select", "sext", "zext", "trunc", "getelementptr", "ptrtoint", "inttoptr", "freeze", "load",
    }
)  # fmt: skip
_INTEGER_CALLS = ("@llvm.smax.", "@llvm.smin.", "@llvm.umax.", "@llvm.umin.", "@llvm.abs.")
_HASH, _STEP, _FIRST_TRACKED = 0, 1, 2  # slots of a preview's storage
_STRIDE = signed(0x9E3779B97F4A7C15)
_MIXER = signed(0xD6E8FEB86659FD93)
_LEAST, _MOST = -(1 << 63), (1 << 63) - 1

Text = Callable[[int], str]


class _Registers:
    """Integers and addresses as they stand in the program; which conditions were asked for."""

    def __init__(self) -> None:
        self.conditions: set[str] = set()

    def polynomial(self, operand: Operand) -> Polynomial | None:
        text = operand.text
        if operand.type.kind not in ("int", "ptr") or operand.type.bits > 64:
            return None
        if text.lstrip("-").isdigit():
            return Polynomial.number(int(text))
        return Polynomial.of(text)

    def decides(self, condition: str) -> bool:
        self.conditions.add(condition)
        return True


@dataclass(frozen=True, slots=True)
class Previewed:
    """A loop that can be previewed.

    Attributes:
        loop: The loop.
        ends: Its edges.
        blocks: Its blocks, in printed order.
        code: What its inserted code does.
        tracked: Per address register, first byte and end of what is accessed there.
        computed: Instructions of the preview.
        outside: Registers from outside that it reads, with their types.
        steady: Addresses of inner loops that advance by a constant: noted in the first and last round.
    """

    loop: Loop
    ends: LoopEnds
    blocks: list[Block]
    code: LoopCode
    tracked: dict[str, tuple[int, int]]
    computed: dict[str, Instruction]
    outside: dict[str, IrType]
    steady: dict[str, Steady]


@dataclass(frozen=True, slots=True)
class Steady:
    """An address that advances by a constant in an inner loop.

    Attributes:
        ends: Edges of that loop.
        first: The address in its first round.
        types: Types of the registers in ``first``.
    """

    ends: LoopEnds
    first: Polynomial
    types: Mapping[str, IrType]


def previewed(
    values: FunctionValues,
    patch: FunctionPatch,
    loop: Loop,
    ends: LoopEnds,
    blocks: list[Block],
    accesses: AccessTypes,
    text: Text,
) -> Previewed | None:
    """What a preview of ``loop`` would have to do; ``None`` if it cannot know enough, or would be useless.

    Args:
        values: Facts of the function.
        patch: What was inserted.
        loop: A loop without side effects other than stores.
        ends: Its edges.
        blocks: Its blocks.
        accesses: Types of accesses.
        text: Gives a line of the module.
    """
    registers = _Registers()
    code = loop_code(patch, blocks, registers)
    if code is None or not code.has_effect or code.collected or code.blocks:
        return None
    tracked = _tracked(code)
    if tracked is None or len(tracked) > _MAX_TRACKED:
        return None
    roots = [*tracked, *registers.conditions]
    roots += [o.text for b in blocks for o in b.terminator.operands if o.is_local]
    defined = {i.name: i for b in blocks for i in b.instructions if i.name}
    computed = _slice(roots, defined)
    if computed is None or not _are_unchanged(blocks, computed, accesses, text):
        return None
    if not _advances(values, loop, tracked, defined):
        return None
    outside = _outside(values, [*roots, *_operands(computed.values())], defined)
    steady = {name: found for name in tracked if (found := _steady(values, loop, name)) is not None}
    return Previewed(loop, ends, blocks, code, tracked, computed, outside, steady)


def _steady(values: FunctionValues, nest: Loop, name: str) -> Steady | None:
    """How an address register advances in the inner loop that computes it."""
    definition = values.definitions.get(name)
    inner = values.cfg.loop_of(definition.block) if definition is not None else None
    if definition is None or inner is None or inner.header == nest.header or inner.header not in nest.blocks:
        return None
    ends = loop_ends(values.cfg, inner)
    if ends is None or not values.cfg.dominates(definition.block, ends.exiting):
        return None
    numbers = NestNumbers(values.function, values.cfg, inner)
    address = numbers.polynomial(Operand(definition.instruction.type, name))
    number = round_number(inner.header)
    stride = None if address is None else address.coefficient(number)
    if address is None or stride is None or not stride.is_constant:
        return None
    return Steady(ends, address.without([number]), numbers.types)


def _tracked(code: LoopCode) -> dict[str, tuple[int, int]] | None:
    result: dict[str, tuple[int, int]] = {}
    for address, size in code.accesses:
        symbols = [m for m in address.terms if m]
        if len(symbols) != 1 or len(symbols[0]) != 1 or address.terms[symbols[0]] != 1:
            return None
        first, end = result.get(symbols[0][0], (address.constant, address.constant))
        result[symbols[0][0]] = min(first, address.constant), max(end, address.constant + size)
    return result


def _operands(instructions: Iterable[Instruction]) -> Iterator[str]:
    for instruction in instructions:
        yield from (o.text for o in instruction.operands if o.is_local)


def _slice(roots: Iterable[str], defined: dict[str, Instruction]) -> dict[str, Instruction] | None:
    """Instructions that the roots are computed by; ``None`` if some of them are not integer work."""
    found: dict[str, Instruction] = {}
    pending = list(roots)
    while pending:
        name = pending.pop()
        if name not in defined or name in found:
            continue
        instruction = defined[name]
        if instruction.type.kind not in ("int", "ptr") or instruction.type.bits > 64:
            return None
        if instruction.opcode not in _COMPUTING and not instruction.callee.startswith(_INTEGER_CALLS):
            return None
        found[name] = instruction
        pending.extend(_operands([instruction]))
    return found


def _are_unchanged(
    blocks: list[Block], computed: dict[str, Instruction], accesses: AccessTypes, text: Text
) -> bool:
    """No store of the loop can change what its preview loads."""
    everything = [i for b in blocks for i in b.instructions]
    loads = {text(i.first_line) for i in computed.values() if i.opcode == "load"}
    stores = {text(i.first_line) for i in everything if i.opcode == "store"}
    return all(accesses.are_apart(load, store) for load in loads for store in stores)


def _advances(
    values: FunctionValues, loop: Loop, tracked: Iterable[str], defined: dict[str, Instruction]
) -> bool:
    """Addresses differ from round to round, and not because pointers are exchanged: no time loop."""
    phis = [i for i in defined.values() if i.opcode == "phi" and values.block_of(i.name) == loop.header]
    feeding = _slice(tracked, defined) or {}
    steps = [p for p in phis if p.name in feeding]
    for phi in steps:
        if phi.type.kind == "ptr":
            around = [o.text for o, p in zip(phi.operands, phi.incoming, strict=True) if p in loop.blocks]
            if any(name not in defined or defined[name].opcode != "getelementptr" for name in around):
                return False
    return bool(steps)


def _outside(
    values: FunctionValues, names: Iterable[str], defined: dict[str, Instruction]
) -> dict[str, IrType]:
    types = {p.text: p.type for p in values.function.parameters}
    found = {}
    for name in dict.fromkeys(names):
        if name.startswith("%") and name not in defined and not name.startswith("%ca."):
            definition = values.definitions.get(name)
            found[name] = types[name] if definition is None else definition.instruction.type
    return found


class PreviewWriter:
    """Writes a preview and what surrounds it.

    Args:
        patch: Receives the storage and gives names to registers.
        plan: What to write.
        number: Of the loop in its function.
        text: Gives a line of the module without debug information.
    """

    def __init__(self, patch: FunctionPatch, plan: Previewed, number: int, text: Text) -> None:
        self._patch = patch
        self._plan = plan
        self._number = number
        self._text = text
        self._storage = f"%ca.look.{number}"
        inside = [name for name in plan.tracked if name in plan.computed]
        self._slots = {name: _FIRST_TRACKED + 2 * k for k, name in enumerate(inside)}
        names = [f"%{label}" for label in plan.loop.blocks] + list(plan.computed)
        self._renamed = {name: suffixed(name, f".ca.{number}.p") for name in names}
        self._renamed[f"%{plan.ends.preheader}"] = look_of(plan.loop.header, number)
        self._renamed[f"%{plan.ends.exit}"] = guard_of(plan.loop.header, number)

    def write(self, identity: int) -> RepeatedLoop | None:
        """The loop as it will be; ``identity`` is the block counter of its header."""
        plan = self._plan
        counters = [number for number, _ in plan.code.counters]
        first, count = min(counters), max(counters) - min(counters) + 1
        if count > _MAX_COUNTERS:
            return None
        size = _FIRST_TRACKED + 2 * len(self._slots)
        self._patch.entry += [
            f"  {self._storage} = alloca [{size} x i64], align 16",
            f"  store [{size} x i64] zeroinitializer, ptr {self._storage}, align 16",
        ]
        due: list[str] = []
        asked = self._patch.call(due, "ca_preview_due", identity)
        is_due = self._patch.value(due, f"icmp ne i32 {asked}, 0")
        guard: list[str] = []
        changes, key = self._changes(guard), self._get(guard, _HASH)
        found = self._patch.call(guard, "ca_repeat_previewed", identity, key, changes, first, count)
        known = self._patch.value(guard, f"icmp ne i32 {found}, 0")
        behind: list[str] = []
        self._patch.call(behind, "ca_repeat_end", self._changes(behind))
        return RepeatedLoop(
            plan.ends.preheader, plan.loop.header, plan.ends.exiting, plan.ends.exit,
            tuple(b.label for b in plan.blocks), self._number, tuple(guard), known, (), tuple(behind),
            tuple(due), is_due, tuple(self._blocks(identity)),
        )  # fmt: skip

    def _blocks(self, identity: int) -> Iterator[str]:
        look = look_of(self._plan.loop.header, self._number)
        start = GuardWriter(self._patch, self._plan.outside)
        entering = [start.value(Polynomial.of(name)) for name in self._plan.outside]
        self._set(start.lines, _HASH, start.hashed([str(identity + 1), *entering, *self._plan.code.entering]))
        self._set(start.lines, _STEP, "0")
        for slot in self._slots.values():
            self._set(start.lines, slot, str(_MOST))
            self._set(start.lines, slot + 1, str(_LEAST))
        yield from ("", f"{look[1:]}:", *start.lines)
        yield f"  br label {self._renamed[f'%{self._plan.loop.header}']}"
        for block in self._plan.blocks:
            yield from ("", f"{self._renamed[f'%{block.label}'][1:]}:")
            phis = [i for i in block.instructions if i.opcode == "phi" and i.name in self._plan.computed]
            for phi in phis:
                yield self._copied(phi)
            for phi in phis:
                yield from self._noted(phi)
            yield from self._behind_inner_loop(block.label)
            for instruction in block.instructions:
                if instruction is block.terminator:
                    yield from self._before_inner_loop(block.label)
                    yield self._copied(instruction)
                elif instruction.name in self._plan.computed and instruction.opcode != "phi":
                    yield self._copied(instruction)
                    yield from self._noted(instruction)

    def _copied(self, instruction: Instruction) -> str:
        lines = [self._text(n) for n in range(instruction.first_line, instruction.last_line + 1)]
        return TOKEN.sub(lambda m: self._renamed.get(m[0], m[0]), "\n".join(lines))

    def _noted(self, instruction: Instruction) -> list[str]:
        """What is done about a register of the preview: loaded ones are hashed, addresses noted."""
        out: list[str] = []
        value = ""
        is_noted = instruction.name in self._slots and instruction.name not in self._plan.steady
        if instruction.opcode == "load" or is_noted:
            value = self._as_i64(out, self._renamed[instruction.name], instruction.type)
        if instruction.opcode == "load":
            step = self._patch.value(out, f"add i64 {self._get(out, _STEP)}, {_STRIDE}")
            self._set(out, _STEP, step)
            moved = self._patch.value(out, f"add i64 {value}, {step}")
            mixed = self._patch.value(out, f"mul i64 {moved}, {_MIXER}")
            high = self._patch.value(out, f"lshr i64 {mixed}, 32")
            folded = self._patch.value(out, f"xor i64 {mixed}, {high}")
            total = self._patch.value(out, f"add i64 {self._get(out, _HASH)}, {folded}")
            self._set(out, _HASH, total)
        if is_noted:
            self._note_address(out, instruction.name, value)
        return out

    def _note_address(self, out: list[str], name: str, value: str) -> None:
        slot = self._slots[name]
        for place, predicate in ((slot, "slt"), (slot + 1, "sgt")):
            known = self._get(out, place)
            bit = self._patch.value(out, f"icmp {predicate} i64 {value}, {known}")
            self._set(out, place, self._patch.value(out, f"select i1 {bit}, i64 {value}, i64 {known}"))

    def _before_inner_loop(self, block: str) -> list[str]:
        """The first addresses of the loop that is entered from ``block``."""
        out: list[str] = []
        for name, steady in self._plan.steady.items():
            if steady.ends.preheader == block and name in self._slots:
                writer = GuardWriter(self._patch, steady.types)
                value = writer.value(steady.first)
                out += [TOKEN.sub(lambda m: self._renamed.get(m[0], m[0]), line) for line in writer.lines]
                self._note_address(out, name, self._renamed.get(value, value))
        return out

    def _behind_inner_loop(self, block: str) -> list[str]:
        """The last addresses of the loop that leads to ``block``."""
        out: list[str] = []
        for name, steady in self._plan.steady.items():
            if steady.ends.exit == block and name in self._slots:
                value = self._as_i64(out, self._renamed[name], self._plan.computed[name].type)
                self._note_address(out, name, value)
        return out

    def _as_i64(self, out: list[str], name: str, type_: IrType) -> str:
        if type_.kind == "ptr":
            return self._patch.value(out, f"ptrtoint ptr {name} to i64")
        return name if type_.bits == 64 else self._patch.value(out, f"sext {type_} {name} to i64")

    def _changes(self, out: list[str]) -> str:
        """Changes so far of the shadow of all addresses."""
        total = "0"
        for name, (first, end) in self._plan.tracked.items():
            if name in self._slots:
                low, high = self._get(out, self._slots[name]), self._get(out, self._slots[name] + 1)
            else:
                type_ = self._plan.outside.get(name)
                low = high = name
                if type_ is None or type_.kind == "ptr":  # globals, too
                    low = high = self._patch.value(out, f"ptrtoint ptr {name} to i64")
            low = self._patch.value(out, f"add i64 {low}, {first}")
            high = self._patch.value(out, f"add i64 {high}, {end - 1}")
            found = self._patch.call(out, "ca_changes", low, high)
            total = found if total == "0" else self._patch.value(out, f"add i64 {total}, {found}")
        return total

    def _slot(self, out: list[str], number: int) -> str:
        return self._patch.value(out, f"getelementptr inbounds i64, ptr {self._storage}, i64 {number}")

    def _get(self, out: list[str], number: int) -> str:
        return self._patch.value(out, f"load i64, ptr {self._slot(out, number)}, align 8")

    def _set(self, out: list[str], number: int, value: str) -> None:
        out.append(f"  store i64 {value}, ptr {self._slot(out, number)}, align 8")
