"""Source names of the symbols that flang and C++ compilers make."""

from __future__ import annotations

import re

_MANGLED = re.compile(r"@?_Q([A-Z][A-Za-z0-9_$.]*)")
_PART = re.compile(r"[A-Z]([a-z0-9_$.]*)")
_NESTED = re.compile(r"_Z(N?)(?:[KVrRO]|L|St)*(?=\d)")
_LENGTH = re.compile(r"L?(\d+)")
_CONSTRUCTOR = re.compile(r"(?:I.*E)?([CD])[0-5]")


def source_name(symbol: str) -> str:
    """What the source calls a function, without the types of its parameters; others without ``@``."""
    return cplusplus_name(fortran_name(symbol))


def cplusplus_name(symbol: str) -> str:
    """``hydro::compute_forces`` of a mangled symbol; other symbols unchanged.

    Plain nested names: what stands between ``_Z`` and the first type or template argument, and constructors
    (Itanium C++ ABI, 5.1).
    """
    match = _NESTED.match(symbol)
    if match is None:
        return symbol
    parts, at = list[str](), match.end()
    while (number := _LENGTH.match(symbol, at)) is not None:
        at = number.end() + int(number.group(1))
        parts.append(symbol[number.end() : at])
        if not match.group(1):
            return parts[0]
    special = _CONSTRUCTOR.match(symbol, at)
    if special and parts:
        parts.append("~" * (special.group(1) == "D") + parts[-1])
    return "::".join("(anonymous)" if part == "_GLOBAL__N_1" else part for part in parts) or symbol


def fortran_name(symbol: str) -> str:
    """``module::procedure::variable`` of a mangled symbol; other symbols unchanged, without ``@``.

    flang writes names in lower case and puts one capital letter in front of each: the kind of scope.
    """
    match = _MANGLED.fullmatch(symbol)
    if match is None:
        return symbol.removeprefix("@")
    if match.group(1) == "Qmain":
        return "main program"
    return "::".join(part for part in _PART.findall(match.group(1)) if part) or symbol.removeprefix("@")
