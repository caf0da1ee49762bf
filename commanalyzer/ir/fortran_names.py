"""Source names of Fortran symbols as flang mangles them."""

from __future__ import annotations

import re

_MANGLED = re.compile(r"@?_Q([A-Z][A-Za-z0-9_$.]*)")
_PART = re.compile(r"[A-Z]([a-z0-9_$.]*)")


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
