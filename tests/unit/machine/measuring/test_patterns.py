import gzip
from pathlib import Path

import numpy as np
import pytest

from commanalyzer.foundation.errors import MachineModelError
from commanalyzer.machine.measuring.kernels import IDLE, random_matchings, random_rings, rank_counts
from commanalyzer.machine.measuring.samples import Series, read_samples, write_samples


@pytest.mark.parametrize("num_ranks", [2, 4, 6, 64])
def test_a_matching_pairs_every_rank_once(num_ranks: int) -> None:
    matchings = random_matchings(num_ranks, 50, seed=3)
    ranks = np.arange(num_ranks)
    partners = matchings.targets
    assert partners.shape == (50, num_ranks)
    assert np.array_equal(np.sort(partners, axis=1), np.broadcast_to(ranks, partners.shape))
    assert np.array_equal(
        np.take_along_axis(partners, partners, axis=1), np.broadcast_to(ranks, partners.shape)
    )
    assert not np.any(partners == ranks)
    assert np.array_equal(matchings.sources, partners)


def test_with_an_odd_number_one_rank_is_idle_in_each_round() -> None:
    partners = random_matchings(5, 200, seed=3).targets
    assert np.array_equal(np.count_nonzero(partners == IDLE, axis=1), np.ones(200))
    # each rank is idle in one of five rounds: 40 of 200, standard deviation 5.7
    assert np.all(np.abs(np.count_nonzero(partners == IDLE, axis=0) - 40) < 25)


@pytest.mark.parametrize("num_ranks", [2, 3, 7, 64])
def test_a_ring_visits_every_rank(num_ranks: int) -> None:
    rings = random_rings(num_ranks, 20, seed=3)
    place = np.zeros(20, dtype=np.int64)
    visited = [place]
    for _ in range(num_ranks - 1):
        place = rings.targets[np.arange(20), place]
        visited.append(place)
    assert np.array_equal(np.sort(np.stack(visited), axis=0), np.repeat(np.arange(num_ranks)[:, None], 20, 1))
    assert not rings.targets[np.arange(20), place].any()  # closed: back at rank 0
    back = np.take_along_axis(rings.sources, rings.targets, axis=1)
    assert np.array_equal(back, np.broadcast_to(np.arange(num_ranks), back.shape))


def test_partners_are_uniform() -> None:
    partners = random_matchings(4, 3000, seed=0).targets[:, 0]
    counts = np.bincount(partners, minlength=4)
    assert counts[0] == 0
    # 1000 each, standard deviation 26
    assert np.all(np.abs(counts[1:] - 1000) < 150)


def test_the_seed_decides() -> None:
    first, same, other = (random_matchings(8, 10, seed).targets for seed in (1, 1, 2))
    assert np.array_equal(first, same)
    assert not np.array_equal(first, other)
    assert not np.array_equal(first[0], first[1])


def test_rank_counts() -> None:
    assert rank_counts(2) == (2,)
    assert rank_counts(3) == (2, 3)
    assert rank_counts(8) == (2, 4, 8)
    assert rank_counts(12) == (2, 4, 8, 12)


TIMES_S = np.array([[1.5e-6, np.nan], [2.0, 3.25e-7]])


def test_raw_timings_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "m.samples.json.gz"
    series = (Series("matching", 2, 4096, 20, TIMES_S), Series("call", 2, 0, 1, np.zeros((2, 0))))
    write_samples(path, series, {"seed": 1, "library": "MPICH"})
    found, provenance = read_samples(path)
    assert provenance == {"seed": 1, "library": "MPICH"}
    assert [(s.benchmark, s.num_ranks, s.message_bytes, s.num_messages) for s in found] == [
        ("matching", 2, 4096, 20),
        ("call", 2, 0, 1),
    ]
    assert np.array_equal(found[0].times_s, TIMES_S, equal_nan=True)
    assert found[1].times_s.shape == (2, 0)


def test_the_same_timings_give_the_same_file(tmp_path: Path) -> None:
    series = (Series("matching", 2, 4096, 20, TIMES_S.copy()),)
    paths = [tmp_path / name for name in ("a.json.gz", "b.json.gz")]
    for path in paths:
        write_samples(path, series, {})
    assert paths[0].read_bytes() == paths[1].read_bytes()


_OTHER = (b"no gzip", gzip.compress(b"no json", mtime=0), gzip.compress(b'{"kind": "x"}', mtime=0))


@pytest.mark.parametrize("content", _OTHER, ids=["text", "zipped text", "other kind"])
def test_other_files_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "m.json.gz"
    path.write_bytes(content)
    with pytest.raises(MachineModelError) as caught:
        read_samples(path)
    assert str(path) in caught.value.where
