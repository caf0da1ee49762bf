"""The document ``commanalyzer.analysis/2``: a result for other programs."""

from __future__ import annotations

import json
import math
from dataclasses import asdict

import numpy as np
from numpy.typing import NDArray

from commanalyzer.machine.parameters import KINDS, NODE_KINDS, MachineParameters, Parameter
from commanalyzer.result.artifacts import Json, collectives_header
from commanalyzer.result.confidence import Confidence, confidence_of
from commanalyzer.result.results import AnalysisResult, Decomposition

SCHEMA = "commanalyzer.analysis/2"


def json_document(result: AnalysisResult) -> dict[str, Json]:
    """Contract document of ``result``; bytes, seconds, floating-point operations, fractions."""
    work, recording, graph = result.work, result.recording, result.store
    return {
        "schema": SCHEMA,
        "program": result.program,
        "command": list(result.command),
        "regions": list(result.regions),
        "provenance": provenance_document(result),
        "work": {
            **picked(work, "flops loads stores instructions integer_ops memory_ops"),
            "weights": asdict(work.weights),
            **picked(work, "amount unit"),
        },
        "vcg": {
            "values": graph.num_vertices,
            "flows": graph.num_flows,
            "rows": graph.num_rows,
            "bytes": graph.nbytes,
            "spilled_bytes": graph.spilled_bytes,
            "words": result.vcg_words,
        },
        "recording": {
            **picked(recording, "native_s instrumented_s peak_rss_bytes spilled_bytes doubt"),
            "unmodelled_calls": dict(recording.unmodelled_calls),
            **picked(recording, "dropped_events exit_status"),
        },
        "peak_memory_bytes": result.peak_memory_bytes,
        "singletons": None if result.singletons is None else asdict(result.singletons),
        "machine": _machine(result.machine),
        "decompositions": [
            _decomposition(d, is_headline=d is result.decomposition(d.nodes, d.model))
            for d in result.decompositions
        ],
        "confidence": [_confidence(known) for known in confidence_of(result.decompositions)]
        if result.counted is None
        else [],
        "warnings": list(result.warnings),
        "left_out": list(result.left_out),
        **({} if result.counted is None else {"counted": asdict(result.counted)}),
    }


def picked(item: object, names: str) -> dict[str, Json]:
    """Attributes of ``item`` whose names, parted by blanks, are those in the document."""
    return {name: getattr(item, name) for name in names.split()}


def or_null(values: NDArray[np.generic]) -> list[Json]:
    """Plain numbers, ``None`` where not known (JSON has neither NaN nor infinity)."""
    return [value if math.isfinite(value) else None for value in values.tolist()]


def json_text(result: AnalysisResult) -> str:
    """The document as JSON text, one line per top-level entry, newline at the end."""
    entries = [
        f" {json.dumps(key)}: {json.dumps(value, allow_nan=False)}"
        for key, value in json_document(result).items()
    ]
    return "{\n" + ",\n".join(entries) + "\n}\n"


def provenance_document(result: AnalysisResult) -> Json:
    """Where a result comes from, as in every document made from it."""
    origin = result.provenance
    return {
        **picked(origin, "tool_version git_revision created host_class compiler"),
        "flags": list(origin.flags),
        "inputs": [{"path": path, "sha256": digest} for path, digest in origin.input_hashes],
        "seed": origin.seed,
    }


def _machine(machine: MachineParameters) -> Json:
    names = [name for name in KINDS if name not in NODE_KINDS]
    return {"name": machine.name, **{name: _parameter(getattr(machine, name)) for name in names}}


def _parameter(item: Parameter | None) -> Json:
    if item is None:
        return None
    curve = item.curve
    return {
        **picked(item, "value unit source date note"),
        "curve": None if curve is None else {name: list(axis) for name, axis in asdict(curve).items()},
    }


def _confidence(known: Confidence) -> Json:
    return {
        **picked(known.best, "nodes model"),
        "regular": _beside(known, known.regular),
        "other_method": _beside(known, known.apart),
        "times_lower_bound": known.times_bound,
        "doubt": known.doubt,
    }


def _beside(known: Confidence, other: Decomposition | None) -> Json:
    if other is None:
        return None
    ratio = known.ratio(other)
    return {
        "method": other.method,
        "comm_bytes": other.comm_bytes,
        # None: the best sends nothing.
        "times_best": ratio if math.isfinite(ratio) else None,
        "imbalance": other.imbalance,
        "balanced": other.is_balanced,
    }


def _decomposition(item: Decomposition, *, is_headline: bool) -> Json:
    traffic = item.communication
    return {
        **picked(item, "nodes model method best"),
        "headline": is_headline,
        "comm_bytes": traffic.total_bytes,
        "comm_bytes_low": traffic.low_bytes,
        "comm_bytes_high": traffic.high_bytes,
        "singleton_bytes": traffic.singleton_bytes,
        "messages": traffic.total_messages,
        "comm_matrix": traffic.comm_bytes.tolist(),
        "collectives": collectives_header(traffic),
        # JSON has no infinity: communication without any work.
        "intensity": item.intensity if math.isfinite(item.intensity) else None,
        # None: not known, as for the bytes of a counted MPI run.
        "imbalance": item.imbalance if math.isfinite(item.imbalance) else None,
        "neighbours_mean": float(item.neighbours.mean()),
        "neighbours_max": int(item.neighbours.max()),
        **picked(item, "seconds coarse_vertices"),
        "balanced": item.is_balanced,
        "replayed": item.is_replayed,
        "lower_bound_bytes": item.lower_bound_bytes or None,
        **picked(item, "bound_source efficiency_bound"),
    }
