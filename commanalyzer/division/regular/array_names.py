"""Arrays by the names that users give them."""

from __future__ import annotations

from collections.abc import Sequence

from commanalyzer.division.regular.shapes import Array
from commanalyzer.foundation.errors import ConfigError
from commanalyzer.graph.value_graph import HomeObject

_MOST_LISTED = 12
_SEPARATORS = (".", "%", "::")  # of members, and of scopes in Fortran


def arrays_called(
    objects: Sequence[HomeObject], arrays: Sequence[Array], name: str, where: str
) -> list[Array]:
    """Return the arrays called ``name``; ``objects`` and ``arrays`` are those of the graph.

    Raises:
        ConfigError: As :func:`require_called` says.
    """
    known = [objects[a.number].name for a in arrays]
    require_called(known, name, where)
    return [a for a, found in zip(arrays, are_called(known, name), strict=True) if found]


def are_called(known: Sequence[str], *names: str) -> list[bool]:
    """Which of ``known`` are one of ``names``, or where none is, end in it: ``x`` finds ``domain.x``."""
    found: set[str] = set()
    for name in names:
        endings = tuple(separator + name for separator in _SEPARATORS)
        found |= {name} & set(known) or {k for k in known if k.endswith(endings)}
    return [k in found for k in known]


def require_called(known: Sequence[str], name: str, where: str) -> None:
    """Check that one of the names ``known`` is what the option or file ``where`` calls ``name``.

    Raises:
        ConfigError: If there is none.
    """
    if not any(are_called(known, name)):
        raise ConfigError(
            f"expected the name of an array, found {name!r}",
            where=where,
            hint=f"arrays of this run: {', '.join(list(dict.fromkeys(known))[:_MOST_LISTED])}",
        )
