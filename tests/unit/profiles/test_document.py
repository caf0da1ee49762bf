"""Profile files: round trip, the manual's own examples, missing fields, damage."""

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

from commanalyzer.foundation.errors import ArtifactError, ProfileError
from commanalyzer.profiles.document import FIELDS, profile_text, read_profile, read_profiles, write_profile
from commanalyzer.profiles.metrics import metrics_of
from commanalyzer.profiles.values import DATA_LENGTHS, GROUPS, TYPES, VECTOR_LENGTHS, Profile, RankProfile
from tests.unit.profiles.profiles import some_profile

SCHEMA = Path(__file__).resolve().parents[3] / "docs" / "reference" / "profile-1.schema.json"
# Table 1 and Appendix A as they are printed, with the brackets of A.1 made valid
DISTANCES = ("dataReuseDistribution", 0, "statistics", "data")
LOADS = {"vector_size": 1, "int_32bits": 101, "instructions": 101}
SCALARS = {"scalar_instructions": 101, "vector_instructions": 0, "misc_instructions": 0}
REUSE = {
    "data": [[0, 194], [1, 1], [2, 1], [4, 1]],
    "dataCDF": [[0, 0.9651], [1, 0.9701], [2, 0.9751], [4, 0.98]],
}
MANUAL: dict[str, Any] = {
    "application": "example",
    "appScale": {"NPC": "4", "PROBLEMSIZE": 18},
    "threads": [
        {
            "threadId": 0,
            "processId": 1,
            "instructionMix": {
                "instructions_analyzed": 201,
                "load_instructions": [{"total_instructions": 101, "mix": [LOADS], **SCALARS}],
                "control_instructions": 60,
            },
            "dataReuseDistribution": [{"cacheLineSize": "128", "statistics": REUSE}],
            "mpiCommunicationVector": [
                {"source": 0, "received_bytes": 148480, "received_messages": 224},
                {"source": 2, "received_bytes": 148736, "received_messages": 226},
            ],
        }
    ],
}


def test_round_trip_keeps_every_field(tmp_path: Path) -> None:
    path = tmp_path / "lu.pisa"
    write_profile(some_profile(), path)
    again = read_profile(path)
    assert profile_text(again) == path.read_text()
    assert again.application == "lu"
    assert again.scale == {"n": 64, "tolerance": 0.5}
    assert [r.process_id for r in again.ranks] == [0, 2]
    assert again.remarks == ("an approximation",)
    rank, before = again.ranks[1], some_profile().ranks[1]
    assert not rank.missing
    assert np.array_equal(rank.mix.counts, before.mix.counts)
    assert rank.mpi_calls == before.mpi_calls
    assert rank.data_reuse[0].error == 0.125
    assert rank.exchange is not None
    assert rank.exchange.collective_bytes == {"bcast_sent_bytes": 8}


def test_documents_follow_the_schema() -> None:
    schema = json.loads(SCHEMA.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(json.loads(profile_text(some_profile())), schema)
    jsonschema.validate(json.loads(profile_text(Profile("x", {}, (RankProfile(),)))), schema)
    jsonschema.validate(MANUAL, schema)
    del MANUAL["threads"][0]["threadId"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(MANUAL, schema)
    MANUAL["threads"][0]["threadId"] = 0


def test_reads_the_manuals_examples(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "example.pisa"
    path.write_text(json.dumps(MANUAL))
    with caplog.at_level(logging.WARNING):
        profile = read_profile(path)
    rank = profile.ranks[0]
    assert profile.scale == {"NPC": 4, "PROBLEMSIZE": 18}
    reuse = rank.reuse(128)
    assert reuse is not None
    assert reuse.accesses == pytest.approx(201, abs=0.03)  # 197 / 0.98, four digits are printed
    assert reuse.cdf.tolist() == pytest.approx([0.9651, 0.9701, 0.9751, 0.98], abs=1e-4)
    found = metrics_of(rank, 4)
    assert found.scalars["LSys"] == 201
    assert found.mixes["F0load"][0, DATA_LENGTHS.index(32)] == pytest.approx(101 / 201)
    assert found.mixes["F0control"].sum() == pytest.approx(60 / 201)
    assert found.mixes["F0other"].sum() == pytest.approx(40 / 201)  # what no field explains
    assert found.communication.tolist() == [[1, 148736, 226], [3, 148480, 224]]  # 2 - 1, 0 - 1 modulo 4
    expected = set(FIELDS) - {"instructionMix", "dataReuseDistribution", "mpiCommunicationVector"}
    assert rank.missing == expected
    assert {
        f for f in FIELDS if any(f" {f} is missing" in r.getMessage() for r in caplog.records)
    } == expected


def test_groups_hold_every_type_once_and_give_the_fractions_of_a_mix() -> None:
    whole = [GROUPS[f"F0{name}"] for name in ("mem", "addr", "int", "fp", "control", "vector", "other")]
    assert sorted(name for group in whole for name in group) == sorted(TYPES)
    found = metrics_of(some_profile().ranks[0], 3)
    assert found.mixes["F0fp"][VECTOR_LENGTHS.index(2), DATA_LENGTHS.index(64)] == 40 / 160
    assert found.mixes["F0addr"][0, 0] == 10 / 160  # a pointer's length depends on the machine
    assert found.scalars["F0regreads"] == 300 / 160
    assert found.scalars["MPIsend"] == 4
    assert found.scalars["MPIinstructions"] == 7
    assert found.scalars["MPIrecvBytes"] == 96
    assert found.functions["D0dreuse128"].tolist() == [[0, 198 / 201], [1, 199 / 201]]


def _without(*names: str) -> Callable[[dict[str, Any]], None]:
    def change(document: dict[str, Any]) -> None:
        for name in names[:-1]:
            document = document[name] if isinstance(document, dict) else document[int(name)]
        del document[names[-1]]

    return change


def _with(value: Any, *names: str | int) -> Callable[[dict[str, Any]], None]:
    def change(document: Any) -> None:
        for name in names[:-1]:
            document = document[name]
        document[names[-1]] = value

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_without("application"), "required field application"),
        (_without("threads"), "required field threads"),
        (_with([], "threads"), "at least one rank"),
        (_with([3], "threads"), r"expected object, found 3 at \$.threads\[0\]"),
        (_with({"processId": 0}, "threads", 0), r"mandatory field threadId in threads\[0\]"),
        (_with("many", "threads", 0, "instructionMix", "instructions_analyzed"), "expected instructionMix"),
        (_with(-1, "threads", 0, "registerAccesses", "reads"), "expected registerAccesses"),
        (_with({}, "threads", 0, "registerAccesses"), "no field 'reads'"),
        (_with([[4, 1], [2, 1]], "threads", 0, *DISTANCES), "increasing"),
        (_with(2, "threads", 0, "processId"), "each process and thread once"),
        (_with(float("inf"), "appScale", "n"), "expected a profile as in Appendix A, found"),
    ],
)
def test_damage_is_named(tmp_path: Path, change: Callable[[Any], None], message: str) -> None:
    document = json.loads(profile_text(some_profile()))
    change(document)
    path = tmp_path / "bad.pisa"
    path.write_text(json.dumps(document))
    with pytest.raises(ProfileError, match=message) as found:
        read_profile(path)
    assert str(path) in str(found.value)


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match="No such file"):
        read_profile(tmp_path / "none.pisa")
    (tmp_path / "text.pisa").write_text("[")
    with pytest.raises(ProfileError, match="expected a profile as in Appendix A, found"):
        read_profile(tmp_path / "text.pisa")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ProfileError, match="found none"):
        read_profiles([tmp_path / "empty"])
    with pytest.raises(ArtifactError, match="existing one"):
        write_profile(some_profile(), tmp_path / "text.pisa")


def test_directories_are_read_by_name(tmp_path: Path) -> None:
    for name in ("b", "a"):
        write_profile(Profile(name, {}, (RankProfile(),)), tmp_path / f"{name}.pisa")
    assert [p.application for p in read_profiles([tmp_path, tmp_path / "b.pisa"])] == ["a", "b", "b"]
