"""Library functions whose address the program takes: the address becomes that of a small function of ours.

``double (*f)(double) = sin;`` calls library code through a pointer, where nothing can be inserted. Every use
of such an address (they must stay equal to each other) is replaced by a function that only calls the library
function; its call is then one like any other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from commanalyzer.program.ir.libcalls import CallKind, LibraryModel
from commanalyzer.program.ir.model import Declaration, Module
from commanalyzer.program.ir.parsing.parser import parse_module

_PREFIX = "@ca.thunk."
_WITHOUT_EFFECT = frozenset({CallKind.IGNORE, CallKind.OUTPUT, CallKind.EXIT, CallKind.THREAD})
_SPECIAL = re.compile(r"\b(?:sret|byval|inreg|inalloca|nest|preallocated)\b")
_OTHERS = ("declare ", "define ", "attributes ", "source_filename", "!", ";")  # lines without such uses


def with_thunks(module: Module, library: LibraryModel) -> Module:
    """The module with modelled library functions called directly wherever they are called.

    Variadic functions and those with structures in their signature are left as they are.
    """
    wrapped = {d.name: d for d in module.declarations if _is_wrapped(d, module, library)}
    if not wrapped:
        return module
    uses = re.compile(r'"[^"]*"|(' + "|".join(map(re.escape, wrapped)) + r')(?![\w.$"(-])')
    used: set[str] = set()

    def renamed(match: re.Match[str]) -> str:
        if not match[1]:
            return match[0]  # a text constant
        used.add(match[1])
        return _PREFIX + match[1][1:]

    lines = [line if line.startswith(_OTHERS) else uses.sub(renamed, line) for line in module.lines]
    if not used:
        return module
    return parse_module("\n".join([*lines, *_definitions(wrapped[name] for name in sorted(used)), ""]))


def _is_wrapped(declaration: Declaration, module: Module, library: LibraryModel) -> bool:
    name, types = declaration.name[1:], (*declaration.parameter_types, declaration.return_type)
    if declaration.is_vararg or name.startswith(("llvm.", '"')):
        return False
    known = library.fitting(name, len(declaration.parameter_types))
    if known is None or known.kind in _WITHOUT_EFFECT:
        return False
    whole = {("int", 32), ("int", 64)}
    simple = all(t.kind in ("float", "ptr", "void") or (t.kind, t.bits) in whole for t in types)
    return simple and not _SPECIAL.search(module.lines[declaration.first_line])


def _definitions(declarations: Iterable[Declaration]) -> Iterable[str]:
    for declaration in declarations:
        types = [t.text for t in declaration.parameter_types]
        parameters = ", ".join(f"{t} %p{i}" for i, t in enumerate(types))
        returns = declaration.return_type.text
        kept, end = ("", "void") if returns == "void" else ("%result = ", f"{returns} %result")
        yield from ("", f"define internal {returns} {_PREFIX}{declaration.name[1:]}({parameters}) uwtable {{")
        yield from ("entry:", f"  {kept}call {returns} {declaration.name}({parameters})", f"  ret {end}", "}")
