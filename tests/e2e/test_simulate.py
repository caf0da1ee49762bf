"""``commanalyzer simulate`` as a user runs it, against hand computation and a simulated MPI program."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import commanalyzer as ca
from commanalyzer.machine.simulation.platforms import LinkParameters, make_platform
from commanalyzer.machine.simulation.run import replayed_time
from commanalyzer.machine.simulation.schedule import make_schedule
from tests.e2e.command import HEAT, Done, commanalyzer, leftovers
from tests.native import run
from tests.simgrid.platforms import needs_simgrid, needs_smpicc
from tests.simgrid.programs import CASES, build, step_time

N, STEPS = 64, 10
MACHINE = ("--bandwidth", "1GB/s", "--latency", "2us", "--throughput", "1GFlop/s")


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("result") / "heat2d.cmz"
    found = ca.analyze(HEAT, [N, STEPS], nodes=[4], regions=["heat_solve"], program_output="discard")
    ca.save(found, path)
    return path


def simulate(saved: Path, folder: Path, platform: str, *words: object, **options: Any) -> Done:
    return commanalyzer(folder, "simulate", saved, "--platform", platform, *words, **options)


@needs_simgrid
def test_a_prediction_is_simulated_beside_its_bounds(saved: Path, tmp_path: Path) -> None:
    keep = tmp_path / "kept"
    done = simulate(saved, tmp_path, "star", *MACHINE, "--keep", keep, "--json", "s.json")
    assert done.status == 0, done.err
    assert "heat2d.c on star, hosts in order" in done.out
    document = json.loads((tmp_path / "s.json").read_text())
    (found,) = document["runs"]
    assert document["schema"] == "commanalyzer.simulation/1"
    assert document["throughput_flop_per_s"] == pytest.approx(1e9)
    assert 0.0 < found["efficiency"] <= 1.02 * found["efficiency_bound_with_latency"]
    assert found["efficiency_bound_with_latency"] < found["efficiency_bound"]
    flops = ca.load(saved).work.flops
    assert found["serial_s"] == pytest.approx(flops / 1e9)
    assert found["efficiency"] == pytest.approx(found["serial_s"] / (4 * found["parallel_s"]))
    names = sorted(path.name for path in (keep / "4-nodes").iterdir())
    ranks = [f"rank-{r}.trace" for r in range(4)]
    assert names == ["hosts.txt", "platform.xml", *ranks, "timeline.json", "traces.txt"]
    events = json.loads((keep / "4-nodes" / "timeline.json").read_text())["traceEvents"]
    spans = [event for event in events if event["ph"] == "X"]
    assert sum(s["args"]["bytes"] for s in spans) == ca.load(saved).decomposition(4).comm_bytes
    assert max(s["ts"] + s["dur"] for s in spans) == pytest.approx(found["parallel_s"] * 1e6)
    assert {s["tid"] for s in spans} == {0, 1, 2, 3}
    files = ["-platform", "platform.xml", "-hostfile", "hosts.txt", "-replay", "traces.txt"]
    alone = run("smpirun", "-np", 4, *files, cwd=keep / "4-nodes")
    # Rank 0 says when it has finished, with six decimals.
    ended_s = float(re.findall(r"Simulation time (\S+)", alone.stdout + alone.stderr)[0])
    assert ended_s == pytest.approx(found["parallel_s"], abs=1e-6)
    again = simulate(saved, tmp_path, "star", *MACHINE, "--json", "-")
    assert json.loads(again.out)["runs"] == document["runs"]
    assert leftovers(tmp_path) == []
    refused = simulate(saved, tmp_path, "star", *MACHINE, "--keep", keep)
    assert refused.status == 1 and "expected a new or empty folder" in refused.err


@needs_simgrid
def test_a_platform_file_gives_the_same_as_the_topology(saved: Path, tmp_path: Path) -> None:
    link = LinkParameters(1e9, 2e-6, 1e9)
    (tmp_path / "mine.xml").write_text(make_platform("fat-tree", 4, link).xml)
    options = ("--json", "-", "--placement", "random")
    from_file = simulate(saved, tmp_path, "mine.xml", *options)
    made = simulate(saved, tmp_path, "fat-tree", *MACHINE, *options)
    assert from_file.status == 0, from_file.err
    assert json.loads(from_file.out)["runs"] == json.loads(made.out)["runs"]
    told = simulate(saved, tmp_path, "mine.xml", *MACHINE, "--overlap", "0.5")
    assert "bandwidth, latency, throughput: not used" in told.err and "do not overlap" in told.err
    few = simulate(saved, tmp_path, "mine.xml", "--hosts", "hosts")
    assert few.status == 1 and "hosts: expected a readable file" in few.err


def test_what_is_missing_is_said(saved: Path, tmp_path: Path) -> None:
    without = simulate(saved, tmp_path, "star", *MACHINE, extra={"PATH": str(tmp_path)})
    assert without.status == 1
    assert "expected SimGrid's smpirun" in without.err and "libsimgrid-dev" in without.err
    machine = simulate(saved, tmp_path, "star", "--bandwidth", "1GB/s")
    assert machine.status == 1 and "latency" in machine.err
    unknown = simulate(saved, tmp_path, "ring")  # nor a machine
    assert unknown.status == 1 and "star, fat-tree, torus, dragonfly" in unknown.err


@needs_smpicc
def test_the_replay_of_blocks_takes_as_long_as_the_mpi_program(saved: Path, tmp_path: Path) -> None:
    """Same decomposition, same work: the rounds of the schedule are its time steps (2 %)."""
    found = ca.load(saved)
    blocks = next(d for d in found.decompositions if d.method.startswith("blocks 2x2"))
    case = replace(next(case for case in CASES if case.name == "heat2d"), size=(str(N),))
    link = LinkParameters(1e8, 1e-7, 1e9)
    platform = make_platform("star", 4, link)
    program = build(case, 4, found.work.flops / STEPS, tmp_path)
    work_flop = [found.work.flops / 4] * 4
    replayed_s = replayed_time(make_schedule(blocks.communication), work_flop, platform, 60.0) / STEPS
    program_s = step_time(case, program, 4, platform)
    assert replayed_s == pytest.approx(program_s, rel=0.02)
