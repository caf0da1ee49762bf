"""Loops whose effect on the recording is known before they run: when it was recorded before.

What the hooks inside a loop do is a function of the addresses that they get, the labels that enter the loop
and the shadow of the words it touches. In a loop whose addresses and numbers of rounds are polynomials of
invariants (:mod:`.induction`), all of this is known when the loop is entered: it is hashed,
and if a run with the same hash found the same shadow and left it unchanged, it counted rows that would be
counted again. Then the loop's original code runs, without hooks. This holds for single loops and for nests.

    preheader --> guard: hash, changes of the shadow so far
                   | known              | unknown
            counts, terms               |
                   |                    |
            original loop       instrumented loop
                   |                    |
                   |              changes again: remember
                   +----------> exit <--+

Aliasing is harmless: the instrumented loop itself says what happens, whatever the addresses are, and a loop
that changes the shadow (a copy that is new) is not remembered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise, permutations

from commanalyzer.program.ir.cfg import Loop, control_flow
from commanalyzer.program.ir.loops.induction import (
    LoopEnds,
    NestNumbers,
    Polynomial,
    Rounds,
    loop_ends,
    loop_guards,
    round_number,
)
from commanalyzer.program.ir.model import BasicBlock
from commanalyzer.recording.instrument.code import Computed, Event, FunctionPatch, HookCall, RepeatedLoop
from commanalyzer.recording.instrument.labelling.values import FunctionValues
from commanalyzer.recording.instrument.loops.families import (
    Entry,
    GuardWriter,
    NestReader,
    Store,
    changes,
    offer,
)
from commanalyzer.recording.instrument.loops.loop_code import (
    TOKEN,
    LoopCode,
    Obstacle,
    inserted_lines,
    loop_code,
)
from commanalyzer.recording.instrument.mechanisms import Mechanisms

MAX_RANGES = 32
FEWEST_ROUNDS = 8  # of a loop whose rounds are constant: a guard would cost more
_NEAR_BYTES = 4096  # accesses at constant distances up to this are one range


def by_polynomials(
    values: FunctionValues,
    patch: FunctionPatch,
    loop: Loop,
    blocks: list[BasicBlock],
    used_in: dict[str, set[str]],
    mechanisms: Mechanisms,
) -> RepeatedLoop | None:
    """The loop with a guard that computes its rounds and addresses, if they are polynomials."""
    nest = _nest(values, patch, loop, blocks)
    if nest is None:
        return None
    numbers = NestNumbers(values.function, values.cfg, loop)
    rounds = {h: numbers.rounds(nest.loops[h], ends) for h, ends in nest.ends.items()}
    known = {header: found for header, found in rounds.items() if found is not None}
    try:
        code = loop_code(patch, blocks, numbers, nest.skipped)
    except Obstacle:
        return None
    if len(known) != len(rounds) or is_read_outside(values, loop, nest.ends[loop.header], code, used_in):
        return None
    writer = _RepeatWriter(patch, nest, numbers, code, known)
    return writer.write(identity(values, loop, code), mechanisms)


def identity(values: FunctionValues, loop: Loop, code: LoopCode) -> int:
    """A block counter that belongs to this loop alone."""
    return next(number for number, block in code.counters if values.cfg.innermost_loop[block] == loop.header)


def is_short(values: FunctionValues, loop: Loop, ends: LoopEnds) -> bool:
    """A loop without inner ones makes few rounds, always."""
    if any(inner.parent == loop.header for inner in values.cfg.loops.values()):
        return False
    rounds = NestNumbers(values.function, values.cfg, loop).rounds(loop, ends)
    count = None if rounds is None else rounds.constant
    return count is not None and count < FEWEST_ROUNDS


@dataclass(frozen=True, slots=True)
class _Nest:
    """A loop with the loops inside it; nothing branches but their ends, and what skips one in all rounds."""

    loop: Loop
    loops: dict[str, Loop]
    ends: dict[str, LoopEnds]
    blocks: list[BasicBlock]
    skipped: dict[str, tuple[str, bool, str]]  # blocks on these ways: if what is so, around which loop
    short: dict[str, frozenset[str]]  # per block, loops in whose last round it is not executed
    behind: dict[str, frozenset[str]]  # per block, those that come after it in every round


def _nest(values: FunctionValues, patch: FunctionPatch, loop: Loop, blocks: list[BasicBlock]) -> _Nest | None:
    loops = {h: inner for h, inner in values.cfg.loops.items() if h in loop.blocks}
    skipped = _skipped(values, patch, loop, blocks)
    cfg = control_flow(values.function, skipped) if skipped else values.cfg
    blocks_left = [b for b in blocks if b.label not in skipped]
    ends = {}
    for header, inner in loops.items():
        found = loop_ends(values.cfg, inner)
        if found is None or cfg.innermost_loop[found.exiting] != header:
            return None
        ends[header] = found
    exiting = {e.exiting for e in ends.values()}
    if any(len(cfg.successors[b.label]) != 1 and b.label not in exiting for b in blocks_left):
        return None
    left = [b.label for b in blocks_left]
    exits = [(h, e.exiting) for h, e in ends.items()]
    short = {  # executed after the loop was found to go on
        b: frozenset(h for h, e in exits if b in loops[h].blocks and b != e and cfg.dominates(e, b))
        for b in left
    }
    if any(short[header] for header in loops):
        return None  # a loop that is not entered in the last round would have to have rounds all the same
    behind = {b: frozenset(o for o in left if o != b and cfg.dominates(b, o)) for b in left}
    return _Nest(loop, loops, ends, blocks, skipped, short, behind)


def _skipped(
    values: FunctionValues, patch: FunctionPatch, loop: Loop, blocks: list[BasicBlock]
) -> dict[str, tuple[str, bool, str]]:
    """Ways around inner loops that are taken in all rounds or in none: what decides is known before."""
    cfg, inside = values.cfg, {i.name for block in blocks for i in block.instructions}
    asking = [b for b in blocks if b.terminator.operands and b.terminator.operands[0].text not in inside]
    guards = loop_guards(values.function, cfg) if asking else frozenset[str]()
    empty = {
        b.label for b in blocks if len(cfg.predecessors[b.label]) == 1 and _only_counts(patch, b, Computed)
    }
    found = {}
    for block in (b for b in asking if b.label in guards):
        for way, other in permutations(block.terminator.targets):
            entered = [h for h in cfg.loops if h in loop.blocks and cfg.dominates(other, h)]
            behind = cfg.successors[way][0]
            if entered and way in empty and not cfg.dominates(way, behind) and behind not in cfg.loops:
                asked, targets = block.terminator.operands[0].text, block.terminator.targets
                found[way] = asked, way == targets[0], entered[0]
    return found


def uses_of_inserted(values: FunctionValues, patch: FunctionPatch) -> dict[str, set[str]]:
    """Blocks whose inserted code mentions a register (or a label of a block)."""
    found: dict[str, set[str]] = {}
    for block in values.function.blocks:
        for line in inserted_lines(patch, block):
            for token in TOKEN.findall(line):
                found.setdefault(token, set()).add(block.label)
    return found


def is_read_outside(
    values: FunctionValues, loop: Loop, ends: LoopEnds, code: LoopCode, used_in: dict[str, set[str]]
) -> bool:
    """Something defined in the loop is read outside, other than by phis of the exit."""
    inside = loop.blocks
    registers = [name for name, d in values.definitions.items() if d.block in inside]
    if any(used_in.get(name, set()) - inside for name in (*registers, *code.defined)):
        return True
    return any(
        use.block not in inside and not (use.block == ends.exit and use.instruction.opcode == "phi")
        for name in registers
        for use in values.uses.get(name, ())
    )


@dataclass(frozen=True, slots=True)
class _Span:
    """Addresses that a nest looks at: registers with the first and last byte, and what determines them."""

    low: str
    high: str
    hashed: tuple[str, ...]


class _RepeatWriter:
    """Writes the guard and what surrounds the copy and the instrumented loop; ``rounds`` are by header."""

    def __init__(
        self,
        patch: FunctionPatch,
        nest: _Nest,
        numbers: NestNumbers,
        code: LoopCode,
        rounds: dict[str, Rounds],
    ) -> None:
        self._patch, self._nest, self._numbers, self._code = patch, nest, numbers, code
        self._guard = GuardWriter(patch, numbers.types)
        self._made = {header: self._guard.rounds(found) for header, found in rounds.items()}
        for condition, is_around, header in nest.skipped.values():
            ways = ("0", self._made[header])[:: 1 if is_around else -1]
            self._made[header] = patch.choose(self._guard.lines, condition, *ways)

    def write(self, identity: int, mechanisms: Mechanisms) -> RepeatedLoop | None:
        """The loop as it will be; ``identity`` is a block counter of its own."""
        guard, patch, code = self._guard, self._patch, self._code
        total = reduce(lambda a, b: guard.compute("mul", a, b), self._made.values())
        behind, offered, taken = list[str](), tuple[str, ...](), ""
        if code.has_effect:
            found_spans = [self._span(*found) for found in (*_ranges(code), *code.blocks)]
            spans = [span for span in found_spans if span is not None]
            if len(spans) < len(found_spans) or len(spans) > MAX_RANGES:
                return None
            ranges = [(span.low, span.high) for span in spans]
            values = [*self._made.values(), *(v for span in spans for v in span.hashed)]
            key = guard.hashed([str(identity + 1), *dict.fromkeys(values), *code.entering])
            before = changes(patch, guard.lines, ranges)
            if mechanisms.families:
                offered, taken = self._offer((key, before, total))
            found = guard.call("ca_repeat_ready" if taken else "ca_repeat_known", key, before, total)
            known = patch.value(guard.lines, f"icmp ne i32 {found}, 0")
            patch.call(behind, "ca_repeat_end", changes(patch, behind, ranges))
        else:
            known = patch.compute(guard.lines, "icmp ne", total, "0")
        before_copy, nest, header = self._counts(), self._nest, self._nest.loop.header
        return RepeatedLoop(
            nest.ends[header], header, tuple(b.label for b in nest.blocks),
            len(patch.repeated), tuple(guard.lines), known, tuple(before_copy), tuple(behind),
            offer=offered, is_taken=taken,
        )  # fmt: skip

    def _offer(self, loop: tuple[str, str, str]) -> tuple[tuple[str, ...], str]:
        """Code that offers what a loop stores, or sums and stores, and the register: it was taken."""
        nest = self._nest
        blocks = sorted(
            (block for block in nest.blocks if block.label not in nest.skipped),
            key=lambda block: -len(nest.behind[block.label]),
        )
        busy = [block for block in blocks if not _only_counts(self._patch, block)]
        is_left_out = any(later.label not in nest.behind[block.label] for block, later in pairwise(busy))
        if is_left_out or any(nest.short[block.label] for block in busy):
            return (), ""
        around = [nest.loop.header]
        while len(inside := [h for h, inner in nest.loops.items() if inner.parent == around[-1]]) == 1:
            around += inside
        while around and not (entries := self._entries(busy, around)):
            around.pop()
        if not around:
            return (), ""
        guard = GuardWriter(self._patch, self._numbers.types)
        taken = offer(self._patch, guard, entries, around, self._made, loop)
        return (tuple(guard.lines), taken) if taken else ((), "")

    def _entries(self, busy: list[BasicBlock], around: Sequence[str]) -> Sequence[Entry]:
        """Stores in loops, with sums over those inside them, if the nest does nothing else."""
        loops, reader = self._nest.loops, NestReader(self._numbers, self._nest.skipped)
        for block in busy:
            inside = [h for h, inner in loops.items() if h not in around and block.label in inner.blocks]
            is_around = block.label not in loops[around[-1]].blocks
            lines = inserted_lines(self._patch, block)
            if not all(reader.read(line, inside, is_around=is_around) for line in lines):
                return ()
        return reader.entries if any(isinstance(entry, Store) for entry in reader.entries) else ()

    def _span(self, start: Polynomial, size: Polynomial) -> _Span | None:
        guard, loops = self._guard, self._nest.loops
        if any(symbol.startswith("#") for symbol in size.symbols):
            return None
        shape = start.without_constant()
        base = guard.value(shape.without(round_number(h) for h in loops))
        hashed, low, high = [base], base, base
        if not size.is_constant:
            hashed.append(guard.value(size))
        for header in loops:
            stride = shape.coefficient(round_number(header))
            if stride is None or any(s.startswith("#") for s in stride.symbols):
                return None
            if not stride.terms:
                continue
            step = guard.value(stride)
            way = guard.compute("mul", step, guard.compute("add", self._made[header], "-1"))
            if not stride.is_constant:
                hashed.append(step)
                low = guard.compute("add", low, guard.smaller(way, "0"))
                high = guard.compute("add", high, guard.smaller(way, "0", wanted=False))
            elif stride.constant > 0:
                high = guard.compute("add", high, way)
            else:
                low = guard.compute("add", low, way)
        if start.constant:
            low = guard.compute("add", low, str(start.constant))
        high = guard.compute("add", high, guard.value(size + Polynomial.number(start.constant - 1)))
        return _Span(low, high, tuple(hashed))

    def _counts(self) -> list[str]:
        """Executions of blocks, all at once."""
        lines: list[str] = []
        for counter, block in self._code.counters:
            product = "1"
            for header in (h for h, loop in self._nest.loops.items() if block in loop.blocks):
                factor = self._made[header]
                if header in self._nest.short[block]:
                    factor = self._patch.compute(lines, "add", factor, "-1")
                product = factor if product == "1" else self._patch.compute(lines, "mul", product, factor)
            self._patch.call(lines, "ca_count_blocks", counter, product)
        return lines


def _only_counts(patch: FunctionPatch, block: BasicBlock, *others: type[Event]) -> bool:
    lines = (line for line in inserted_lines(patch, block) if not isinstance(line, others))
    return all(isinstance(line, HookCall) and line.what == "ca_count_block" for line in lines)


def _ranges(code: LoopCode) -> list[tuple[Polynomial, Polynomial]]:
    """Addresses that advance together: where they start, and bytes from there on."""
    by_shape: dict[frozenset[object], tuple[Polynomial, list[tuple[int, int]]]] = {}
    for address, size in code.accesses:
        shape = address.without_constant()
        entry = by_shape.setdefault(frozenset(shape.terms.items()), (shape, []))
        entry[1].append((address.constant, address.constant + size))
    result = []
    for shape, pieces in by_shape.values():
        near: list[list[int]] = []
        for start, stop in sorted(pieces):
            if near and start <= near[-1][1] + _NEAR_BYTES:
                near[-1][1] = max(near[-1][1], stop)
            else:
                near.append([start, stop])
        result += [(shape + Polynomial.number(a), Polynomial.number(b - a)) for a, b in near]
    return result
