"""Where labels come from: loads, atomic operations, parameters and results of calls."""

from __future__ import annotations

from commanalyzer.abi import hooks
from commanalyzer.instrument.labels import Exact, LabelBook, Labels
from commanalyzer.instrument.ranges import byte_count, pointer_value
from commanalyzer.instrument.scalars import scalar_leaves
from commanalyzer.ir.libcalls import CallKind, LibraryCall
from commanalyzer.ir.model import Instruction, IrType
from commanalyzer.ir.types import size_bytes


def source_labels(book: LabelBook, name: str) -> Labels:
    """Labels of a register that reads memory or comes through a call, and the code that finds them."""
    definition = book.values.definitions.get(name)
    out = book.anchor(name)
    if definition is None:
        slot = book.values.parameters[name]
        pointer = f"getelementptr inbounds (i64, ptr @ca_arguments, i64 {slot})"
        label = book.patch.value(out, f"load i64, ptr {pointer}, align 8")
        return Labels((label,), Exact.DYNAMIC)
    instruction = definition.instruction
    if instruction.opcode in ("call", "invoke"):
        known = book.values.calls.effect(instruction)
        if known is not None:
            return Labels((memory_label(book, instruction, known, out),))
        label = book.patch.value(out, "load i64, ptr @ca_result, align 8")
        return Labels((label,), Exact.DYNAMIC)
    if instruction.opcode == "load":
        return _load(book, instruction, out)
    # atomicrmw, cmpxchg: the old value, read before the instruction replaces it
    before = book.patch.before.setdefault(instruction.first_line, [])
    address = book.patch.value(before, f"ptrtoint ptr {instruction.operands[0].text} to i64")
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


def _load(book: LabelBook, instruction: Instruction, out: list[str]) -> Labels:
    type_ = instruction.type
    address = book.patch.value(out, f"ptrtoint ptr {instruction.operands[0].text} to i64")
    book.loaded_from[instruction.name] = address
    is_scalar = type_.kind in ("int", "float")
    size = size_bytes(type_)
    if is_scalar and size in (4, 8):
        label = book.patch.call(out, "ca_load", address)
        names: tuple[str, ...] = (label,)
        if _is_unpacked(book, instruction):
            names = (label, book.high_label(instruction.name))
        return Labels(names, Exact.YES, size // 4, instruction.name)
    if is_scalar and (size < 4 or type_.kind == "float"):
        return Labels((book.patch.call(out, "ca_load", address),))
    names = tuple(
        book.patch.call(out, "ca_load", book.patch.value(out, f"add i64 {address}, {offset}"))
        for offset in _word_offsets(type_)
    )
    if len(names) > hooks.MAX_LABELS:
        names = (book.name_value(out, book.register_site(instruction.name), names),)
    return Labels(names)


def _word_offsets(type_: IrType) -> tuple[int, ...]:
    """Byte offsets that touch every word of a value, pointers left out; small leaves may be unaligned."""
    size = size_bytes(type_)
    if type_.kind in ("int", "float"):
        return tuple(range(0, size, 4))
    leaves = scalar_leaves(type_)
    if all(size_bytes(leaf) < 4 for leaf, _ in leaves):
        return tuple(dict.fromkeys((*range(0, size, 4), size - 1)))
    return tuple(offset for leaf, offset in leaves if leaf.kind != "ptr")


def _is_unpacked(book: LabelBook, instruction: Instruction) -> bool:
    """A 64-bit integer load whose halves are used separately (a pair of 4-byte values)."""
    if instruction.type.bits != 64 or instruction.type.kind != "int":
        return False
    return any(
        use.user.opcode in ("lshr", "ashr") and use.user.operands[1].text == "32"
        for use in book.values.uses.get(instruction.name, ())
    )
