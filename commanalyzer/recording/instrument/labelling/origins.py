"""Where labels come from, and how they travel: memory, parameters, arguments and results of calls.

A call passes one label per scalar, two for 64-bit integers that may hold two words. Argument ``i`` travels in
``ca_arguments[i]``; further scalars of a vector or aggregate, and second words, in
``ca_argument_parts[16 i + 2 k + word]``. The label of a second word is 0 where it belongs to the first value.
Caller and callee decide by the type alone, so that function pointers work.

The front end has turned ``va_arg`` into loads from the areas that ``va_list`` points to (System V x86-64), so
labels of variadic arguments only have to be in the shadow there: the caller describes, ``va_start`` writes.
"""

from __future__ import annotations

from functools import reduce

from commanalyzer.program.ir.libcalls import ByteCount, CallKind, LibraryCall, MemoryRange
from commanalyzer.program.ir.model import Function, Instruction, IrType, Operand
from commanalyzer.program.ir.types import alloc_size_bytes, size_bytes
from commanalyzer.recording import abi
from commanalyzer.recording.instrument.code import FunctionPatch
from commanalyzer.recording.instrument.labelling.choices import LaneWriter, Parts, combined, part_types
from commanalyzer.recording.instrument.labelling.labels import NOTHING, Exact, LabelBook, Labels
from commanalyzer.recording.instrument.labelling.values import (
    MASKED_LOADS,
    Place,
    scalar_leaves,
    splits_words,
)

MAX_PASSED_PARTS = 8
_GENERAL, _FLOATING, _MEMORY, _COPIED = range(4)
_STORAGE = "%ca.variadics"
_VA_START = "@llvm.va_start"
_NO_LIMIT = -1


def is_wide(type_: IrType) -> bool:
    """A 64-bit integer: small structures travel in such registers."""
    return type_.kind == "int" and type_.bits == 64


def passed_types(type_: IrType) -> tuple[IrType, ...]:
    """Scalars that travel with labels of their own; empty if the whole register has one label."""
    parts = part_types(type_)
    return parts if len(parts) <= MAX_PASSED_PARTS else ()


def label_slot(index: int, part: int = 0, word: int = 0) -> str:
    """Address of the label of an argument, or of the result (``index`` -1)."""
    at, is_first = "getelementptr inbounds (i64, ptr @ca_{}, i64 {})".format, part == word == 0
    if index < 0:
        return "@ca_result" if is_first else at("result_parts", 2 * part + word)
    number = (index * MAX_PASSED_PARTS + part) * 2 + word
    return at("arguments", index) if is_first else at("argument_parts", number)


def pass_value(
    book: LabelBook, operand: Operand, block: str, index: int, out: list[str], *, with_words: bool
) -> None:
    """Code that hands the labels of ``operand``, as read in ``block``, over; ``index`` is -1 for a result.

    ``with_words`` passes both words of a scalar 64-bit integer.
    """
    types = passed_types(operand.type)
    parts = book.parts(operand.text, len(types) or 1, block)
    for k, (type_, part) in enumerate(zip(types or (operand.type,), parts, strict=True)):
        words: tuple[str, ...]
        if is_wide(type_) and (types or with_words):
            words = _words(book, operand.text, k, part, out)
        elif types:
            words = (book.passed_part(operand.text, k, part, out),)
        else:
            words = (book.passed(operand.text, block, out),)
        for word, label in enumerate(words):
            out.append(f"  store i64 {label}, ptr {label_slot(index, k, word)}, align 8")


def _words(book: LabelBook, name: str, number: int, part: Labels, out: list[str]) -> tuple[str, str]:
    patch = book.patch
    if part.exact is Exact.DYNAMIC and part.high:
        return part.names[0], part.high
    if part.exact is Exact.YES and part.size == 8 and part.high:
        low, high = part.names[0], book.high_label(part.high)
        following = patch.compute(out, "add", low, patch.words(4))
        is_whole = patch.compute(out, "icmp eq", high, following)
        whole = book.with_exact(part, out)
        halves = [book.with_exact(Labels((n,)), out) for n in (low, high)]
        return patch.choose(out, is_whole, whole, halves[0]), patch.choose(out, is_whole, "0", halves[1])
    if len(part.parts) == 2 and part.exact is Exact.NO:
        low_part, high_part = part.parts
        return (
            book.passed_part(name, 2 * number, low_part, out),
            book.passed_part(name, 2 * number + 1, high_part, out),
        )
    return book.passed_part(name, number, part, out), "0"


def _words_of(book: LabelBook, operand: Operand, block: str, out: list[str]) -> tuple[str, str]:
    """Labels of a scalar and of its second word (``0``: it belongs to the same value)."""
    if operand.text not in book.values.carrying:
        return "0", "0"
    part = book.parts(operand.text, 1, block)[0]
    if is_wide(operand.type) or part.size == 8:
        return _words(book, operand.text, 0, part, out)
    return book.passed(operand.text, block, out), "0"


def received(book: LabelBook, type_: IrType, index: int, out: list[str], *, with_words: bool) -> Labels:
    """Labels of a parameter, or of a result (``index`` -1), and the code that fetches them."""
    types = passed_types(type_)
    parts = []
    for k, leaf in enumerate(types or (type_,)):
        if leaf.kind == "ptr":
            parts.append(NOTHING)
            continue
        low = _fetch(book, index, k, 0, out)
        if is_wide(leaf) and (types or with_words):
            parts.append(_wide(book, low, _fetch(book, index, k, 1, out), out))
        else:
            parts.append(Labels((low,), Exact.DYNAMIC))
    return combined(book, parts, out) if types else parts[0]


def _fetch(book: LabelBook, index: int, part: int, word: int, out: list[str]) -> str:
    return book.patch.value(out, f"load i64, ptr {label_slot(index, part, word)}, align 8")


def _wide(book: LabelBook, low: str, high: str, out: list[str]) -> Labels:
    """A 64-bit integer that is one value (``high`` 0) or two words."""
    lower = book.patch.call(out, "ca_lower", low)
    upper = book.patch.call(out, "ca_upper", low, high)
    parts = (Labels((lower,), Exact.DYNAMIC), Labels((upper,), Exact.DYNAMIC))
    names = (low, book.without_exact(high, out))
    return Labels(names, Exact.DYNAMIC, high=high, parts=parts)


def pass_variadics(book: LabelBook, call: Instruction, block: str, out: list[str]) -> None:
    """Describe the arguments of a call behind the fixed ones."""
    if call.callee_type is None or not call.callee_type.text.endswith("...)"):
        return
    first = len(call.callee_type.elements) - 1
    arguments = call.operands[first:]
    book.patch.call(out, "ca_pass_variadics", len(arguments))
    for number, operand in enumerate(arguments):
        if (type_ := call.copied.get(first + number)) is not None:
            address = book.patch.address(out, operand.text)
            described = (_COPIED, alloc_size_bytes(type_), 0, address, "0")
        else:
            low, high = _words_of(book, operand, block, out)
            name, width = f"{call.callee}.{first + number}", book.width(operand.type)
            site = book.add_site(name, "register", width, call)
            described = (_kind(operand.type), max(4, size_bytes(operand.type)), site, low, high)
        book.patch.call(out, "ca_pass_variadic", number, *described)


def plan_variadic_function(function: Function, patch: FunctionPatch) -> None:
    """Plan ``va_start`` in a function that is variadic itself."""
    if not function.is_vararg:
        return
    starts = [i for i in function.instructions if i.callee.startswith(_VA_START)]
    if not starts:
        return
    patch.entry.append(f"  {_STORAGE} = alloca [{abi.VARIADICS_BYTES} x i8], align 8")
    patch.call(patch.entry, "ca_take_variadics", _STORAGE)
    for start in starts:
        out = patch.after.setdefault(start.last_line, [])
        patch.call(out, "ca_va_start", _STORAGE, start.operands[0].text)


def _kind(type_: IrType) -> int:
    if type_.text in ("x86_fp80", "fp128"):
        return _MEMORY
    return _FLOATING if type_.kind in ("float", "vector") else _GENERAL


def source_labels(book: LabelBook, lanes: LaneWriter, name: str) -> Labels:
    """Labels of a register that reads memory or comes through a call, and the code that finds them."""
    definition = book.values.definitions.get(name)
    out = book.anchor(name)
    users = [use.instruction for use in book.values.uses.get(name, ())]
    is_split, is_stored = any(map(splits_words, users)), any(user.opcode == "store" for user in users)
    if definition is None:
        slot = book.values.parameters[name]
        type_ = book.values.function.parameters[slot].type
        return received(book, type_, slot, out, with_words=is_split or is_stored)
    instruction = definition.instruction
    if name in book.values.results:
        return Labels((book.name_value(out, book.register_site(name, book.values.results[name]), ()),))
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
            address, size = memory_range(book.patch, out, instruction, found)
            if known.kind is CallKind.PARSE:
                labels.append(book.patch.call(out, "ca_shown", address, size))
            else:
                site = book.call_site(instruction, "register", known.width)
                labels.append(book.patch.call(out, "ca_gather", site, address, size, known.width))
        if len(labels) > 1:
            site = book.call_site(instruction, "register", known.width)
            pointer = book.patch.spill(out, labels)
            labels = [book.patch.call(out, "ca_join", site, len(labels), pointer)]
        book.read_by_library[line] = labels[0]
    return book.read_by_library[line]


def _masked_load(book: LabelBook, lanes: LaneWriter, definition: Place, out: list[str]) -> Labels:
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
    return patch.offset(out, first, lane * size)


def _load(book: LabelBook, instruction: Instruction, out: list[str], *, is_split: bool) -> Labels:
    type_ = instruction.type
    address = book.patch.address(out, instruction.operands[0].text)
    book.loaded_from[instruction.name] = address
    is_scalar = type_.kind in ("int", "float")
    size = size_bytes(type_)
    if is_scalar and size in book.patch.copied_sizes:
        label = book.patch.call(out, "ca_load", address)
        if not is_split or size <= 4 or type_.kind == "float":
            return Labels((label,), Exact.YES, size, instruction.name)
        high = book.high_label(instruction.name)
        words = (Labels((label,), Exact.YES), Labels((high,), Exact.YES))
        return Labels((label, high), Exact.YES, 8, instruction.name, words)
    if is_scalar and (size < 4 or type_.kind == "float"):
        return Labels((book.patch.call(out, "ca_load", address),))
    names = tuple(
        book.patch.call(out, "ca_load", book.patch.compute(out, "add", address, offset))
        for offset in _word_offsets(type_, book.patch.word_bytes)
    )
    if len(names) > abi.MAX_LABELS:
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
        place = book.patch.offset(out, address, offset)
        label = book.patch.call(out, "ca_load", place)
        size = size_bytes(leaf)
        if size not in book.patch.copied_sizes:
            parts.append(Labels((label,)))
            continue
        key = f"{instruction.name}\0{number}"
        book.loaded_from[key] = place
        parts.append(Labels((label,), Exact.YES, size, key))
    return tuple(parts)


def _word_offsets(type_: IrType, word_bytes: int) -> tuple[int, ...]:
    """Byte offsets that touch every word of a value, pointers left out; small leaves may be unaligned."""
    size = size_bytes(type_)
    if type_.kind in ("int", "float"):
        return tuple(range(0, size, 4))
    leaves = scalar_leaves(type_)
    if all(size_bytes(leaf) < word_bytes for leaf, _ in leaves):
        return tuple(dict.fromkeys((*range(0, size, 4), size - 1)))
    return tuple(offset for leaf, offset in leaves if leaf.kind != "ptr")


def memory_range(
    patch: FunctionPatch, out: list[str], instruction: Instruction, found: MemoryRange
) -> tuple[str, str]:
    """Address and number of bytes of memory that a library call reads or writes."""
    address = pointer_value(patch, out, instruction.operands[found.pointer])
    return address, byte_count(patch, out, instruction, found.size, address)


def pointer_value(patch: FunctionPatch, out: list[str], operand: Operand) -> str:
    """Address in a pointer argument, as an integer register."""
    if operand.type.kind == "ptr":
        return patch.address(out, operand.text)
    return "0"  # a scalar where the model expects a pointer: nothing is written through it


def byte_count(
    patch: FunctionPatch, out: list[str], instruction: Instruction, size: ByteCount, address: str = "0"
) -> str:
    """Number of bytes, as a register or a constant; ``address`` is where a text starts."""
    operands = instruction.operands
    if size.is_string:
        limit = as_i64(patch, out, operands[size.arguments[0]]) if size.arguments else str(_NO_LIMIT)
        return patch.call(out, "ca_string_bytes", address, limit)
    factors = [as_i64(patch, out, operands[index]) for index in size.arguments]
    for end, start in size.differences:
        ends = [pointer_value(patch, out, operands[index]) for index in (end, start)]
        factors.append(patch.compute(out, "sub", ends[0], ends[1]))
    if size.constant != 1 or not factors:
        factors.insert(0, str(size.constant))
    return reduce(lambda left, right: patch.compute(out, "mul", left, right), factors)


def as_i64(patch: FunctionPatch, out: list[str], operand: Operand) -> str:
    """An unsigned argument as i64."""
    if operand.type.bits == 64:
        return operand.text
    return patch.value(out, f"zext {operand.type} {operand.text} to i64")
