"""Arrays by the names that users give them."""

from __future__ import annotations

from collections.abc import Sequence

from commanalyzer.errors import ConfigError
from commanalyzer.partition.regular.shapes import Array
from commanalyzer.vcg.graph import HomeObject

_MOST_LISTED = 12
_SEPARATORS = (".", "%", "::")  # of members, and of scopes in Fortran


def arrays_called(
    objects: Sequence[HomeObject], arrays: Sequence[Array], name: str, where: str
) -> list[Array]:
    """Return the arrays called ``name``, else those whose last parts are: ``x`` finds ``domain.x``.

    Args:
        objects: Objects of the graph.
        arrays: Arrays of the graph.
        name: What the user calls them.
        where: Option or file that names them.

    Raises:
        ConfigError: If there is none.
    """
    called = [objects[a.number].name for a in arrays]
    exact = [a for a, found in zip(arrays, called, strict=True) if found == name]
    endings = tuple(separator + name for separator in _SEPARATORS)
    if exact or any(found.endswith(endings) for found in called):
        return exact or [a for a, found in zip(arrays, called, strict=True) if found.endswith(endings)]
    known = dict.fromkeys(objects[array.number].name for array in arrays)
    raise ConfigError(
        f"expected the name of an array, found {name!r}",
        where=where,
        hint=f"arrays of this run: {', '.join(list(known)[:_MOST_LISTED])}",
    )
