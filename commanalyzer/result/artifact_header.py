"""Scalars and texts of a result file as one JSON document, and the result rebuilt from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields, is_dataclass
from functools import cache
from typing import TypeAlias, TypedDict, cast, get_type_hints

import numpy as np

from commanalyzer.communication.matrix import Communication
from commanalyzer.division.owners import Owners
from commanalyzer.foundation.documents import Fields, Parsed, typed
from commanalyzer.graph.storage.store import GraphStore
from commanalyzer.graph.value_graph import Array
from commanalyzer.machine.parameters import KINDS
from commanalyzer.result.results import AnalysisResult, Decomposition

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
Arrays = Mapping[str, Array]

_ARRAYS = ("object_bytes", "transfers")  # of a division, beside its owners
_APART = {"store", "decompositions", "communication", "owners", *_ARRAYS}  # arrays, or with such


def header_of(result: AnalysisResult) -> dict[str, Json]:
    """JSON document of everything in ``result`` that is not a large array."""
    # units and phase models belong to machine files
    known = {name: asdict(parameter) for name, parameter in result.machine.parameters.items()}
    machine = {"name": result.machine.name, **dict.fromkeys(KINDS), **known}
    divided = [_decomposition_header(d) for d in result.decompositions]
    return _entries(result) | cast("dict[str, Json]", {"machine": machine, "decompositions": divided})


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
    known |= {name: array for name, array in arrays.items() if name not in ("part", *_ARRAYS)}
    return Decomposition(
        **_read(Decomposition, item),
        communication=Communication(**known),
        owners=Owners.of(arrays["part"].astype(np.int32)),
        object_bytes=arrays["object_bytes"],
        transfers=arrays.get("transfers"),
    )


def _read(kind: type, value: object) -> Fields:
    """Fields of a dataclass that a table has; others of its entries are another's, or of another version."""
    return typed(value, _fields(kind))


@cache
def _fields(kind: type) -> type[Fields]:
    hints = {name: hint for name, hint in get_type_hints(kind).items() if name not in _APART}
    return cast("type[Fields]", cast(Parsed, TypedDict)(kind.__name__, hints, total=False))
