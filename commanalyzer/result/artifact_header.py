"""Scalars and texts of a result file as one JSON document, and the result rebuilt from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields, is_dataclass
from functools import cache
from typing import Any, Literal, TypeAlias, cast, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from commanalyzer.communication.matrix import Communication, CountedRun
from commanalyzer.division.owners import Owners
from commanalyzer.graph.storage.store import GraphStore
from commanalyzer.machine.kinds import KINDS
from commanalyzer.result.results import AnalysisResult, Decomposition

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
Arrays = Mapping[str, NDArray[Any]]

_MOST = (1 << 63) - 1
_APART = {"store", "decompositions", "communication", "owners", "object_bytes"}  # arrays, or with such


def header_of(result: AnalysisResult) -> dict[str, Json]:
    """JSON document of everything in ``result`` that is not a large array."""
    # units and phase models belong to machine files
    known = {name: asdict(parameter) for name, parameter in result.machine.parameters.items()}
    machine = {"name": result.machine.name, **dict.fromkeys(KINDS), **known}
    divided = [_decomposition_header(d) for d in result.decompositions]
    return _entries(result) | cast("dict[str, Json]", {"machine": machine, "decompositions": divided})


def counted_header(counted: CountedRun) -> Json:
    """JSON document of how an MPI program was counted."""
    return cast(Json, asdict(counted))


def _decomposition_header(item: Decomposition) -> dict[str, Json]:
    traffic = item.communication
    return _entries(item) | {
        "low_bytes": traffic.low_bytes,
        "high_bytes": traffic.high_bytes,
        "singleton_bytes": traffic.singleton_bytes,
        "collectives": collectives_header(traffic),
    }


def _entries(item: AnalysisResult | Decomposition) -> dict[str, Json]:
    values = {f.name: getattr(item, f.name) for f in fields(item) if f.name not in _APART}
    return {name: asdict(v) if is_dataclass(v) else v for name, v in values.items()}  # type: ignore[arg-type]


def collectives_header(communication: Communication) -> Json:
    """JSON list of what belongs to hub values; ``None`` when it was not told apart."""
    if communication.collectives is None:
        return None
    return [cast(Json, asdict(item)) for item in communication.collectives]


def result_from_header(document: object, store: GraphStore, arrays: Sequence[Arrays]) -> AnalysisResult:
    """Result rebuilt from its header, coded graph and the arrays of each decomposition.

    Raises:
        KeyError: If there is no list of decompositions.
        TypeError: If another entry is missing, or an entry has the wrong type.
        ValueError: If the number of decompositions differs, or a number is too large.
    """
    known = _read(AnalysisResult, document)
    items = zip(cast("dict[str, list[object]]", document)["decompositions"], arrays, strict=True)
    divided = tuple(_decomposition(item, data) for item, data in items)
    return AnalysisResult(**known, store=store, decompositions=divided)


def _decomposition(item: object, arrays: Arrays) -> Decomposition:
    known = _read(Communication, item)
    known |= {name: array for name, array in arrays.items() if name not in ("part", "object_bytes")}
    return Decomposition(
        **_read(Decomposition, item),
        communication=Communication(**known),
        owners=Owners.of(arrays["part"].astype(np.int32)),
        object_bytes=arrays["object_bytes"],
    )


_hints = cache(get_type_hints)


def _read(kind: type, value: object) -> dict[str, Any]:
    """Fields of a dataclass that a table has; others of its entries are another's, or of another version."""
    table = _made(dict, value)
    named = {name: hint for name, hint in _hints(kind).items() if name in table and name not in _APART}
    return {name: _made(hint, table[name]) for name, hint in named.items()}


def _made(kind: Any, value: object) -> Any:
    """An entry of a document as a value of the type of its field."""
    inner, origin = get_args(kind), get_origin(kind)
    if isinstance(kind, type) and is_dataclass(kind):
        return kind(**_read(kind, value))
    if type(None) in inner:
        return None if value is None else _made(inner[0], value)
    if origin is tuple:
        items = _made(list, value)
        kinds = inner[:1] * len(items) if inner[-1] is ... else inner
        return tuple(_made(*pair) for pair in zip(kinds, items, strict=True))
    if origin is Literal:
        if value not in inner:
            raise ValueError(f"expected one of {', '.join(inner)}, found {value!r}")
        return value
    if not isinstance(value, int | float if kind is float else kind):
        raise TypeError(f"expected {kind.__name__}, found {type(value).__name__}")
    if kind is int and not -_MOST <= cast(int, value) <= _MOST:
        raise ValueError(f"expected a whole number of 64 bits, found one of {cast(int, value).bit_length()}")
    return kind(value)
