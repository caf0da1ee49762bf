import math
import os
from pathlib import Path

import pytest

from commanalyzer.machine.measuring import mpi
from commanalyzer.machine.measuring.hosts import JobHosts, RankPlace, granted_processors, this_place

ALL = frozenset(range(8))


def _placement(*ranks: tuple[str, frozenset[int] | set[int]]) -> JobHosts:
    """Ranks on hosts of 4 cores with 2 hardware threads each: 0 and 4, 1 and 5, ..."""
    return JobHosts(
        tuple(RankPlace(host, frozenset(cpus), frozenset(c % 4 for c in cpus), 8) for host, cpus in ranks)
    )


def test_one_pinned_rank_per_host() -> None:
    found = _placement(("a", {0}), ("b", {0}))
    assert (found.num_hosts, found.most_ranks_per_host, found.leaders) == (2, 1, (0, 1))
    assert found.is_pinned
    assert not found.is_oversubscribed
    assert found.remarks() == ()
    assert found.flags == ()


def test_several_ranks_per_host() -> None:
    found = _placement(("a", {0}), ("a", {1}), ("b", {0}), ("b", {1}))
    assert found.leaders == (0, 2)
    assert found.remarks() == ("up to 2 ranks per host: one of each host was measured",)


def test_one_host_is_no_network() -> None:
    found = _placement(("a", {0}), ("a", {1}))
    assert found.remarks() == ("all ranks share one host: this is its memory, not a network",)
    assert found.flags == ("one host",)
    assert _placement(("a", ALL), ("a", {0})).flags == ("one host", "not pinned")
    assert _placement(("a", {0}), ("a", {0})).flags == ("one host", "oversubscribed", "not pinned")


@pytest.mark.parametrize(
    ("ranks", "is_pinned"),
    [
        ([("a", ALL), ("b", {1})], False),  # one may wander over its whole host
        ([("a", {0, 1}), ("a", {1, 2})], False),  # two share a hardware thread
        ([("a", {0, 1}), ("a", {2, 3})], True),
        ([("a", {0, 1}), ("b", {0, 1})], True),  # the same number on another host
    ],
)
def test_pinning(ranks: list[tuple[str, frozenset[int] | set[int]]], is_pinned: bool) -> None:
    found = _placement(*ranks)
    assert found.is_pinned == is_pinned
    assert any("not pinned" in remark for remark in found.remarks()) != is_pinned


@pytest.mark.parametrize(
    ("cpus", "ranks", "is_oversubscribed"),
    [
        (ALL, 4, False),  # 8 hardware threads of 4 cores
        (ALL, 5, True),
        ({0, 4}, 2, True),  # 2 hardware threads of 1 core
        ({0, 1}, 2, False),
    ],
)
def test_oversubscription(cpus: frozenset[int] | set[int], ranks: int, is_oversubscribed: bool) -> None:
    found = _placement(*[("a", cpus)] * ranks)
    assert found.is_oversubscribed == is_oversubscribed
    assert any("oversubscribed" in remark for remark in found.remarks()) == is_oversubscribed


@pytest.mark.parametrize(
    ("load", "host_cpus", "is_busy"), [(0.9, 2, False), (1.1, 2, True), (1.1, 64, False), (7.0, 64, True)]
)
def test_work_of_others(load: float, host_cpus: int, is_busy: bool) -> None:
    cpu = frozenset((0,))
    found = JobHosts((RankPlace("a", cpu, cpu, host_cpus, load), RankPlace("b", cpu, cpu, host_cpus)))
    assert found.is_busy == is_busy
    assert found.flags == (("busy",) if is_busy else ())
    assert any("other processes" in remark for remark in found.remarks()) == is_busy


@pytest.mark.parametrize(("quota", "is_oversubscribed"), [(2.0, False), (1.5, True)])
def test_a_container_may_grant_less_than_its_cores(quota: float, is_oversubscribed: bool) -> None:
    places = [RankPlace("a", frozenset((c,)), frozenset((c,)), 8, quota=quota) for c in (0, 1)]
    assert JobHosts(tuple(places)).is_oversubscribed == is_oversubscribed


@pytest.mark.parametrize(
    ("content", "processors"), [("150000 100000\n", 1.5), ("max 100000\n", math.inf), ("", math.inf)]
)
def test_granted_processors(tmp_path: Path, content: str, processors: float) -> None:
    limit = tmp_path / "cpu.max"
    limit.write_text(content)
    assert granted_processors(limit) == processors
    assert granted_processors(tmp_path / "none") == math.inf


def test_places_travel_as_text() -> None:
    place = this_place()
    assert place.cpus == frozenset(os.sched_getaffinity(0))
    assert 1 <= len(place.cores) <= len(place.cpus) <= place.host_cpus
    assert RankPlace.from_text(place.to_text()) == place


@pytest.mark.parametrize(
    ("variables", "rank", "ranks"),
    [
        ({}, 0, 1),
        ({"PMI_RANK": "3", "PMI_SIZE": "8"}, 3, 8),  # MPICH, Intel MPI
        ({"OMPI_COMM_WORLD_RANK": "2", "OMPI_COMM_WORLD_SIZE": "4"}, 2, 4),
        ({"SLURM_PROCID": "5", "SLURM_STEP_NUM_TASKS": "6"}, 5, 6),  # srun
        ({"SLURM_PROCID": "0", "SLURM_NTASKS": "6"}, 0, 1),  # a batch script is no rank
        ({"PMI_RANK": "1", "PMI_SIZE": "2", "SLURM_PROCID": "0"}, 1, 2),  # mpiexec in a batch script
    ],
)
def test_what_launchers_say(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], rank: int, ranks: int
) -> None:
    for name in (*mpi._RANK_VARIABLES, *mpi._SIZE_VARIABLES):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert (mpi.launcher_rank(), mpi.launched_ranks()) == (rank, ranks)
