import json
from dataclasses import replace
from pathlib import Path

import jsonschema

from commanalyzer.machine.parameters import Curve, MachineParameters, Parameter
from commanalyzer.report.result.json_document import json_document, json_text
from tests.samples import sample_decomposition, sample_result


def _schema() -> dict[str, object]:
    """The published schema: a field that it does not name is an error."""
    path = Path(__file__).resolve().parents[4] / "docs" / "reference" / "analysis-2.schema.json"
    schema: dict[str, object] = json.loads(path.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return schema


def test_contract() -> None:
    result = sample_result(
        sample_decomposition(2, bound=0.5),
        sample_decomposition(2, method="blocks", best=False, pair_bytes=80),
        unmodelled=(("qsort", 3),),
    )
    document = json.loads(json_text(result))
    assert document == json_document(result)
    jsonschema.validate(document, _schema())
    assert document["schema"] == "commanalyzer.analysis/2"
    assert (document["program"], document["command"]) == ("größe.c", ["größe.c", "12", "a b"])
    assert document["work"] == {
        **{"flops": 5, "loads": 10, "stores": 5, "instructions": 60, "integer_ops": 0, "memory_ops": 0},
        **{"weights": {"fp": 1.0, "int": 1.0, "mem": 0.0}, "amount": 5, "unit": "flop"},
    }
    sizes = {"values": 3, "flows": 2, "rows": 1, "spilled_bytes": 0, "words": 10}
    assert document["vcg"] == {**sizes, "bytes": result.store.nbytes}
    assert document["recording"]["unmodelled_calls"] == {"qsort": 3}
    assert document["recording"]["native_s"] == 0.5
    assert document["singletons"] == {"source": 1, "sink": 0, "reduction": 2}
    assert document["provenance"]["inputs"] == [{"path": "größe.c", "sha256": "00ff"}]
    assert document["decompositions"][0] == {
        **{"nodes": 2, "model": "volume", "method": "metis cut", "best": True, "headline": True},
        **{"comm_bytes": 40, "comm_bytes_low": 40, "comm_bytes_high": 48, "singleton_bytes": 0},
        **{"messages": 1, "comm_matrix": [[0, 40], [0, 0]], "collectives": [], "intensity": 8.0},
        **{"neighbours_mean": 1.0, "neighbours_max": 1, "imbalance": 1.25, "seconds": 0.0},
        **{"coarse_vertices": 0, "lower_bound_bytes": None, "bound_source": "", "efficiency_bound": 0.5},
        **{"balanced": True, "replayed": False},
    }
    (known,) = document["confidence"]
    assert known.pop("doubt").startswith("2 nodes (volume): only one method found this (metis cut; ")
    assert known == {
        **{"nodes": 2, "model": "volume", "regular": None, "times_lower_bound": None},
        "other_method": {
            **{"method": "blocks", "comm_bytes": 80, "times_best": 80 / 40},
            **{"imbalance": 1.25, "balanced": True},
        },
    }
    assert [d["best"] for d in document["decompositions"]] == [True, False]


def test_what_is_infinite_or_not_counted_is_null() -> None:
    item = replace(sample_decomposition(2), intensity=float("inf"))
    document = json.loads(json_text(replace(sample_result(item), singletons=None)))
    assert document["decompositions"][0]["intensity"] is document["singletons"] is None


def test_machine() -> None:
    curve = Curve((2.0, 4.0), (), (1e9, 9e8))
    bandwidth = Parameter(1e9, "B/s", "measured", "2026-01-01", "n", curve)
    machine = MachineParameters("m", bandwidth, latency=Parameter(1e-6, "s"))
    document = json.loads(json_text(sample_result(machine=machine)))
    assert document["machine"] == {
        "name": "m",
        "bandwidth": {
            **{"value": 1e9, "unit": "B/s", "source": "measured", "date": "2026-01-01", "note": "n"},
            "curve": {"nodes": [2.0, 4.0], "message_bytes": [], "values": [1e9, 9e8]},
        },
        **dict.fromkeys(("overlap", "throughput", "message_overhead", "gap", "allreduce", "bcast")),
        "latency": {**{"value": 1e-6, "unit": "s", "source": "given", "date": "", "note": "", "curve": None}},
    }
