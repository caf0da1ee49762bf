"""Marks in the source: ``COMMANALYZER_BEGIN("name")`` and ``COMMANALYZER_END("name")`` of ``commanalyzer.h``.

While a program is compiled for analysis, a mark is a call of an external function whose symbol carries the
name. The optimiser knows nothing about it, so no access to memory moves across it. After optimisation the
functions get empty bodies, so that the plain program links as well.

Fortran has no such header: ``call commanalyzer_begin_NAME()`` and ``call commanalyzer_end_NAME()`` between
``#ifdef __COMMANALYZER__`` and ``#endif`` are the same marks. Fortran compilers append an underscore to the
symbols of external procedures.
"""

from __future__ import annotations

import re

from commanalyzer.program.frontend.shim import include_directory

BEGIN = "commanalyzer.begin."
END = "commanalyzer.end."
MACRO = "__COMMANALYZER__"

_DECLARED = re.compile(
    r'^declare [^@\n]*@(?P<quote>"?)(?P<name>commanalyzer\.(?:begin|end)\.[^"\n(]*)(?P=quote)\(\)[^\n]*$',
    re.MULTILINE,
)
_FORTRAN = re.compile(r"@commanalyzer_(begin|end)_(\w+)_(?=\()")


def mark_names(ir_text: str) -> tuple[str, ...]:
    """Names of all marks in a module, in order of their first appearance."""
    symbols = (match.group("name") for match in _DECLARED.finditer(ir_text))
    return tuple(dict.fromkeys(s.removeprefix(BEGIN).removeprefix(END) for s in symbols))


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
