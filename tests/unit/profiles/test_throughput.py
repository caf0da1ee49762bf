"""Throughput of a node from a profile, against arithmetic by hand."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from commanalyzer.division.owners import Owners
from commanalyzer.foundation.errors import MachineModelError, ProfileError
from commanalyzer.graph.storage.store import GraphStore
from commanalyzer.machine.parameters import MachineParameters, given_parameter
from commanalyzer.machine.roofline.bound import scaling_bound
from commanalyzer.profiles import values
from commanalyzer.profiles.document import write_profile
from commanalyzer.profiles.ranks import Processor, load_processor, rank_seconds, throughput_of
from tests.graphs import build, copied
from tests.samples import sample_decomposition, sample_result

FILE = """
kind = "commanalyzer.processor"
frequency_hz = 1e9
issue = 2
[[cache]]
bytes = 256
latency_cycles = 4
[[cache]]
bytes = 4096
latency_cycles = 14
[memory]
latency_cycles = 204
bandwidth_bytes_per_s = 1e10
"""


def rank(ilp: float = 4.0) -> values.RankProfile:
    """100 loads: 50 at a distance below 4 lines, 30 more below 64, 20 miss; 300 additions."""
    counts = values.no_instructions()
    counts[values.INDEX["load"], 0, values.DATA_INDEX["float_64bits"]] = 100
    counts[values.INDEX["fp_arith_add"], 0, values.DATA_INDEX["float_64bits"]] = 300
    spans = values.Spans(np.zeros(5), np.array([ilp, 2.0, 0, 0, 0]))
    return values.RankProfile(
        mix=values.InstructionMix(counts),
        parallelism=(values.Parallelism(54, spans, spans),),
        data_reuse=(values.Reuse(64, np.array([0, 3, 63]), np.array([0.0, 50, 30]), 100.0),),
    )


def test_cycles_are_instructions_and_misses(tmp_path: Path) -> None:
    path = tmp_path / "core.toml"
    path.write_text(FILE)
    processor = load_processor(path)
    # 400 / 2 cycles; (30 x 10 + 20 x 200) / 2 of waiting
    assert rank_seconds(rank(), processor) == pytest.approx(2350e-9)
    assert rank_seconds(rank(ilp=1.0), processor) == pytest.approx(2550e-9)
    slow = Processor(1e9, 2, processor.caches, 204, 1e8)
    assert rank_seconds(rank(), slow) == pytest.approx(20 * 64 / 1e8)
    saved = tmp_path / "run.pisa"
    write_profile(values.Profile("made", {"n": 1.0}, (rank(),)), saved)
    found = throughput_of(saved, processor)
    assert found.unit == "Flop/s"
    assert found.value == pytest.approx(300 / 2350e-9)


def test_shares_that_fit_caches_are_faster(tmp_path: Path) -> None:
    """A rank of 4 has a quarter of the 288 lines, which its cache of 256 holds: only first accesses miss."""
    graph = build(8, [copied(i, 4 + i) for i in range(4)])
    division = replace(sample_decomposition(4), owners=Owners.of(np.array([0, 1, 2, 3] * 2, np.int32)))
    store = GraphStore.of(graph).with_work(np.ones(graph.num_vertices))
    result = replace(sample_result(), store=store, decompositions=(division,))
    counts = values.no_instructions()
    counts[values.INDEX["load"], 0, values.DATA_INDEX["float_64bits"]] = 2880
    counts[values.INDEX["fp_arith_add"], 0, values.DATA_INDEX["float_64bits"]] = 2880
    far = values.Reuse(64, np.array([0, 64, 128, 256, 512]), np.array([0.0, 0, 0, 0, 2592]), 2880.0)
    footprint = values.Footprint(288 * 64, 288)
    whole = replace(rank(ilp=1.0), mix=values.InstructionMix(counts), data_reuse=(far,), footprint=footprint)
    path = tmp_path / "run.pisa"
    write_profile(values.Profile("made", {"n": 1.0}, (whole,)), path)
    processor = Processor(1e9, 2, ((256 * 64, 4),), 204, 1e12)
    found = throughput_of(path, processor, result)
    # Cycles: 5760 instructions, and 200 / ILP0mem = 100 per miss; all 2880 accesses miss, or 72 of 720.
    alone, share = 2880 / (5760 + 2880 * 100) * 1e9, 720 / (1440 + 72 * 100) * 1e9
    assert found.value == pytest.approx(alone)
    machine = MachineParameters().updated(throughput=found, bandwidth=given_parameter("bandwidth", 1e9))
    points = scaling_bound(2880, [("strips", division.communication)], machine).points
    assert [2880 / point.serial_s for point in points] == pytest.approx([alone, share])


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    path = tmp_path / "core.toml"
    wrong = FILE.replace("issue = 2", "issue = 0"), FILE.replace("[memory]", "[cpu]"), "=", "kind = 'x'"
    for text in wrong:
        path.write_text(text)
        with pytest.raises(MachineModelError):
            load_processor(path)
    with pytest.raises(ProfileError, match="ilp"):
        rank_seconds(values.RankProfile(), Processor(1e9, 2, ((256, 4),), 200, 1e10))
