"""Scalars and texts of a result file as one JSON document, and the result rebuilt from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from commanalyzer.communication.counted import CallCounts, CountedRun
from commanalyzer.communication.matrix import Collective, Communication
from commanalyzer.foundation.work import WorkWeights
from commanalyzer.machine.curves import Curve
from commanalyzer.machine.kinds import KINDS
from commanalyzer.machine.parameters import MachineParameters, Origin, Parameter
from commanalyzer.partition.coded import Owners
from commanalyzer.result.results import (
    AnalysisResult,
    Decomposition,
    Provenance,
    Recording,
    SingletonCounts,
    WorkCounts,
)
from commanalyzer.vcg.storage.store import GraphStore

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
Arrays = Mapping[str, NDArray[Any]]

_MOST = (1 << 63) - 1
_DIRECTIONS = ("source", "sink", "reduction")


def header_of(result: AnalysisResult) -> dict[str, Json]:
    """JSON document of everything in ``result`` that is not a large array."""
    return {
        "program": result.program,
        "command": list(result.command),
        "provenance": cast(Json, asdict(result.provenance)),
        "work": cast(Json, asdict(result.work)),
        "recording": cast(Json, asdict(result.recording)),
        "singletons": None if result.singletons is None else cast(Json, asdict(result.singletons)),
        "vcg_words": result.vcg_words,
        "machine": _machine_header(result.machine),
        "regions": list(result.regions),
        "warnings": list(result.warnings),
        "left_out": list(result.left_out),
        "decompositions": [_decomposition_header(d) for d in result.decompositions],
        "counted": None if result.counted is None else counted_header(result.counted),
        "peak_memory_bytes": result.peak_memory_bytes,
    }


def counted_header(counted: CountedRun) -> Json:
    """JSON document of how an MPI program was counted."""
    return cast(Json, asdict(counted))


def _decomposition_header(item: Decomposition) -> Json:
    return {
        "nodes": item.nodes,
        "model": item.model,
        "method": item.method,
        "best": item.best,
        "low_bytes": item.communication.low_bytes,
        "high_bytes": item.communication.high_bytes,
        "singleton_bytes": item.communication.singleton_bytes,
        "collectives": collectives_header(item.communication),
        "intensity": item.intensity,
        "imbalance": item.imbalance,
        "efficiency_bound": item.efficiency_bound,
        "seconds": item.seconds,
        "lower_bound_bytes": item.lower_bound_bytes,
        "bound_source": item.bound_source,
        "coarse_vertices": item.coarse_vertices,
        "is_balanced": item.is_balanced,
        "is_replayed": item.is_replayed,
    }


def collectives_header(communication: Communication) -> Json:
    """JSON list of what belongs to hub values; ``None`` when it was not told apart."""
    if communication.collectives is None:
        return None
    return [cast(Json, asdict(item)) for item in communication.collectives]


def result_from_header(document: object, store: GraphStore, arrays: Sequence[Arrays]) -> AnalysisResult:
    """Result rebuilt from its header, coded graph and the arrays of each decomposition.

    Raises:
        KeyError: If an entry is missing.
        TypeError: If an entry has the wrong type.
        ValueError: If the number of decompositions differs, or a number is too large.
    """
    header = _table(document)
    items = _list(header["decompositions"])
    recording = _table(header["recording"])
    calls = tuple(
        (_text(name), _int(count)) for name, count in map(_list, _list(recording["unmodelled_calls"]))
    )
    native = recording["native_s"]
    counts = None if header["singletons"] is None else _table(header["singletons"])
    return AnalysisResult(
        program=_text(header["program"]),
        command=_texts(header["command"]),
        provenance=_provenance(_table(header["provenance"])),
        work=_work(_table(header["work"])),
        recording=Recording(
            native_s=None if native is None else _float(native),
            instrumented_s=_float(recording["instrumented_s"]),
            peak_rss_bytes=_int(recording["peak_rss_bytes"]),
            exit_status=_int(recording["exit_status"]),
            unmodelled_calls=calls,
            dropped_events=_int(recording["dropped_events"]),
            warnings=_texts(recording.get("warnings", [])),
            spilled_bytes=_int(recording.get("spilled_bytes", 0)),
            doubt=_float(recording.get("doubt", 1.0)),
        ),
        store=store,
        singletons=None if counts is None else SingletonCounts(*(_int(counts[n]) for n in _DIRECTIONS)),
        vcg_words=_int(header["vcg_words"]),
        machine=_machine(_table(header["machine"])),
        decompositions=tuple(
            _decomposition(_table(item), data) for item, data in zip(items, arrays, strict=True)
        ),
        regions=_texts(header["regions"]),
        warnings=_texts(header["warnings"]),
        left_out=_texts(header.get("left_out", [])),
        counted=_counted(header.get("counted")),
        peak_memory_bytes=_int(header.get("peak_memory_bytes", 0)),
    )


def _work(table: Mapping[str, object]) -> WorkCounts:
    """Operations; those of files of older versions are floating-point ones alone."""
    weights = _table(table.get("weights", {}))
    return WorkCounts(
        flops=_int(table["flops"]),
        loads=_int(table["loads"]),
        stores=_int(table["stores"]),
        instructions=_int(table["instructions"]),
        integer_ops=_int(table.get("integer_ops", 0)),
        memory_ops=_int(table.get("memory_ops", 0)),
        weights=WorkWeights(**{name: _float(value) for name, value in weights.items()}),
    )


def _counted(entry: object) -> CountedRun | None:
    if entry is None:
        return None
    table = _table(entry)
    return CountedRun(
        mpi=_text(table["mpi"]),
        ranks=_int(table["ranks"]),
        calls=tuple(_call(_table(call)) for call in _list(table["calls"])),
        regions=_texts(table["regions"]),
        region=_text(table["region"]),
    )


def _call(table: Mapping[str, object]) -> CallCounts:
    return CallCounts(
        region=_texts(table["region"]),
        layer=_text(table["layer"]),
        name=_text(table["name"]),
        communicator=_text(table["communicator"]),
        root=_int(table["root"]),
        operations=_int(table["operations"]),
        given_bytes=_int(table["given_bytes"]),
        charged_bytes=_int(table["charged_bytes"]),
        self_bytes=_int(table["self_bytes"]),
        unknown_bytes=_int(table["unknown_bytes"]),
    )


def _decomposition(item: Mapping[str, object], arrays: Arrays) -> Decomposition:
    bound = item["efficiency_bound"]
    return Decomposition(
        nodes=_int(item["nodes"]),
        model=_text(item["model"]),
        method=_text(item["method"]),
        best=bool(item["best"]),
        communication=Communication(
            comm_bytes=arrays["comm_bytes"],
            messages=arrays["messages"],
            low_bytes=_int(item["low_bytes"]),
            high_bytes=_int(item["high_bytes"]),
            singleton_bytes=_int(item["singleton_bytes"]),
            collectives=_collectives(item.get("collectives")),
            peer_bytes=arrays.get("peer_bytes"),
            peer_messages=arrays.get("peer_messages"),
            phase_bytes=arrays.get("phase_bytes"),
            phase_messages=arrays.get("phase_messages"),
        ),
        owners=Owners.of(arrays["part"].astype(np.int32)),
        intensity=_float(item["intensity"]),
        imbalance=_float(item["imbalance"]),
        efficiency_bound=None if bound is None else _float(bound),
        object_bytes=arrays["object_bytes"],
        seconds=_float(item.get("seconds", 0.0)),
        lower_bound_bytes=_int(item.get("lower_bound_bytes", 0)),
        bound_source=_text(item.get("bound_source", "")),
        coarse_vertices=_int(item.get("coarse_vertices", 0)),
        is_balanced=bool(item.get("is_balanced", True)),
        is_replayed=bool(item.get("is_replayed", False)),
    )


def _collectives(entry: object) -> tuple[Collective, ...] | None:
    return None if entry is None else tuple(_collective(_table(item)) for item in _list(entry))


def _collective(table: Mapping[str, object]) -> Collective:
    return Collective(
        kind="reduce" if _text(table["kind"]) == "reduce" else "bcast",
        name=_text(table["name"]),
        root=_int(table["root"]),
        partners=_int(table["partners"]),
        rounds=_int(table["rounds"]),
        comm_bytes=_int(table["comm_bytes"]),
    )


def _provenance(table: Mapping[str, object]) -> Provenance:
    hashes = tuple((_text(name), _text(digest)) for name, digest in map(_list, _list(table["input_hashes"])))
    return Provenance(
        tool_version=_text(table["tool_version"]),
        git_revision=_text(table["git_revision"]),
        created=_text(table["created"]),
        host_class=_text(table["host_class"]),
        compiler=_text(table["compiler"]),
        flags=_texts(table["flags"]),
        input_hashes=hashes,
        seed=_int(table["seed"]),
    )


def _machine_header(machine: MachineParameters) -> Json:
    """Parameters of the bounds; units and phase models belong to machine files."""
    known = {name: asdict(parameter) for name, parameter in machine.parameters.items()}
    return cast(Json, {"name": machine.name, **dict.fromkeys(KINDS), **known})


def _machine(table: Mapping[str, object]) -> MachineParameters:
    found = {name: _parameter(table[name]) for name in KINDS if name in table}
    return MachineParameters(_text(table["name"])).updated(**found)


def _parameter(entry: object) -> Parameter | None:
    if entry is None:
        return None
    table = _table(entry)
    return Parameter(
        value=_float(table["value"]),
        unit=_text(table["unit"]),
        source=cast(Origin, _text(table["source"])),
        date=_text(table["date"]),
        note=_text(table["note"]),
        curve=_curve(table.get("curve")),
    )


def _curve(entry: object) -> Curve | None:
    if entry is None:
        return None
    table = _table(entry)
    return Curve(*(_floats(table[name]) for name in ("nodes", "message_bytes", "values")))


def _table(value: object) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise TypeError(f"expected a table, found {type(value).__name__}")
    return value


def _list(value: object) -> Sequence[object]:
    if not isinstance(value, list):
        raise TypeError(f"expected a list, found {type(value).__name__}")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected text, found {type(value).__name__}")
    return value


def _texts(value: object) -> tuple[str, ...]:
    return tuple(map(_text, _list(value)))


def _floats(value: object) -> tuple[float, ...]:
    return tuple(map(_float, _list(value)))


def _int(value: object) -> int:
    if not isinstance(value, int):
        raise TypeError(f"expected a whole number, found {type(value).__name__}")
    if not -_MOST <= value <= _MOST:
        raise ValueError(f"expected a whole number of 64 bits, found one of {value.bit_length()}")
    return value


def _float(value: object) -> float:
    if not isinstance(value, int | float):
        raise TypeError(f"expected a number, found {type(value).__name__}")
    return float(value)
