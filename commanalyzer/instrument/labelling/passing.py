"""Labels on their way through a call: one per scalar, two for 64-bit integers that may hold two words.

Argument ``i`` travels in ``ca_arguments[i]``; further scalars of a vector or aggregate, and second words,
in ``ca_argument_parts[16 i + 2 k + word]``. A second word's label is 0 where it belongs to the first one's
value. Caller and callee decide by the type alone, so that function pointers work.

The front end has turned ``va_arg`` into loads from the areas that ``va_list`` points to (System V x86-64), so
labels of variadic arguments only have to be in the shadow there: the caller describes, ``va_start`` writes.
"""

from __future__ import annotations

from commanalyzer.abi import hooks
from commanalyzer.instrument.code import FunctionPatch
from commanalyzer.instrument.labelling.labels import NOTHING, Exact, LabelBook, Labels
from commanalyzer.instrument.labelling.lanes import combined, part_types
from commanalyzer.ir.model import Function, Instruction, IrType, Operand
from commanalyzer.ir.types import alloc_size_bytes, size_bytes

MAX_PASSED_PARTS = 8
_GENERAL, _FLOATING, _MEMORY, _COPIED = range(4)
_STORAGE = "%ca.variadics"
_VA_START = "@llvm.va_start"


def is_wide(type_: IrType) -> bool:
    """A 64-bit integer: small structures travel in such registers."""
    return type_.kind == "int" and type_.bits == 64


def passed_types(type_: IrType) -> tuple[IrType, ...]:
    """Scalars that travel with labels of their own; empty if the whole register has one label."""
    parts = part_types(type_)
    return parts if len(parts) <= MAX_PASSED_PARTS else ()


def argument_slot(index: int, part: int = 0, word: int = 0) -> str:
    """Address of an argument's label."""
    if part == word == 0:
        return f"getelementptr inbounds (i64, ptr @ca_arguments, i64 {index})"
    number = (index * MAX_PASSED_PARTS + part) * 2 + word
    return f"getelementptr inbounds (i64, ptr @ca_argument_parts, i64 {number})"


def result_slot(part: int = 0, word: int = 0) -> str:
    """Address of a result's label."""
    if part == word == 0:
        return "@ca_result"
    return f"getelementptr inbounds (i64, ptr @ca_result_parts, i64 {2 * part + word})"


def pass_value(
    book: LabelBook, operand: Operand, block: str, index: int, out: list[str], *, with_words: bool
) -> None:
    """Code that hands the labels of ``operand`` over.

    Args:
        book: Labels of the function.
        operand: Argument or returned value.
        block: Where it is read.
        index: Number of the argument, -1 for a result.
        out: Receives the code.
        with_words: Pass both words of a scalar 64-bit integer.
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
            slot = argument_slot(index, k, word) if index >= 0 else result_slot(k, word)
            out.append(f"  store i64 {label}, ptr {slot}, align 8")


def _words(book: LabelBook, name: str, number: int, part: Labels, out: list[str]) -> tuple[str, str]:
    patch = book.patch
    if part.exact is Exact.DYNAMIC and part.high:
        return part.names[0], part.high
    if part.exact is Exact.YES and part.words == 2 and part.high:
        low, high = part.names[0], book.high_label(part.high)
        following = patch.compute(out, "add", low, "1")
        is_whole = patch.compute(out, "icmp eq", high, following)
        whole = book.with_exact(part, out)
        halves = [book.with_exact(Labels((n,)), out) for n in (low, high)]
        return (
            patch.choose(out, is_whole, whole, halves[0]),
            patch.choose(out, is_whole, "0", halves[1]),
        )
    if len(part.parts) == 2 and part.exact is Exact.NO:
        low_part, high_part = part.parts
        return (
            book.passed_part(name, 2 * number, low_part, out),
            book.passed_part(name, 2 * number + 1, high_part, out),
        )
    return book.passed_part(name, number, part, out), "0"


def words_of(book: LabelBook, operand: Operand, block: str, out: list[str]) -> tuple[str, str]:
    """Labels of a scalar and of its second word (``0``: it belongs to the same value)."""
    if operand.text not in book.values.carrying:
        return "0", "0"
    part = book.parts(operand.text, 1, block)[0]
    if is_wide(operand.type) or part.words == 2:
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
    slot = argument_slot(index, part, word) if index >= 0 else result_slot(part, word)
    return book.patch.value(out, f"load i64, ptr {slot}, align 8")


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
            low, high = words_of(book, operand, block, out)
            site = book.argument_site(call, operand, first + number)
            described = (_kind(operand.type), max(4, size_bytes(operand.type)), site, low, high)
        book.patch.call(out, "ca_pass_variadic", number, *described)


def plan_variadic_function(function: Function, patch: FunctionPatch) -> None:
    """Plan ``va_start`` in a function that is variadic itself."""
    if not function.is_vararg:
        return
    starts = [i for b in function.blocks for i in b.instructions if i.callee.startswith(_VA_START)]
    if not starts:
        return
    patch.entry.append(f"  {_STORAGE} = alloca [{hooks.VARIADICS_BYTES} x i8], align 8")
    patch.call(patch.entry, "ca_take_variadics", _STORAGE)
    for start in starts:
        out = patch.after.setdefault(start.last_line, [])
        patch.call(out, "ca_va_start", _STORAGE, start.operands[0].text)


def _kind(type_: IrType) -> int:
    if type_.text in ("x86_fp80", "fp128"):
        return _MEMORY
    return _FLOATING if type_.kind in ("float", "vector") else _GENERAL
