"""Writes previews, see :mod:`.previews`: code only, nothing is decided here.

What a preview keeps from round to round lies in slots of local storage, which become registers. They hold
addresses: the shadow there is looked at, and which of them meet.
"""

from __future__ import annotations

from collections.abc import Iterator

from commanalyzer.program.ir.loops.induction import Polynomial
from commanalyzer.program.ir.model import BasicBlock, Instruction
from commanalyzer.recording.instrument.code import FunctionPatch, RepeatedLoop, Text
from commanalyzer.recording.instrument.inspectors.previews import DECIDING, ByteRange, Previewed, PreviewReads
from commanalyzer.recording.instrument.loops.families import GuardWriter, as_i64, changes, multiplier, signed
from commanalyzer.recording.instrument.loops.loop_code import TOKEN, block_at, suffixed

_MAX_COUNTERS = 256
_HASH, _FIRST_SLOT = 0, 1  # of a preview's storage: then addresses of reads, then those of accesses
_MIXER = signed(0xD6E8FEB86659FD93)
_LOW, _HIGH = 0, 1  # sides of an address: the slot of the least one and the next one
_LEAST, _MOST = -(1 << 63), (1 << 63) - 1


class PreviewWriter:
    """Writes the preview ``plan`` of a loop and what surrounds it.

    ``patch`` receives the storage and gives names to registers; ``number`` is the loop's in its function.
    """

    def __init__(self, patch: FunctionPatch, plan: Previewed, number: int, text: Text) -> None:
        self._patch = patch
        self._plan = plan
        self._number = number
        self._text = text
        self._storage = f"%ca.look.{number}"
        self._num_hashed = 0  # in the block that is written
        reads = plan.reads.sizes if plan.reads is not None else ()
        self._reads = {name: _FIRST_SLOT + 2 * k for k, name in enumerate(reads)}
        first = _FIRST_SLOT + 2 * len(reads)
        self._slots = {name: first + 2 * k for k, name in enumerate(plan.watched)}
        self._num_slots = first + 2 * len(self._slots)
        names = [f"%{label}" for label in plan.loop.blocks] + list(plan.computed)
        self._renamed = {name: suffixed(name, f".ca.{number}.p") for name in names}
        self._renamed[f"%{plan.ends.preheader}"] = block_at("look", plan.loop.header, number)
        behind = block_at("guard" if plan.reads is None else "seen", plan.loop.header, number)
        self._renamed[f"%{plan.ends.exit}"] = behind

    def write(self, identity: int) -> RepeatedLoop | None:
        """The loop as it will be; ``identity`` is the block counter of its header."""
        plan = self._plan
        counters = [number for number, _ in plan.code.counters]
        first, count = min(counters), max(counters) - min(counters) + 1
        if count > _MAX_COUNTERS:
            return None
        self._patch.entry += [
            f"  {self._storage} = alloca [{self._num_slots} x i64], align 16",
            f"  store [{self._num_slots} x i64] zeroinitializer, ptr {self._storage}, align 16",
        ]
        due: list[str] = []
        asked = self._patch.call(due, "ca_preview_due", identity)
        is_due = self._patch.value(due, f"icmp ne i32 {asked}, 0")
        guard: list[str] = []
        looked_at, key = self._changes(guard), self._get(guard, _HASH)
        number = self._unless_overlapping(guard, count)
        found = self._patch.call(guard, "ca_repeat_previewed", identity, key, looked_at, first, number)
        known = self._patch.value(guard, f"icmp ne i32 {found}, 0")
        behind: list[str] = []
        self._patch.call(behind, "ca_repeat_end", self._changes(behind))
        return RepeatedLoop(
            plan.ends, plan.loop.header,
            tuple(b.label for b in plan.blocks), self._number, tuple(guard), known, (), tuple(behind),
            tuple(due), is_due, tuple(self._blocks(identity)),
        )  # fmt: skip

    def _blocks(self, identity: int) -> Iterator[str]:
        look = block_at("look", self._plan.loop.header, self._number)
        start = GuardWriter(self._patch, self._plan.outside)
        integers = [name for name, type_ in self._plan.outside.items() if type_.kind != "float"]
        entering = [start.value(Polynomial.of(name)) for name in integers]
        key = start.hashed([str(identity + 1), *entering, *self._plan.code.entering])
        self._set(start.lines, _HASH, key)
        for slot in (*self._reads.values(), *self._slots.values()):
            self._set(start.lines, slot + _LOW, str(_MOST))
            self._set(start.lines, slot + _HIGH, str(_LEAST))
        for name in (name for name in self._reads if name not in self._plan.computed):
            address = self._patch.address(start.lines, name)
            self._set(start.lines, self._reads[name], address)
            self._set(start.lines, self._reads[name] + 1, address)
        for name, advancing in self._plan.advancing.items():  # each round writes over the last one's
            if name in self._slots:
                writer = GuardWriter(self._patch, advancing.types)
                value = writer.value(advancing.first)
                start.lines += writer.lines
                self._set(start.lines, self._slots[name] + (advancing.stride < 0), value)
        first = self._name(f"%{self._plan.loop.header}")
        yield from ("", f"{look[1:]}:", *start.lines)
        if self._plan.reads is None:
            yield f"  br label {first}"
        else:
            yield from self._unless_same(key, first, self._plan.reads)
        for block in self._plan.blocks:
            yield from self._block(block)

    def _block(self, block: BasicBlock) -> Iterator[str]:
        """A block of the preview."""
        self._num_hashed = 0
        phis = [i for i in block.instructions if i.opcode == "phi" and i.name in self._plan.computed]
        yield from ("", f"{self._name(f'%{block.label}')[1:]}:", *(self._copied(phi) for phi in phis))
        for phi in phis:
            yield from self._noted(phi)
        yield from self._ends_of_inner_loops(block.label, are_first=False)
        for instruction in block.instructions[:-1]:
            if instruction.name in self._plan.computed and instruction.opcode != "phi":
                yield self._copied(instruction)
                yield from self._noted(instruction)
        yield from self._ends_of_inner_loops(block.label, are_first=True)
        yield self._copied(block.terminator)

    def _unless_same(self, key: str, first: str, reads: PreviewReads) -> Iterator[str]:
        """The preview at ``first`` is made only if what it reads has changed, see ``snapshots.c``.

        What it found out is passed in memory of its own, so that the preview itself works in registers.
        """
        loop, patch = self._plan.loop, self._patch
        passed = f"%ca.found.{self._number}"
        patch.entry.append(f"  {passed} = alloca [{self._num_slots} x i64], align 16")
        asked: list[str] = []
        same = patch.call(asked, "ca_preview_same", key, passed)
        is_same = patch.value(asked, f"icmp ne i32 {same}, 0")
        recall = block_at("recall", loop.header, self._number)
        seen = block_at("seen", loop.header, self._number)
        yield from (*asked, f"  br i1 {is_same}, label {recall}, label {first}")
        guard = f"  br label {block_at('guard', loop.header, self._number)}"
        yield from ("", f"{recall[1:]}:", *self._moved(passed, self._storage), guard)
        told = self._moved(self._storage, passed)
        sizes = signed(reads.packed_sizes)
        patch.call(told, "ca_preview_seen", key, passed, self._num_slots, len(self._reads), sizes)
        yield from ("", f"{seen[1:]}:", *told, guard)

    def _moved(self, source: str, target: str) -> list[str]:
        out: list[str] = []
        for number in range(self._num_slots):
            self._set(out, number, self._get(out, number, source), target)
        return out

    def _name(self, text: str) -> str:
        """Name of a register or label in the preview."""
        return self._renamed.get(text, text)

    def _copied(self, instruction: Instruction) -> str:
        lines = [self._text(n) for n in range(instruction.first_line, instruction.last_line + 1)]
        return TOKEN.sub(lambda m: self._name(m[0]), "\n".join(lines))

    def _noted(self, instruction: Instruction) -> list[str]:
        """What is done about a register of the preview: what decides is hashed, addresses are noted."""
        out: list[str] = []
        value = ""
        is_noted = instruction.name in self._slots and instruction.name not in self._plan.steady
        is_hashed = instruction.opcode in DECIDING and instruction.type.kind != "float"
        if is_hashed or is_noted:
            value = as_i64(self._patch, out, self._renamed[instruction.name], instruction.type)
        if is_hashed:
            self._hash(out, value)
        if is_noted and instruction.name in self._plan.advancing:
            side = _HIGH if self._plan.advancing[instruction.name].stride >= 0 else _LOW
            self._set(out, self._slots[instruction.name] + side, value)
        elif is_noted:
            self._note(out, self._slots[instruction.name], value)
        if instruction.opcode == "load":
            # where it reads is noted when it does: an address that is only computed may lead nowhere
            address, reads = instruction.operands[0], self._plan.reads
            is_read = reads is not None and address.text in reads.sizes.keys() - reads.steady
            if is_read and address.text in self._plan.computed:
                value = as_i64(self._patch, out, self._renamed[address.text], address.type)
                self._note(out, self._reads[address.text], value)
        return out

    def _hash(self, out: list[str], value: str) -> None:
        """Horner's rule per block, as the order of rounds counts; a weight per value of a block."""
        total = self._get(out, _HASH)
        if self._num_hashed == 0:
            total = self._patch.compute(out, "mul", total, _MIXER)
        # the first one, too: the recorder does not tell hashes apart that differ in their lowest bit
        weight = signed(multiplier(self._num_hashed + 1))
        value = self._patch.compute(out, "mul", value, weight)
        self._num_hashed += 1
        self._set(out, _HASH, self._patch.compute(out, "add", total, value))

    def _ends_of_inner_loops(self, block: str, *, are_first: bool) -> list[str]:
        """The first addresses of loops entered from ``block``, or the last of those that lead to it."""
        out: list[str] = []
        for name, steady in self._plan.steady.items():
            reads = self._plan.reads
            slots = [self._slots[name]] if name in self._slots else []
            slots += [self._reads[name]] if reads is not None and name in reads.steady else []
            if not slots or block != (steady.ends.preheader if are_first else steady.ends.exit):
                continue
            if are_first:
                writer = GuardWriter(self._patch, steady.types)
                value = self._name(writer.value(steady.first))
                out += [TOKEN.sub(lambda m: self._name(m[0]), line) for line in writer.lines]
            else:
                value = as_i64(self._patch, out, self._name(name), self._plan.computed[name].type)
            for slot in slots:
                self._note(out, slot, value)
        return out

    def _place(self, out: list[str], number: int, storage: str) -> str:
        address = storage or self._storage
        return self._patch.value(out, f"getelementptr inbounds i64, ptr {address}, i64 {number}")

    def _get(self, out: list[str], number: int, storage: str = "") -> str:
        """Register with what is in a slot."""
        return self._patch.value(out, f"load i64, ptr {self._place(out, number, storage)}, align 8")

    def _set(self, out: list[str], number: int, value: str, storage: str = "") -> None:
        """Put ``value`` into a slot."""
        out.append(f"  store i64 {value}, ptr {self._place(out, number, storage)}, align 8")

    def _note(self, out: list[str], slot: int, value: str) -> None:
        """The least and largest of all values, in two slots."""
        for side, predicate in ((_LOW, "slt"), (_HIGH, "sgt")):
            known = self._get(out, slot + side)
            bit = self._patch.value(out, f"icmp {predicate} i64 {value}, {known}")
            self._set(out, slot + side, self._patch.choose(out, bit, value, known))

    def _changes(self, out: list[str]) -> str:
        """Changes so far of the shadow of all addresses."""
        places = (ByteRange(name, first, end) for name, (first, end) in self._plan.tracked.items())
        return changes(self._patch, out, (self._range(out, place) for place in places))

    def _range(self, out: list[str], place: ByteRange) -> tuple[str, str]:
        """First and last address of a place in all rounds; the first behind the last if there were none."""
        name = place.address
        if name in self._slots:
            low = self._get(out, self._slots[name] + _LOW)
            high = self._get(out, self._slots[name] + _HIGH)
        else:
            type_ = self._plan.outside.get(name)
            low = high = name
            if type_ is None or type_.kind == "ptr":  # globals, too
                low = high = self._patch.address(out, name)
        low = self._patch.compute(out, "add", low, place.first)
        return low, self._patch.compute(out, "add", high, place.end - 1)

    def _unless_overlapping(self, out: list[str], count: int) -> str:
        """``count``, or 0 if the loop may change what the preview read."""
        places = dict.fromkeys(p for o in self._plan.overlaps for p in (o.read, o.written))
        ranges = {place: self._range(out, place) for place in places}
        result = str(count)
        for overlap in self._plan.overlaps:
            (low, high), (first, last) = ranges[overlap.read], ranges[overlap.written]
            begins = self._patch.value(out, f"icmp sle i64 {low}, {last}")
            ends = self._patch.value(out, f"icmp sle i64 {first}, {high}")
            both = self._patch.value(out, f"and i1 {begins}, {ends}")
            result = self._patch.value(out, f"select i1 {both}, i32 0, i32 {result}")
        return result
