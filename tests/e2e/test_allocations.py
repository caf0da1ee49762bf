"""Allocations as a user asks for them; campaigns and the flow model against SimGrid."""

import json
from pathlib import Path

import jsonschema
import pytest

from bench.flow_model import phase_time
from commanalyzer.foundation.errors import MachineModelError
from commanalyzer.machine.machine_file import load_machine
from commanalyzer.machine.measuring import phase_campaign
from commanalyzer.machine.measuring.mpi import world
from commanalyzer.machine.placement import on_nodes
from commanalyzer.machine.simulation.platforms import LinkParameters
from commanalyzer.machine.simulation.routes import make_network
from commanalyzer.scaling.allocations.campaign import pattern_messages
from commanalyzer.scaling.laws.formula_reader import read_formula
from tests.e2e.command import commanalyzer, refuse, succeed
from tests.simgrid.communicator import IS_KNOWN
from tests.simgrid.phases import ratio
from tests.simgrid.platforms import campaign_on, needs_simgrid, star

SCHEMA = Path(__file__).resolve().parents[2] / "docs" / "reference" / "allocations-1.schema.json"
HALO = """\
kind = "commanalyzer.halo"
name = "Jacobi3D"
domain = [256, 256, 256]
steps = 100
flops_per_point = 8
memory_bytes_per_point = 16
resident_bytes_per_point = 16
"""
LINK = LinkParameters(bandwidth=1e9, latency_s=2e-6, throughput=4e9, message_overhead_s=3e-7)


@needs_simgrid
@pytest.mark.parametrize("topology", ["star", "fat-tree", "torus", "dragonfly", "hypercube"])
def test_flows_share_links_as_the_simulator_does(topology: str) -> None:
    # Within 5 %: changes within 2 % of the time are made together, links within 1 % are full together.
    messages = pattern_messages(phase_campaign.CampaignPoint(32, 2, 4, 65536, "shift"))
    assert ratio(topology, messages, 1) == pytest.approx(1.0, rel=0.05)


@pytest.mark.skipif(not IS_KNOWN, reason="needs SimGrid 3.32 (Debian 12: libsimgrid-dev)")
def test_a_campaign_runs_on_a_simulated_machine_and_goes_on(tmp_path: Path) -> None:
    fields = {"nodes": [2, 4], "processes": [1, 2], "messages": [1, 2], "sizes": [1 << 20]}
    found = campaign_on(tmp_path, star(4, "1GBps", "5us"), 4, 2, fields)
    assert len(found) == 2 * 2 * 2 * 2
    shifts = {
        (p.point.num_nodes, p.point.ranks_per_node, p.point.num_messages): p.time_s
        for p in found
        if p.point.pattern == "shift"
    }
    # All messages go to other nodes: 10 us, then a node's bytes over its link.
    for (nodes, processes, messages), time_s in shifts.items():
        assert time_s == pytest.approx(10e-6 + processes * messages * (1 << 20) / 1e9, rel=0.05), nodes
    assert found[-1].positions == (1, 2, 3, 4)
    table = tmp_path / "campaign.csv"
    lines = table.read_text().splitlines()
    table.write_text("\n".join([*lines[:-3], lines[-3][:10]]))  # killed in the middle of a line
    table.write_text("\n".join(lines[:-2]) + "\n")
    again = campaign_on(tmp_path, star(4, "1GBps", "5us"), 4, 2, fields)
    assert {p.point for p in again} == {p.point for p in found}
    assert len(again) == len(found)


def test_the_fastest_the_cheapest_and_the_lines_to_ask_for(tmp_path: Path) -> None:
    (tmp_path / "jacobi.toml").write_text(HALO)
    words = ("jacobi.toml", "--allocations", "--machine", "vilje", "--throughput", "0.8GFlop/s")
    done = succeed(tmp_path, "advise", *words, "--nodes", "16,64,256", "--ppn", "1,16", "--json", "a.json")
    for text in ("Pareto front", "Fastest: 256 x 16", "Fewest core-hours: 16 x 1", "#SBATCH --nodes=256"):
        assert text in done.out
    document = json.loads((tmp_path / "a.json").read_text())
    jsonschema.validate(document, json.loads(SCHEMA.read_text()))
    assert document["schema"] == "commanalyzer.allocations/1"
    table = document["configurations"]
    assert table["cores"] == [16, 256, 64, 1024, 256, 4096]
    assert document["decision"]["front"][-1] == document["decision"]["fastest"]
    limited = commanalyzer(tmp_path, "advise", *words, "--nodes", "16,64", "--most-nodes", "16", "--all")
    assert "not allowed: queue" in " ".join(limited.out.split())


def test_a_campaign_becomes_a_machine_that_advises(tmp_path: Path) -> None:
    network, table = make_network("torus", 64), tmp_path / "campaign.csv"
    points = phase_campaign.campaign_points((8, 16, 32), (1, 2), (1, 4), (64, 16384, 1048576))
    for point in points:
        place = on_nodes(point.num_nodes, point.ranks_per_node).rank_position
        time_s = phase_time(pattern_messages(point), place, network, LINK)
        measured = phase_campaign.MeasuredPhase(point, "1", tuple(range(point.num_nodes)), time_s)
        phase_campaign.append_point(table, measured)
    phases = ("machine", "phases", "campaign.csv", "-o", "torus.toml", "--force")
    succeed(tmp_path, *phases, "--name", "torus")
    (tmp_path / "jacobi.toml").write_text(HALO)
    words = ("--allocations", "--machine", "torus.toml", "--throughput", "1GFlop/s", "--nodes", "8,16,64")
    done = succeed(tmp_path, "advise", "jacobi.toml", *words, "--all")
    assert "beyond the data" in " ".join(done.out.split())  # 64 nodes

    routed = succeed(tmp_path, *phases, "--network", "torus", "--network-nodes", 64, "--areas", "S <= 64")
    # 3 numbers of nodes x 2 of processes x 2 of messages x 2 patterns, for one size and for the other two.
    lines = {line.split()[0]: line.split() for line in routed.out.splitlines() if line.startswith("I")}
    assert [lines[area][1:5] for area in ("I", "II")] == [["S", "<=", "64", "24"], ["S", ">", "64", "48"]]
    areas = load_machine(str(tmp_path / "torus.toml")).phase_times
    assert areas is not None and [area.points for area in areas.areas] == [24, 48]
    # Large messages: a full link of 1 GB/s ends the phase.
    assert read_formula(areas.areas[1].formula).parameters[0] == "LT"
    assert max(area.error for area in areas.areas) < 0.05
    assert succeed(tmp_path, "advise", "jacobi.toml", *words, "--network", "torus").out
    refuse(tmp_path, "advise", "jacobi.toml", *words, says="LT and D need --network")
    for given, says in (
        (("--areas", "X <= 3"), "found no X among S, M, PT"),
        (("--areas", "S <= 1"), "found 0 in S <= 1, 72 in S > 1"),
        (("--areas", "S > 64"), "upper bounds such as 'S <= 4096', found S > 64"),
        (("--network", "torus", "--network-nodes", 16), "expected places below 16"),
    ):
        refuse(tmp_path, *phases, *given, says=says)


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    (tmp_path / "jacobi.toml").write_text(HALO.replace("steps", "stops"))
    words = ("advise", "jacobi.toml", "--allocations", "--machine", "vilje")
    asked = (*words, "--throughput", "1GFlop/s")
    refuse(tmp_path, *asked, says="unknown field stops")
    phases = ("machine", "phases", "c.csv", "-o", "m.toml")
    (tmp_path / "c.csv").write_text(",".join(phase_campaign.COLUMNS[:-1]) + "\n")
    refuse(tmp_path, *phases, says="found no time_s")
    (tmp_path / "c.csv").write_text(",".join(phase_campaign.COLUMNS) + "\n")
    refuse(tmp_path, *phases, says="expected measured phases, found none")
    (tmp_path / "jacobi.toml").write_text(HALO)
    refuse(tmp_path, *words, says="expected the throughput of one process")
    refuse(tmp_path, *asked, "--memory", "1GB", says="--memory")
    measure = ("machine", "measure", "--campaign", "t.csv")
    refuse(tmp_path, *measure, says="at least 2 ranks")
    refuse(tmp_path, *measure, "--nodes", "1", says="expected 2 or more nodes")
    with pytest.raises(MachineModelError, match="1 with 2 processes each, found the least to be 4 with 1"):
        phase_campaign.measure_points(
            world(), [0, 0], [0], phase_campaign.campaign_points((4,), (1,)), "1", print
        )
    jobs = ("--nodes", "8,16", "--ppn", "1,4", "--slurm", "s.sh")
    succeed(tmp_path, *measure, *jobs)
    text = (tmp_path / "s.sh").read_text()
    assert "for nodes in 8 16" in text
    assert "--ntasks-per-node=4" in text
