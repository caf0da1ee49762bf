"""Projections by hand: W = 70 n^2 flops, C = 320 n (sqrt(p) - 1) bytes."""

import re
from dataclasses import replace
from io import StringIO
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from commanalyzer.communication.matrix import Collective, Communication
from commanalyzer.foundation.errors import EXIT_USER_ERROR, ConfigError, FitError, MachineModelError
from commanalyzer.machine.machine_file import load_machine, published_machines
from commanalyzer.machine.parameters import MachineParameters, Parameter
from commanalyzer.machine.roofline.bound import scaling_bound
from commanalyzer.machine.roofline.traffic import node_traffic
from commanalyzer.report.machine import machine_line
from commanalyzer.report.scaling.laws_text import (
    advice_lines,
    curve_arrays,
    project_laws,
    show_projection,
    size_text,
)
from commanalyzer.scaling.allocations.workload import LawsWorkload, Ranks
from commanalyzer.scaling.laws.data import Observations
from commanalyzer.scaling.laws.document import LawsDocument, load_laws, save_laws
from commanalyzer.scaling.laws.fit import fit_law, fit_observations
from commanalyzer.scaling.laws.law import UNPREDICTED, Law
from commanalyzer.scaling.laws.projection import advise, project
from tests.samples import sample_machine
from tests.unit.scaling.laws.samples import HALO, WORK, factor, law

MACHINE = sample_machine("box", bandwidth=1e9, overlap=0.5, throughput=1e10)
NODES = (1, 4, 16, 64, 256)
SIZE = {"n": 1000.0}


def test_strong_scaling_is_the_papers_equations() -> None:
    found = project((HALO, WORK), MACHINE, NODES, SIZE)
    assert found.serial_s.tolist() == pytest.approx([7e7 / 1e10] * 5)
    assert found.comm_bytes.tolist() == pytest.approx([0, 320e3, 960e3, 2240e3, 4800e3])
    # On 64 nodes: T_o = 2.24e6 * 0.5 / 1e9 s, T_1 = 7e-3 s.
    assert found.efficiency[3] == pytest.approx(1 / (1 + 1.12e-3 / 7e-3))
    assert found.time_s[3] == pytest.approx(7e-3 / 64 * (1 + 0.16))
    assert found.efficiency[0] == 1.0
    assert found.core_hours(32)[0] == pytest.approx(32 * 7e-3 / 3600)
    assert "messages" in found.missing
    assert found.is_beyond.all()  # n = 1000 was not analysed


def test_weak_scaling_keeps_the_work_per_node() -> None:
    found = project((HALO, WORK), MACHINE, NODES, SIZE, weak_parameter="n")
    assert found.sizes["n"].tolist() == pytest.approx([1000, 2000, 4000, 8000, 16000])
    assert (found.work_flop / found.nodes).tolist() == pytest.approx([7e7] * 5)
    # 64 nodes: C = 320 * 8000 * 7 bytes, T_1 = 64 * 7e-3 s.
    assert found.efficiency[3] == pytest.approx(1 / (1 + 320 * 8000 * 7 * 0.5 / 1e9 / (64 * 7e-3)))


def _stencil(rows: int, columns: int, rounds: int) -> Communication:
    """Halos of a grid of nodes in two phases that wait for each other, and a sum over all in each round."""
    p = rows * columns
    r, c = np.divmod(np.arange(p), columns)
    rows_apart, columns_apart = (np.abs(k[:, None] - k) for k in (r, c))
    first, second = ((rows_apart == k) & (columns_apart == 1 - k) for k in (0, 1))
    phases = np.stack((first, second)).astype(np.int64) * rounds
    sums = np.zeros((p, p), dtype=np.int64)
    sums[1:, 0] = sums[0, 1:] = rounds
    peers, half = phases.sum(axis=0), 8 * rounds * (p - 1)
    total = int(800 * peers.sum()) + 2 * half
    return Communication(
        800 * peers + 8 * sums, peers + sums, total, total,
        collectives=tuple(Collective(kind, "s", 0, p - 1, rounds, half) for kind in ("reduce", "bcast")),
        peer_bytes=800 * peers, peer_messages=peers, phase_bytes=800 * phases, phase_messages=phases,
    )  # fmt: skip


def _exact_laws(work: int, traffic: Communication, prefix: str) -> tuple[Law, ...]:
    values = node_traffic(traffic).summary() | {
        "imbalance": 1.7,
        "bytes" if prefix else "comm_bytes": float(traffic.total_bytes),
        "messages": float(traffic.total_messages),
    }
    return (
        law("work_flops", (float(work), ()), parameters=()),
        *(law(f"{prefix}{name}", (value, ()), parameters=()) for name, value in values.items()),
    )


_FULL = {
    "latency": Parameter(2e-6, "s"), "gap": Parameter(4e-7, "s"), "message_overhead": Parameter(3e-7, "s"),
    "allreduce": Parameter(9e-6, "s"), "overlap": Parameter(0.5, "1"),
}  # fmt: skip


@pytest.mark.parametrize("grid", [(1, 2), (2, 2), (3, 3), (4, 8), (8, 8)])
@pytest.mark.parametrize("known", [(), ("latency",), ("latency", "gap"), ("message_overhead",), tuple(_FULL)])
@pytest.mark.parametrize("prefix", ["", "regular_"])
def test_exact_laws_give_the_bound(grid: tuple[int, int], known: tuple[str, ...], prefix: str) -> None:
    machine = MachineParameters(bandwidth=MACHINE.bandwidth, throughput=MACHINE.throughput)
    machine = machine.updated(**{name: _FULL[name] for name in known})
    traffic, work = _stencil(*grid, rounds=30), 200_000_000
    point = scaling_bound(work, [("x", traffic)], machine, imbalances=[1.7]).points[-1]
    found = project(_exact_laws(work, traffic, prefix), machine, (point.num_nodes,), {})
    assert found.missing == ()
    for values in (found.efficiency, found.efficiency_low, found.efficiency_high):
        assert values.tolist() == pytest.approx([point.efficiency], rel=1e-12)
    assert found.time_s.tolist() == pytest.approx([point.time_s], rel=1e-12)


@pytest.mark.parametrize("name", published_machines())
def test_published_machines_have_a_latency_with_its_source(name: str) -> None:
    latency = load_machine(name).latency
    assert latency is not None
    assert re.search(r"\(.*[A-Z].*\)", latency.note)
    is_older = name in ("hpdc18-opa", "myri10g-clos512")  # InfiniPath before Omni-Path, Myrinet-2000
    assert is_older == (latency.source == "assumed from a predecessor")
    said = machine_line(load_machine(name))
    assert ("us (assumed from a predecessor)" in said) == is_older
    assert ("assumed latency" in said) == (latency.source == "assumed")


def test_an_uncertain_law_gives_a_band() -> None:
    unsure = law("comm_bytes", (320.0, (factor(0, "rise", "1/2"), factor(1))), error=0.1)
    found = project((unsure, WORK), MACHINE, (64,), SIZE)
    # Two-sided 95 %, from a table: 20 degrees of freedom, less the one of the chosen form.
    student = 2.0930241 * (20 / 19) ** 0.5
    assert found.comm_bytes_high[0] == pytest.approx(2240e3 * (1 + 0.1 * student), rel=1e-6)
    assert found.efficiency_low[0] < found.efficiency[0] < found.efficiency_high[0]
    assert found.time_low_s[0] < found.time_s[0] < found.time_high_s[0]
    none = replace(unsure, lacks="n = 48", notes=("p was always 4", f"{UNPREDICTED} (error 51 %)"))
    lacking = project((none, WORK), MACHINE, (64,), SIZE)
    assert lacking.doubts == ("comm_bytes: no formula predicts these data (error 51 %)",)
    assert lacking.time_s == found.time_s and np.isnan(lacking.efficiency_low).all()
    assert curve_arrays(lacking)["efficiency_high"] == [None]
    assert curve_arrays(lacking)["runs_to_add"] == ["add n = 48"]


def test_uneven_work_sets_the_pace() -> None:
    """Of p equal slabs of a triangle the one with the longest rows has 2 - 1/p times the mean."""
    p, n = (axis.ravel() for axis in np.meshgrid([2.0, 4.0, 8.0, 16.0, 32.0], [80.0, 160.0, 320.0, 640.0]))
    metrics = {"comm_bytes": 0 * p, "messages": 0 * p, "work_flops": 1000 * n**2, "imbalance": 2 - 1 / p}
    metrics["regular_imbalance"] = 1 + p / n  # rows of a small grid: none on a large one
    laws = fit_observations(Observations(("n", "p"), np.stack((n, p), axis=1), metrics)).laws
    assert [law.metric for law in laws if "imbalance" in law.metric] == ["imbalance"]
    nodes, slowest = np.array([1, 8, 1024]), np.array([1, 2 - 1 / 8, 2 - 1 / 32])  # on more nodes, at least
    found = project(laws, MACHINE, nodes.tolist(), SIZE)
    assert found.time_s == pytest.approx(1e9 / 1e10 / nodes * slowest, rel=1e-6)
    assert "imbalance: a node has up to 1.97 times the mean work, on more nodes at least" in found.doubts
    for count, share in zip(nodes.tolist(), slowest.tolist(), strict=True):
        demand = LawsWorkload("triangle", laws, SIZE, 1.0).demand(count, 1, Ranks())
        assert demand is not None and demand.work_flop == pytest.approx(1e9 * share, rel=1e-6)


def test_what_the_data_cannot_tell_is_said_where_it_matters() -> None:
    """On square numbers of nodes q1 + q2 - 2 is 2 (sqrt(p) - 1); on 26 = 13 x 2 it is 13, not 8.2."""
    x = np.array(list(product((4.0, 9.0, 16.0, 25.0, 36.0), (16.0, 24.0, 32.0, 48.0, 64.0))))
    halo = fit_law(x, ("p", "n"), 32 * x[:, 1] * (np.sqrt(x[:, 0]) - 1), metric="comm_bytes")
    for nodes, doubts in (((1, 4, 100), 0), ((1, 4, 26), 1)):
        report = project_laws(
            LawsDocument("x", (halo, WORK), {}), MACHINE, nodes, SIZE,
            weak="", division=None, efficiency=0.8, deadline_s=None, cores=1,
        )  # fmt: skip
        show_projection(report, Console(file=(text := StringIO()), width=300))
        said = [line for line in text.getvalue().splitlines() if "cannot tell" in line]
        assert len(said) == len(report.curves[0].doubts) == doubts
    assert "16 n (q1 + q2 - 2)" in said[0] and "32 n (sqrt(p) - 1)" in said[0]
    assert "131,169 to 208,000 at p = 26, n = 1000" in said[0]


def test_advice_by_hand() -> None:
    """Efficiencies 1, 0.978, 0.936, 0.862, 0.745 at 1, 4, 16, 64, 256 nodes."""
    found = project((HALO, WORK), MACHINE, NODES, SIZE)
    advice = advise(found, 0.8)
    assert (advice.largest, advice.largest_certain, advice.fastest, advice.cheapest) == (64, 64, 256, 1)
    in_time = advise(found, 0.8, deadline_s=5e-4)
    assert in_time.cheapest == 16  # 7e-3 / 16 / 0.936 s is 0.47 ms; on 4 nodes 1.8 ms
    assert advise(found, 0.8, deadline_s=1e-9).cheapest is None
    assert advise(found, 0.99999).largest == 1
    assert any("64 nodes" in line for line in advice_lines(found, advice))


def test_nodes_without_the_memory_are_not_advised() -> None:
    """16 n^2 bytes: 16 MB in all, 4 MB on each of 4 nodes, 1 MB on 16."""
    memory = law("footprint_bytes", (16.0, (factor(0, "rise", "2"),)), parameters=("n",))
    found = project((HALO, WORK, memory), replace(MACHINE, memory=Parameter(2e6, "B")), NODES, SIZE)
    assert found.node_bytes.tolist() == pytest.approx([16e6 / p for p in NODES], rel=1e-5)
    advice = advise(found, 0.8)
    assert (advice.largest, advice.fastest, advice.cheapest) == (64, 256, 16)
    assert advise(found, 0.99999).largest is None
    assert any("does not fit: 4 nodes and fewer" in line for line in advice_lines(found, advice))
    none = project((HALO, WORK, memory), replace(MACHINE, memory=Parameter(2e6, "B")), NODES, {"n": 1e5})
    said = advice_lines(none, advise(none, 0.8))
    assert said[0].startswith("No node count has memory") and "625 MB to 160 GB" in said[1]


def test_sizes_are_whole_where_all_data_were(tmp_path: Path) -> None:
    """W = 70 n^2: on 2 nodes weak scaling wants 1000 sqrt(2) = 1414.2, which no program has as a size."""
    n = np.array([8.0, 16.0, 24.0, 32.0, 64.0])[:, None]
    whole, broken = (fit_law(x, ("n",), 70 * x[:, 0] ** 2, metric="work_flops") for x in (n, n / 16))
    old = replace(whole, whole=None)  # a document of an older version
    save_laws(LawsDocument("x", (whole, broken, old), {}), tmp_path / "laws.json")
    assert load_laws(tmp_path / "laws.json").laws == (whole, broken, old)
    for work, sizes in ((whole, [1000.0, 1414.0]), (broken, [1000.0, 1e3 * 2**0.5]), (old, [1000.0, 1414.0])):
        found = project((HALO, work), MACHINE, (1, 2), SIZE, weak_parameter="n")
        assert found.sizes["n"].tolist() == pytest.approx(sizes, rel=1e-12)
    with pytest.raises(ConfigError, match=r"whole number .* found 10\.5\n.*n=10 or n=11") as refused:
        project((HALO, whole), MACHINE, NODES, {"n": 10.5})
    assert refused.value.exit_code == EXIT_USER_ERROR
    for work in (broken, old):
        assert project((HALO, work), MACHINE, NODES, {"n": 10.5}).sizes["n"][0] == 10.5
    assert size_text(2.0**30) == "1073741824"


def test_what_is_missing_is_said() -> None:
    with pytest.raises(FitError, match="law of work_flops"):
        project((HALO,), MACHINE, NODES, SIZE)
    with pytest.raises(FitError, match="value of n"):
        project((HALO, WORK), MACHINE, NODES, {})
    with pytest.raises(MachineModelError, match="bandwidth and throughput"):
        project((HALO, WORK), MachineParameters(), NODES, SIZE)
    with pytest.raises(FitError, match="work depends on"):
        project((HALO, WORK), MACHINE, NODES, {**SIZE, "steps": 3.0}, weak_parameter="steps")
    constant = law("work_flops", (5.0, ()), parameters=("n",))
    with pytest.raises(FitError, match="does not"):
        project((HALO, constant), MACHINE, NODES, SIZE, weak_parameter="n")
