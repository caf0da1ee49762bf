"""Variadic arguments: labels from the caller to the places where ``va_arg`` reads them.

The front end has turned ``va_arg`` into loads from the areas that ``va_list`` points to (System V x86-64), so
their labels only have to be in the shadow there: the caller describes its arguments, ``va_start`` writes.
"""

from __future__ import annotations

from commanalyzer.abi import hooks
from commanalyzer.instrument.code import FunctionPatch
from commanalyzer.instrument.labelling.labels import LabelBook
from commanalyzer.instrument.labelling.passing import words_of
from commanalyzer.ir.model import Function, Instruction, IrType
from commanalyzer.ir.types import alloc_size_bytes, size_bytes

_GENERAL, _FLOATING, _MEMORY, _COPIED = range(4)
_STORAGE = "%ca.variadics"
_VA_START = "@llvm.va_start"


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
