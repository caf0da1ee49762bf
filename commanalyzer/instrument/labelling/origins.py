"""Where labels come from: loads, atomic operations, parameters and results of calls."""

from __future__ import annotations

from commanalyzer.abi import hooks
from commanalyzer.instrument.code import FunctionPatch
from commanalyzer.instrument.labelling.labels import NOTHING, Exact, LabelBook, Labels
from commanalyzer.instrument.labelling.lanes import LaneWriter, Parts, combined, part_types
from commanalyzer.instrument.labelling.passing import received
from commanalyzer.instrument.labelling.scalars import scalar_leaves
from commanalyzer.instrument.labelling.values import MASKED_LOADS, Definition, splits_words
from commanalyzer.instrument.ranges import byte_count, pointer_value
from commanalyzer.ir.libcalls import CallKind, LibraryCall
from commanalyzer.ir.model import Instruction, IrType, Operand
from commanalyzer.ir.types import size_bytes


def source_labels(book: LabelBook, lanes: LaneWriter, name: str) -> Labels:
    """Labels of a register that reads memory or comes through a call, and the code that finds them."""
    definition = book.values.definitions.get(name)
    out = book.anchor(name)
    is_split = splits_words(use.user for use in book.values.uses.get(name, ()))
    is_stored = any(use.user.opcode == "store" for use in book.values.uses.get(name, ()))
    if definition is None:
        slot = book.values.parameters[name]
        type_ = book.values.function.parameters[slot].type
        return received(book, type_, slot, out, with_words=is_split or is_stored)
    instruction = definition.instruction
    if instruction.callee.startswith(MASKED_LOADS):
        return _masked_load(book, lanes, definition, out)
    if instruction.opcode in ("call", "invoke"):
        known = book.values.calls.effect(instruction)
        if known is not None:
            return Labels((memory_label(book, instruction, known, out),))
        return received(book, instruction.type, -1, out, with_words=is_split or is_stored)
    if instruction.opcode == "load":
        return _load(book, instruction, out, is_split=is_split)
    # atomicrmw, cmpxchg: the old value, read before the instruction replaces it
    before = book.patch.before.setdefault(instruction.first_line, [])
    address = book.patch.address(before, instruction.operands[0].text)
    return Labels((book.patch.call(before, "ca_load", address),))


def memory_label(book: LabelBook, instruction: Instruction, known: LibraryCall, out: list[str]) -> str:
    """One label for the memory that a library call reads, found behind the call."""
    line = instruction.first_line
    if line not in book.read_by_library:
        labels = []
        for found in known.reads:
            address = pointer_value(book.patch, out, instruction.operands[found.pointer])
            size = byte_count(book.patch, out, instruction, found.size, address)
            if known.kind is CallKind.PARSE:
                labels.append(book.patch.call(out, "ca_shown", address, size))
            else:
                site = book.read_site(instruction, known.width)
                labels.append(book.patch.call(out, "ca_gather", site, address, size, known.width))
        if len(labels) > 1:
            site, pointer = book.read_site(instruction, known.width), book.patch.spill(out, labels)
            labels = [book.patch.call(out, "ca_join", site, len(labels), pointer)]
        book.read_by_library[line] = labels[0]
    return book.read_by_library[line]


def _masked_load(book: LabelBook, lanes: LaneWriter, definition: Definition, out: list[str]) -> Labels:
    """``llvm.masked.load`` (pointer, mask, other) and ``gather`` (pointers, mask, other), lane by lane."""
    instruction = definition.instruction
    pointer, mask, other = (o for o in instruction.operands if o.type.text != "i32")
    size = size_bytes(instruction.type.elements[0])
    otherwise = lanes.parts(other, definition.block)
    parts = []
    for lane in range(instruction.type.count):
        address = lane_address(book.patch, out, pointer, lane, size)
        read = Labels((book.patch.call(out, "ca_load", address),))
        if other.text in ("poison", "undef"):  # lanes that are off are not used: nothing is selected
            parts.append(read)
            continue
        rest = otherwise[lane] if len(otherwise) > 1 else otherwise[0]
        parts.append(lanes.chosen(mask, lane, read, rest, definition.block, out))
    return combined(book, parts, out)


def lane_address(patch: FunctionPatch, out: list[str], pointer: Operand, lane: int, size: int) -> str:
    """Address of a lane: from a vector of pointers, or ``size`` bytes apart behind one pointer."""
    if pointer.type.kind == "vector":
        text = patch.value(out, f"extractelement {pointer.type} {pointer.text}, i64 {lane}")
        return patch.address(out, text)
    first = patch.address(out, pointer.text)
    return patch.compute(out, "add", first, lane * size) if lane else first


def _load(book: LabelBook, instruction: Instruction, out: list[str], *, is_split: bool) -> Labels:
    type_ = instruction.type
    address = book.patch.address(out, instruction.operands[0].text)
    book.loaded_from[instruction.name] = address
    is_scalar = type_.kind in ("int", "float")
    size = size_bytes(type_)
    if is_scalar and size in (4, 8):
        label = book.patch.call(out, "ca_load", address)
        if not is_split or size == 4 or type_.kind == "float":
            return Labels((label,), Exact.YES, size // 4, instruction.name)
        high = book.high_label(instruction.name)
        words = (Labels((label,), Exact.YES), Labels((high,), Exact.YES))
        return Labels((label, high), Exact.YES, 2, instruction.name, words)
    if is_scalar and (size < 4 or type_.kind == "float"):
        return Labels((book.patch.call(out, "ca_load", address),))
    names = tuple(
        book.patch.call(out, "ca_load", book.patch.compute(out, "add", address, offset))
        for offset in _word_offsets(type_)
    )
    if len(names) > hooks.MAX_LABELS:
        names = (book.name_value(out, book.register_site(instruction.name), names),)
    return Labels(names, parts=_loaded_parts(book, instruction, address, out))


def _loaded_parts(book: LabelBook, instruction: Instruction, address: str, out: list[str]) -> Parts:
    """Labels of the scalars inside a loaded vector or aggregate."""
    if not part_types(instruction.type):
        return ()
    parts = []
    for number, (leaf, offset) in enumerate(scalar_leaves(instruction.type)):
        if leaf.kind == "ptr":
            parts.append(NOTHING)
            continue
        place = book.patch.compute(out, "add", address, offset) if offset else address
        label = book.patch.call(out, "ca_load", place)
        size = size_bytes(leaf)
        if size not in (4, 8):
            parts.append(Labels((label,)))
            continue
        key = f"{instruction.name}\0{number}"
        book.loaded_from[key] = place
        parts.append(Labels((label,), Exact.YES, size // 4, key))
    return tuple(parts)


def _word_offsets(type_: IrType) -> tuple[int, ...]:
    """Byte offsets that touch every word of a value, pointers left out; small leaves may be unaligned."""
    size = size_bytes(type_)
    if type_.kind in ("int", "float"):
        return tuple(range(0, size, 4))
    leaves = scalar_leaves(type_)
    if all(size_bytes(leaf) < 4 for leaf, _ in leaves):
        return tuple(dict.fromkeys((*range(0, size, 4), size - 1)))
    return tuple(offset for leaf, offset in leaves if leaf.kind != "ptr")
