"""Metrics of phases against counting by hand."""

import json
import sys
from dataclasses import replace

import numpy as np
import pytest

from commanalyzer.communication.matrix import Collective
from commanalyzer.foundation.errors import ConfigError, FitError
from commanalyzer.machine.machine_file import load_machine
from commanalyzer.machine.phase_times import Unit
from commanalyzer.machine.placement import Placement, of_hosts, on_nodes
from commanalyzer.machine.simulation.routes import Messages, make_network
from commanalyzer.scaling.allocations.metrics import model_of, phase_metrics, units_of
from commanalyzer.scaling.allocations.workload import Halo, allreduce_phases, matrix_phases
from tests.native import run
from tests.samples import sample_communication

UNITS = (Unit("SW", 2), Unit("R", 4))


def _messages(*entries: tuple[int, int, int]) -> Messages:
    sender, receiver, size = np.array(entries, dtype=np.int64).T
    return Messages(sender, receiver, size)


def test_a_ring_of_four_ranks_on_two_nodes() -> None:
    ring = _messages((0, 1, 100), (1, 2, 100), (2, 3, 100), (3, 0, 300))
    found = phase_metrics(ring, on_nodes(2, 2), UNITS)
    # Blocks: ranks 0 and 1, 2 and 3. Between nodes: 1 -> 2 with 100 bytes, 3 -> 0 with 300.
    assert found == {
        "S": 150, "M": 1, "PT": 150, "N": 2, "PPN": 2, "NT": 300, "NI": 1, "V": 400, "VI": 2, "SW": 1, "R": 1
    }  # fmt: skip
    other = phase_metrics(ring, on_nodes(2, 2, "round-robin"), UNITS)
    assert (other["V"], other["VI"], other["NT"], other["NI"]) == (600, 4, 400, 2)


def test_shape_counts_occupied_neighbourhoods() -> None:
    placement = Placement(np.arange(4), np.array([0, 1, 5, 9]))
    found = phase_metrics(_messages((0, 1, 8)), placement, UNITS)
    assert (found["SW"], found["R"]) == (3, 3)


def test_routed_metrics_of_a_ring_of_nodes() -> None:
    network = make_network("torus", 5)
    assert network.sides == (5,)
    # Two messages share the link from 1 to 2; 0 -> 2 takes two steps.
    found = phase_metrics(_messages((0, 2, 100), (1, 2, 50)), on_nodes(5, 1), (), network)
    assert (found["LT"], found["D"]) == (150, 2)


def test_units_of_networks_are_blocks_of_consecutive_nodes() -> None:
    assert [u.nodes for u in units_of(make_network("dragonfly", 64))] == [4, 16]
    assert [u.nodes for u in units_of(make_network("fat-tree", 16))] == [4]
    assert units_of(make_network("star", 16)) == ()


@pytest.mark.parametrize(("neighbours", "periodic"), [("faces", False), ("faces", True), ("all", False)])
def test_halo_sends_what_theory_says(neighbours: str, periodic: bool) -> None:
    halo = Halo((12, 12, 12), 8, 1, neighbours, periodic)  # type: ignore[arg-type]
    messages = halo.messages(27)
    assert halo.grid(27) == (3, 3, 3)
    cuts = 3 if periodic else 2
    faces = 3 * cuts * 9 * 2
    if neighbours == "faces":
        assert len(messages.sender) == faces
        assert messages.size_bytes.sum() == faces * 16 * 8
    else:
        # Edges: 3 orientations x 4 places x 3 blocks x 4 ways; corners: 8 places x 8 ways.
        edges, corners = 3 * 4 * 3 * 4, 8 * 8
        assert len(messages.sender) == faces + edges + corners
        assert messages.size_bytes.sum() == 8 * (16 * faces + 4 * edges + corners)
    assert np.array_equal(
        np.sort(messages.sender * 27 + messages.receiver), np.sort(messages.receiver * 27 + messages.sender)
    )


@pytest.mark.parametrize("dimensions", [1, 2, 3])
def test_the_grid_of_a_halo_is_that_of_mpi(dimensions: int) -> None:
    counts = [1, 2, 6, 7, 8, 12, 16, 30, 64, 96, 512, 1000, 1024]
    script = f"from mpi4py.MPI import Compute_dims as c; print([c(p, {dimensions}) for p in {counts}])"
    done = run(sys.executable, "-c", script)
    halo = Halo((16, 64, 1024)[:dimensions])
    assert [list(halo.grid(p)) for p in counts] == json.loads(done.stdout), done.stderr


def test_asked_processes_of_a_dimension_are_kept() -> None:
    # MPI 4.1, Section 8.5.2, its own examples of MPI_Dims_create.
    assert Halo((8, 8)).grid(6) == (3, 2)
    assert Halo((8, 8)).grid(7) == (7, 1)
    assert Halo((16, 64), asked=(2, 0)).grid(8) == (2, 4)
    flat = Halo((8, 8, 8), asked=(0, 3, 0))
    assert flat.grid(6) == (2, 3, 1)
    with pytest.raises(ConfigError, match=r"0 x 3 x 0 .*found 7"):
        flat.grid(7)
    with pytest.raises(ConfigError, match=r"grid 2 x 2 .*found 8"):
        Halo((8, 8), asked=(2, 2)).grid(8)
    with pytest.raises(ConfigError, match=r"grid of 2 numbers, found \[2\]"):
        Halo((8, 8), asked=(2,))


def test_the_first_dimension_gets_most_processes() -> None:
    # 4 x 2 x 2 blocks: 3 cuts of 8 x 8 points along the first dimension, 1 along each of the others.
    messages = Halo((8, 8, 8)).messages(16)
    assert messages.size_bytes.sum() == 2 * 8 * (3 + 1 + 1) * 64
    assert (messages.receiver - messages.sender).max() == 4  # ranks count along the last dimension first
    with pytest.raises(ConfigError, match="at least a point per process"):
        Halo((2, 2)).messages(16)
    with pytest.raises(ConfigError, match="positive"):
        Halo((0,))


@pytest.mark.parametrize("ranks", [2, 3, 8, 13])
def test_an_allreduce_reaches_everybody(ranks: int) -> None:
    known = np.eye(ranks, dtype=bool)
    for phase in allreduce_phases(ranks, 8):
        before = known.copy()
        for sender, receiver in zip(phase.sender, phase.receiver, strict=True):
            known[receiver] |= before[sender]
    assert known.all()
    assert allreduce_phases(1, 8) == ()


@pytest.mark.parametrize("steps", [1, 5, 10, 25])
def test_phases_send_the_bytes_of_the_matrix_whatever_the_steps(steps: int) -> None:
    """0 and 1 exchange ten times in two phases, 0 also sends 2 one large message, and five sums are made."""
    phases = np.zeros((2, 3, 3), dtype=np.int64)
    phases[0, 0, 1], phases[1, 1, 0] = 1000, 3000
    comm, counted = phases.sum(axis=0), (phases > 0) * 10
    comm[0, 2] = 50_000
    sums = tuple(Collective(kind, "norm", 0, 2, 5, 2 * 5 * 8) for kind in ("bcast", "reduce"))
    traffic = sample_communication(comm, counted.sum(axis=0), *sums)
    found = matrix_phases(replace(traffic, phase_bytes=phases, phase_messages=counted), steps)
    tree = [len(phase.sender) for phase in allreduce_phases(3, 8)]
    assert sum(p.repetitions * p.messages.size_bytes.sum() for p in found) == 54_000 + 5 * 8 * sum(tree)
    assert sum(p.repetitions * len(p.messages.sender) for p in found) == 21 + 5 * sum(tree)
    # Each direction is a phase of its own in every step, and each round of a sum.
    assert sum(p.repetitions for p in found) == 2 * min(steps, 10) + 5 * len(tree)


def test_hosts_are_places_by_their_numbers() -> None:
    found = of_hosts(["nid0017", "nid0003", "nid0017", "nid0101"])
    assert found.node.tolist() == [1, 0, 1, 2]
    assert found.position.tolist() == [3, 17, 101]
    assert of_hosts(["a", "b", "a"]).position.tolist() == [0, 1]
    assert of_hosts(["x1-n1", "x2-n1"]).position.tolist() == [0, 1]  # last numbers are alike
    with pytest.raises(ValueError, match="another place"):
        Placement(np.array([0, 1]), np.array([3, 3]))
    with pytest.raises(ValueError, match="nodes 0 to 1"):
        Placement(np.array([0, 2]), np.array([3, 4]))


def _check(machine: str, area: str, expected_s: float, **metrics: float) -> None:
    columns = {name: np.array([float(value)]) for name, value in metrics.items()}
    found = model_of(load_machine(machine)).predict(columns)
    assert found.area[0] == area
    assert found.time_s[0] == pytest.approx(expected_s, rel=1e-12)


def test_vilje_area_1a() -> None:
    # 16 nodes x 8, one message of 1 kB per process to another node; 2 switches, 1 rack.
    ppn, s, ni, nt, r = 8.0, 1024.0, 8.0, 8192.0, 1.0
    expected = (
        6.6111e-6 + 5.8226e-12 * ppn * nt + -1.42e-13 * s * nt + -5.967e-11 * r * nt + 2.1315e-08 * ppn * ni
        + 1.0384e-9 * s * ni + 8.1344e-8 * r * ni + -5.9903e-16 * ppn * s * nt + 1.2994e-12 * ppn * r * nt
        + 1.2228e-14 * s * r * nt + -4.7418e-9 * ppn * r * ni + -3.7129e-16 * ppn * s * r * nt
    )  # fmt: skip
    _check("vilje", "Ia", expected, PPN=ppn, S=s, NI=ni, NT=nt, R=r, SW=2, V=131072)


def test_vilje_area_1b() -> None:
    # 32 nodes x 2, one message of 16 kB; 4 switches in 2 racks.
    s, nt, v, ratio = 16384.0, 32768.0, 1048576.0, 4 / 2
    expected = (
        7.7787e-10 * s + 1.2193e-6 * ratio + -6.1059e-11 * s * ratio + 2.8278e-10 * nt + 1.2398e-12 * v
        + -5.7408e-15 * s * nt + 2.6589e-11 * ratio * nt + 3.6211e-18 * s * v + -1.8116e-13 * ratio * v
        + 6.9513e-16 * s * ratio * nt + 2.3784e-18 * s * ratio * v
    )  # fmt: skip
    _check("vilje", "Ib", expected, PPN=2, S=s, NI=2, NT=nt, R=2, SW=4, V=v)


def test_vilje_area_2() -> None:
    # 64 nodes x 16, four messages of 256 kB; 8 switches, 1 rack.
    ppn, s, sw = 16.0, 262144.0, 8.0
    nt = ppn * 4 * s
    expected = (
        -3.5128e-11 * s + -1.3962e-11 * ppn * s + 1.8077e-11 * sw * s + -1.0744e-12 * ppn * s * sw
        + 2.5808e-10 * nt + -3.8401e-12 * ppn * nt + 4.5466e-18 * s * nt + 1.3029e-11 * sw * nt
        + 1.5495e-19 * ppn * s * nt + 3.5872e-13 * ppn * sw * nt + -1.6864e-19 * s * sw * nt
        + 2.1983e-20 * ppn * s * sw * nt
    )  # fmt: skip
    _check("vilje", "II", expected, PPN=ppn, S=s, NI=64, NT=nt, R=1, SW=sw, V=64 * nt)


def test_piz_daint_area_1a() -> None:
    # 32 nodes on 8 routers of 2 chassis, 4 messages of 1 kB from each of 2 processes.
    ni, per_router, c = 8.0, 32 / 8, 2.0
    expected = (
        1.816e-5 + 5.0144e-8 * ni + -2.927e-6 * per_router + 3.2788e-8 * ni * per_router + -6.4923e-7 * c
        + 1.3872e-8 * ni * c + 2.9738e-7 * per_router * c + -1.8538e-9 * ni * c * per_router
    )  # fmt: skip
    _check("piz-daint", "Ia", expected, N=32, A=8, C=c, PPN=2, S=1024, PT=4096, NI=ni, NT=8192)


def test_piz_daint_area_1b() -> None:
    # 64 nodes on 16 routers of 1 chassis, 8 messages of 4 kB from the only process.
    ppn, ni, nt, per_chassis = 1.0, 8.0, 32768.0, 16 / 1
    expected = (
        2.0604e-5 + -1.7625e-5 * ppn + 1.9318e-10 * nt + 2.7981e-7 * ni + 7.5479e-7 * per_chassis
        + 5.3778e-13 * ppn * nt + -1.98e-8 * ppn * ni + 2.7822e-12 * nt * per_chassis
    )  # fmt: skip
    _check("piz-daint", "Ib", expected, N=64, A=16, C=1, PPN=ppn, S=4096, PT=32768, NI=ni, NT=nt)


def test_piz_daint_area_2() -> None:
    ppn, nt = 8.0, 8 * 4 * 65536.0
    expected = 7.0526e-5 + -2.7899e-5 * ppn + 2.2196e-10 * nt + 1.4061e-11 * nt * ppn
    _check("piz-daint", "II", expected, N=64, A=16, C=1, PPN=ppn, S=65536, PT=4 * 65536, NI=32, NT=nt)


def test_printed_formulas_below_zero_are_cut_off_and_marked() -> None:
    # 7.05e-5 - 8 x 2.79e-5 < 0: little traffic from 8 processes.
    metrics = {"N": 16, "A": 4, "C": 1, "PPN": 8, "S": 16384, "PT": 16384, "NI": 8, "NT": 131072}
    found = model_of(load_machine("piz-daint")).predict({k: np.array([float(v)]) for k, v in metrics.items()})
    assert found.time_s[0] == 0.0
    assert found.is_clamped[0]


def test_out_of_range_is_marked_and_missing_metrics_are_named() -> None:
    model = model_of(load_machine("piz-daint"))
    metrics = {"A": 4, "C": 1, "PPN": 1, "S": 65536, "PT": 65536, "NI": 1, "NT": 65536}
    columns = {k: np.full(3, float(v)) for k, v in metrics.items()}
    found = model.predict(columns | {"N": np.array([8.0, 128.0, 129.0])})
    assert found.is_beyond.tolist() == [False, False, True]
    del columns["A"]
    with pytest.raises(FitError, match="found no A") as caught:
        model.predict(columns | {"N": np.full(3, 8.0)})
    assert "[[units]]" in str(caught.value.hint)
