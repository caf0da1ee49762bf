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

Decides for every loop of a function how it is run when it repeats: known, previewed, or with hooks.

Input: facts of a function and what was inserted into it. Output: its loops that get a copy without hooks
(:attr:`FunctionPatch.repeated`) and what was found out about each loop (:attr:`FunctionPatch.findings`),
as text for users, and for tests.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import pairwise, permutations

from commanalyzer.program.ir.cfg import Loop, control_flow
from commanalyzer.program.ir.libcalls import CallKind
from commanalyzer.program.ir.loops.induction import (
    LoopEnds,
    NestNumbers,
    Polynomial,
    Rounds,
    loop_ends,
    loop_guards,
    round_number,
)
from commanalyzer.program.ir.model import BasicBlock, Function, Instruction, Module
from commanalyzer.program.ir.names.debug_info import DebugInfo
from commanalyzer.program.ir.names.source_text import loop_place, user_place
from commanalyzer.recording.abi import Mechanisms
from commanalyzer.recording.instrument.code import (
    Computed,
    Event,
    FunctionPatch,
    HookCall,
    LoopFinding,
    RepeatedLoop,
    plain_text,
)
from commanalyzer.recording.instrument.inspectors.preview_code import PreviewWriter
from commanalyzer.recording.instrument.inspectors.previews import (
    NOTHING,
    Previewed,
    may_protect_memory,
    previewed,
)
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


MAX_INSTRUCTIONS = 2000  # of a nest: it is written out once more per level
_SIDE_EFFECTS = frozenset(
    {"invoke", "fence", "atomicrmw", "cmpxchg", "alloca", "va_arg", "switch", "indirectbr", "callbr"}
)
_NOTES = ("@llvm.lifetime.", "@llvm.assume", "@llvm.experimental.noalias.")  # for the compiler only


def plan_repeats(
    values: FunctionValues, patch: FunctionPatch, module: Module, mechanisms: Mechanisms
) -> None:
    """Find the loops of a function whose effect can be known in advance, and plan their copies.

    Comes last: it reads what was inserted.
    """
    maker = _Maker(values, patch, module, mechanisms)
    for loop in values.cfg.loops.values():
        outer = [f.header for f in patch.findings if f.how in ("known", "previewed")]
        is_inside = any(loop.header in values.cfg.loops[header].blocks for header in outer)
        try:
            found = maker.repeated(loop)
        except Obstacle as met:
            alone = "counts only" if met.reason == NOTHING else "hooks"
            how = "with the outer loop" if is_inside else alone
            patch.findings.append(LoopFinding(loop.header, how, met.reason, met.at))
        else:
            patch.findings.append(LoopFinding(loop.header, *maker.manner(found)))
            patch.repeated.append(found)


class _Maker:
    """Plans the copies of one function's loops, outer ones first."""

    def __init__(
        self, values: FunctionValues, patch: FunctionPatch, module: Module, mechanisms: Mechanisms
    ) -> None:
        self._values, self._patch, self._module, self._mechanisms = values, patch, module, mechanisms
        self._used_in = uses_of_inserted(values, patch)
        self._is_protecting = may_protect_memory(module)
        self._previews: list[Previewed] = []

    def repeated(self, loop: Loop) -> RepeatedLoop:
        """The loop as it will be; an obstacle is raised if it always runs with hooks."""
        values = self._values
        blocks = [b for b in values.function.blocks if b.label in loop.blocks]
        ends = loop_ends(values.cfg, loop)
        if ends is None:
            raise _why_not_single_ended(values.function, loop)
        if sum(len(b.instructions) for b in blocks) > MAX_INSTRUCTIONS:
            raise Obstacle(f"has more than {MAX_INSTRUCTIONS} instructions")
        for instruction in (i for b in blocks for i in b.instructions if not _is_plain(values, i)):
            raise Obstacle(_named(instruction), instruction)
        if is_short(values, loop, ends):
            raise Obstacle(f"never makes {FEWEST_ROUNDS} rounds: looking ahead would cost more")
        found = by_polynomials(values, self._patch, loop, blocks, self._used_in, self._mechanisms)
        return found or self._previewed(loop, ends, blocks)

    def _previewed(self, loop: Loop, ends: LoopEnds, blocks: list[BasicBlock]) -> RepeatedLoop:
        if not self._mechanisms.inspectors:
            raise Obstacle("inspectors are switched off")
        if any(loop.header in p.loop.blocks for p in self._previews if not p.follows_values):
            raise Obstacle("part of a loop that is previewed")
        lines = self._module.lines
        plan = previewed(self._values, self._patch, loop, ends, blocks, self._module)
        if self._is_protecting or not self._mechanisms.memoised_inspectors:
            plan = replace(plan, reads=None)
        if is_read_outside(self._values, loop, ends, plan.code, self._used_in):
            raise Obstacle("a value or a sum that it computes is used after it")
        number = len(self._patch.repeated)
        writer = PreviewWriter(self._patch, plan, number, lambda n: plain_text(lines[n]))
        found = writer.write(identity(self._values, loop, plan.code))
        if found is None:
            raise Obstacle("has too many branches")
        self._previews.append(plan)
        return found

    def manner(self, loop: RepeatedLoop) -> tuple[str, str]:
        """How a loop is known, and what that costs."""
        if not loop.preview:
            return "known", ""
        plan = self._previews[-1]
        if plan.follows_values:
            return "previewed", "computed numbers decide addresses or branches"
        if plan.reads is None:
            return "previewed", "reads too many arrays to keep them"
        if plan.reads.sizes:
            return "previewed", "arrays decide addresses, rounds or branches: again when they change"
        return "previewed", "has branches or rounds that may not happen"


def _named(instruction: Instruction) -> str:
    if instruction.opcode in ("call", "invoke"):
        name = instruction.callee.removeprefix("@")
        return "calls a function through a pointer" if name.startswith("%") else f"calls {name}"
    if instruction.flags & {"volatile", "atomic"}:
        return "has a volatile or atomic access"
    return f"contains '{instruction.opcode}'"


def _is_plain(values: FunctionValues, instruction: Instruction) -> bool:
    """Nothing but computing, loading and storing."""
    if instruction.opcode in _SIDE_EFFECTS or instruction.flags & {"volatile", "atomic"}:
        return False
    if instruction.opcode == "br":
        return True
    if instruction.opcode == "call":
        if instruction.callee.startswith(_NOTES):
            return True
        known = values.calls.effect(instruction)
        if known is None or known.reads or known.writes:
            return False
        return known.kind in (CallKind.PURE, CallKind.COPY, CallKind.FILL) and not known.calls
    return not instruction.targets and instruction.opcode not in ("ret", "resume", "unreachable")


def _why_not_single_ended(function: Function, loop: Loop) -> Obstacle:
    """Why a loop has no edges that :func:`commanalyzer.program.ir.loops.induction.loop_ends` would take."""
    branches = (b.terminator for b in function.blocks if b.label in loop.blocks)
    exiting = [branch for branch in branches if not loop.blocks.issuperset(branch.targets)]
    if len(exiting) > 1:
        return Obstacle(f"can end in {len(exiting)} places", *exiting)
    return Obstacle("is entered, repeated or left in several ways" if exiting else "never ends")


def loops_text(module: Module, patches: Mapping[str, FunctionPatch]) -> str:
    """One line per loop: place, function, how it is run again, and why not better."""
    debug = DebugInfo(module)
    rows = [("loop", "function", "when it repeats", "because")]
    for function in module.functions:
        for finding in patches[function.name].findings:
            place = loop_place(module, debug, function, finding.header)
            where = f"{place.file}:{place.line}" if place.line else finding.header
            places = [user_place(debug, i.debug_location) for i in finding.at]
            lines = dict.fromkeys(p.line for p in places if p.file == place.file and p.line)
            why = finding.reason + (f" ({', '.join(f'line {n}' for n in lines)})" if lines else "")
            rows.append((where, function.name.removeprefix("@"), finding.how, why))
    widths = [max(len(row[k]) for row in rows) for k in range(3)]
    return "\n".join("  ".join([*map(str.ljust, row, widths), row[-1]]).rstrip() for row in rows)
