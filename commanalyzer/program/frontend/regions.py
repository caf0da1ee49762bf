"""Finds what a user names as region of interest: functions, which must not be inlined then, and marks.

A user writes ``heat_step`` or ``Solver::step``; the IR may call it ``@_ZN6Solver4stepEv``. Debug information
and the mangled name know both.
Works on the printed module, whose debug metadata llvmlite cannot be trusted to walk.

Marks in the source: ``COMMANALYZER_BEGIN("name")`` and ``COMMANALYZER_END("name")`` of ``commanalyzer.h``.

While a program is compiled for analysis, a mark is a call of an external function whose symbol carries the
name. The optimiser knows nothing about it, so no access to memory moves across it. After optimisation the
functions get empty bodies, so that the plain program links as well.
In Fortran, ``call commanalyzer_begin_NAME()``; its compilers append an underscore to the symbol.
"""

from __future__ import annotations

import difflib
import re

from commanalyzer.foundation.errors import ConfigError
from commanalyzer.program.frontend.toolchain import include_directory
from commanalyzer.program.ir.names.addresses import source_name

BEGIN = "commanalyzer.begin."
END = "commanalyzer.end."
MACRO = "__COMMANALYZER__"

_DECLARED = re.compile(
    r'^declare [^@\n]*@(?P<quote>"?)(?P<name>commanalyzer\.(?:begin|end)\.[^"\n(]*)(?P=quote)\(\)[^\n]*$',
    re.MULTILINE,
)
_FORTRAN = re.compile(r"@commanalyzer_(begin|end)_(\w+)_(?=\()")


def define_marks(ir_text: str) -> str:
    """Module text in which the functions that stand for marks have empty bodies."""

    def defined(match: re.Match[str]) -> str:
        quoted = f"{match.group('quote')}{match.group('name')}{match.group('quote')}"
        return f"define internal void @{quoted}() noinline {{\nentry:\n  ret void\n}}"

    return _DECLARED.sub(defined, ir_text)


def with_fortran_marks(ir_text: str) -> str:
    """Module text of a Fortran source in which calls of mark procedures are marks."""
    return _FORTRAN.sub(r"@commanalyzer.\1.\2", ir_text)


def mark_flags() -> tuple[str, ...]:
    """Compiler flags with which marks become calls."""
    return (f"-D{MACRO}", "-isystem", str(include_directory()))


_DEFINE = re.compile(r'^define [^@]*@(?P<name>"[^"]*"|[-\w$.]+)\(')
_SUBPROGRAM_OF_DEFINE = re.compile(r"!dbg !(\d+)[^()]*\{$")
_SUBPROGRAM = re.compile(r'^!(\d+) = distinct !DISubprogram\((?:[^"]*?, )?name: "([^"]*)"')
_PARAMETERS = re.compile(r"\(.*\)$")
# What may stand between the parameters and the function attributes.
_BEFORE_ATTRIBUTES = re.compile(r"( (local_)?unnamed_addr)?( addrspace\(\d+\))?")


def mark_regions(ir_text: str, wanted: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """Module text in which the wanted functions are ``noinline``, and their IR names.

    Wanted are source names, with scopes or without, or IR names of functions, and marks. IR names are without
    ``@``: first of functions in order of definition (one source name may stand for several overloads), then
    of the functions that stand for the begin of a mark. Raises ConfigError if a name matches nothing.
    """
    lines = ir_text.split("\n")
    plain = {name: _PARAMETERS.sub("", name) for name in wanted}
    source_names = {m.group(1): source_name(m.group(2)) for m in map(_SUBPROGRAM.match, lines) if m}
    found: list[str] = []
    matched: set[str] = set()
    available: list[str] = []
    for index, line in enumerate(lines):
        define = _DEFINE.match(line)
        if define is None:
            continue
        ir_name = define.group("name").strip('"')
        node = _SUBPROGRAM_OF_DEFINE.search(line)
        scoped = source_name(ir_name)
        name = source_names.get(node.group(1), scoped) if node else scoped
        available.append(scoped if scoped.endswith(name) else name)
        names = {ir_name, name, scoped}
        if names.isdisjoint(plain.values()):
            continue
        matched |= {given for given, short in plain.items() if short in names}
        found.append(ir_name)
        lines[index] = prevent_inlining(line)
    symbols = (match.group("name") for match in _DECLARED.finditer(ir_text))
    marks = {s: source_name(s) for s in (s.removeprefix(BEGIN).removeprefix(END) for s in symbols)}
    found += [BEGIN + symbol for symbol, name in marks.items() if name in wanted]
    _require_all(wanted, matched | set(marks.values()), available, tuple(marks.values()))
    return "\n".join(lines), tuple(found)


def prevent_inlining(line: str) -> str:
    """``define`` line with the attribute ``noinline``."""
    define = _DEFINE.match(line)
    if define is None:
        return line
    opening = define.end() - 1
    depth, quoted, end = 0, False, opening
    for end in range(opening, len(line)):
        character = line[end]
        quoted ^= character == '"'
        if not quoted:
            depth += (character == "(") - (character == ")")
            if depth == 0:
                break
    skipped = _BEFORE_ATTRIBUTES.match(line, end + 1)
    place = skipped.end() if skipped else end + 1
    tail = line[place:].replace(" alwaysinline ", " ").replace(" inlinehint ", " ")
    return f"{line[:place]} noinline{tail.replace(' noinline ', ' ')}"


def _require_all(
    wanted: tuple[str, ...], matched: set[str], available: list[str], marks: tuple[str, ...]
) -> None:
    for name in wanted:
        if name not in matched:
            own = {known for known in available if not known.split("::")[0].startswith(("_", "std"))}
            near = difflib.get_close_matches(name, own, n=12, cutoff=0.5)
            known = ", ".join(near or sorted(own)[:12])
            marked = f"marks: {', '.join(marks[:12])}" if marks else "no marks"
            raise ConfigError(
                f"expected a function or mark named {name!r} for the region, found none "
                f"({'similar ones' if near else 'functions'}: {known}; {marked})",
                where="--region",
                hint="name a function that is defined in the given sources, or a mark of commanalyzer.h",
            )
