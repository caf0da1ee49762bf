from dataclasses import replace

import numpy as np
import pytest

from commanalyzer.foundation.errors import ConfigError
from commanalyzer.graph.storage.store import GraphStore
from commanalyzer.graph.value_graph import HomeKind
from commanalyzer.machine.simulation.routes import make_network
from commanalyzer.result.results import AnalysisResult, WorkCounts
from commanalyzer.scaling.allocations.workload import Halo, HaloWorkload, LawsWorkload, Ranks, ResultWorkload
from commanalyzer.scaling.laws.fit import fit_law
from commanalyzer.scaling.sweep.table import footprint_bytes
from tests.samples import sample_decomposition, sample_graph, sample_result
from tests.unit.scaling.laws.samples import HALO, MESSAGES, WORK, factor, law

RANKS, PAIR_BYTES = 16, 1000


def shuffled_chain() -> AnalysisResult:
    """A chain of ranks whose numbers say nothing about their place in it."""
    item = sample_decomposition(RANKS, pair_bytes=PAIR_BYTES)
    order = np.random.default_rng(3).permutation(RANKS)
    matrix = np.zeros((RANKS, RANKS), dtype=np.int64)
    matrix[order[:-1], order[1:]] = PAIR_BYTES
    traffic = replace(item.communication, comm_bytes=matrix, messages=(matrix > 0).astype(np.int64))
    return sample_result(replace(item, communication=traffic))


@pytest.mark.parametrize("topology", ["", "torus", "fat-tree"])
def test_partners_of_a_chain_share_nodes(topology: str) -> None:
    """16 ranks of a chain on 4 nodes: at least 3 of its 15 links cross."""
    workload = ResultWorkload(shuffled_chain(), 1)
    network = make_network(topology, 4) if topology else None
    near = workload.demand(4, 4, Ranks(network=network, order="near"))
    blocks = workload.demand(4, 4, Ranks(network=network))
    assert near is not None and blocks is not None
    assert near.metrics["V"].sum() == 3 * PAIR_BYTES
    assert blocks.metrics["V"].sum() > near.metrics["V"].sum()


def test_counted_runs_have_no_work() -> None:
    with pytest.raises(ConfigError, match="operations of the program"):
        ResultWorkload(replace(sample_result(), work=WorkCounts(0, 0, 0, 0)), 1)


def test_memory_of_a_node_is_what_the_program_touches_and_copies() -> None:
    """U of n x n doubles: 8 n^2 B, and what a phase of the ten sends: 320 n (sqrt(p) - 1) / 10 B."""
    n = np.array([8.0, 16.0, 24.0, 32.0, 64.0])[:, None]
    touched = fit_law(n, ("n",), 8 * n[:, 0] ** 2, metric="footprint_bytes")
    laws = (HALO, MESSAGES, WORK)
    size = {"n": 1000.0}
    for nodes, ppn in ((1, 1), (1, 4), (4, 4)):
        demand = LawsWorkload("x", (*laws, touched), size, 10.0).demand(nodes, ppn, Ranks())
        unknown = LawsWorkload("x", laws, size, 10.0).demand(nodes, ppn, Ranks())
        given = LawsWorkload("x", (*laws, touched), size, 10.0, resident_bytes=5.0).demand(
            nodes, ppn, Ranks()
        )
        assert demand is not None and unknown is not None and given is not None
        sent = 32_000 * ((nodes * ppn) ** 0.5 - 1)
        assert demand.resident_bytes == pytest.approx(8e6 + sent)
        assert np.isnan(unknown.resident_bytes) and given.resident_bytes == 5.0
    with pytest.raises(ConfigError, match="whole number"):
        LawsWorkload("x", (*laws, touched), {"n": 10.5}, 10.0)


def test_the_process_with_the_most_work_sets_the_pace() -> None:
    """5 operations on two processes, the busier one with 1.25 times the mean: as if there were 6.25."""
    workload = ResultWorkload(sample_result(), 1, memory_bytes_per_flop=2.0)
    one, two = workload.demand(1, 1, Ranks()), workload.demand(2, 1, Ranks())
    assert one is not None and two is not None
    assert (one.work_flop, one.memory_bytes) == (5.0, 10.0)
    assert (two.work_flop, two.memory_bytes) == (6.25, 12.5)


def test_the_busiest_node_ends_a_phase() -> None:
    """Slabs: an inner node sends 2 rows of n doubles in each of 20 steps, the first and the last send 1."""
    size, steps = {"n": 64.0}, 20.0
    total = law("comm_bytes", (320.0, (factor(0, "rise"), factor(1))))
    inner = law("node_bytes", (320.0, (factor(1),)))
    count = law("messages", (40.0, (factor(0, "rise"),)), parameters=("p",))
    found = LawsWorkload("x", (total, count, WORK, inner), size, steps).demand(4, 1, Ranks())
    mean = LawsWorkload("x", (total, count, WORK), size, steps).demand(4, 1, Ranks())
    assert found is not None and mean is not None
    assert [found.metrics[name][0] for name in ("NT", "NI")] == pytest.approx([1024, 2])
    assert [mean.metrics[name][0] for name in ("NT", "NI")] == pytest.approx([768, 1.5])


def test_every_place_is_touched_once() -> None:
    """Two lifetimes of a word of a workspace are one place of 8 bytes; a register is none."""
    graph, result = sample_graph(), sample_result()
    home = replace(graph.objects[0], kind=HomeKind.HEAP)
    own = replace(
        graph, home_object=np.array([0, 0, 1], dtype=np.int32), objects=(home, home),
        home_offset=np.zeros(3, dtype=np.int64), width_bytes=np.array([4, 8, 8], dtype=np.uint8),
    )  # fmt: skip
    shared = replace(own, is_temporary=np.array([True, True, False]))
    register = replace(shared, objects=(home, replace(home, kind=HomeKind.REGISTER)))
    stores = [replace(result, store=GraphStore.of(each)) for each in (own, shared, register)]
    assert list(map(footprint_bytes, stores)) == [20, 16, 8]
    found = ResultWorkload(stores[1], 4).demand(2, 1, Ranks())
    assert found is not None and found.resident_bytes == 16 + 40 / 4


def test_halos_do_not_say_who_talks_to_whom() -> None:
    workload = HaloWorkload("halo", Halo((8, 8, 8)), 10, 8)
    with pytest.raises(ConfigError, match=r"expected a result \(\*\.cmz\)"):
        workload.demand(2, 2, Ranks(order="near"))
