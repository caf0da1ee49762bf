"""Classes of profiles with known classes, by both methods."""

import numpy as np
import pytest

from commanalyzer.foundation.errors import ProfileError
from commanalyzer.profiles.classification.classes import RankGroup
from commanalyzer.profiles.classification.classify import Method, classify, find_topology, sequences
from commanalyzer.profiles.values import Profile
from tests.made_profiles import grid_profile, places_of

GRIDS_1D = [(2,), (3,), (4,), (6,), (8,), (16,), (27,)]
GRIDS_2D = [(2, 2), (3, 2), (3, 3), (4, 3), (4, 4), (5, 5)]
GRIDS_3D = [(2, 2, 2), (3, 2, 2), (3, 3, 2), (3, 3, 3)]


def same_partition(found: list[int], true: list[int]) -> bool:
    """One class per true class and the other way round."""
    pairs = set(zip(found, true, strict=True))
    return len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})


@pytest.mark.parametrize("method", ("clusters", "pattern"))
@pytest.mark.parametrize("grids", [GRIDS_1D, GRIDS_2D, GRIDS_3D], ids=["1d", "2d", "3d"])
def test_classes_are_the_places_on_the_grid(method: Method, grids: list[tuple[int, ...]]) -> None:
    sizes = (240, 480, 720)
    if method == "clusters":  # edges of two lengths are two clusters
        grids = [grid for grid in grids if grid != (4, 3)]
    runs = [(grid, n) for grid in grids for n in sizes]
    found = classify([grid_profile(grid, n) for grid, n in runs], method)
    true = [places_of(grid) for grid, _ in runs]
    assert same_partition(
        [c for run in found.runs for c in run.classes.tolist()], [c for own in true for c in own]
    )


def test_a_given_number_joins_edges_of_two_lengths() -> None:
    grids = [(3, 3), (4, 3), (4, 4)]
    profiles = [grid_profile(grid, 240) for grid in grids]
    assert len(classify(profiles, "clusters").names) == 4
    found = classify(profiles, "clusters", number=3)
    assert same_partition(
        [c for run in found.runs for c in run.classes.tolist()], [c for g in grids for c in places_of(g)]
    )


def test_directed_patterns_tell_first_and_last_apart() -> None:
    found = classify([grid_profile((p,), 120) for p in (2, 3, 5, 8)], "pattern", directed=True)
    assert found.names == ("first", "inner", "last")
    assert [run.classes.tolist() for run in found.runs] == [
        [0, 2], [0, 1, 2], [0, 1, 1, 1, 2], [0, *[1] * 6, 2]
    ]  # fmt: skip


def test_groups_of_a_plane_are_those_of_the_mesh_and_explode_to_all_ranks() -> None:
    (run,) = classify([grid_profile((4, 5), 120)], "pattern").runs
    assert len(run.groups) == 9
    interior = next(g for g in run.groups if len(g.sources) == 4)
    assert (interior.start, interior.dimensions) == (6, ((1, 3), (5, 2)))
    assert [s.relative for s in interior.sources] == [1, 5, 15, 19]
    assert interior.sources[0].sizes == (240.0, 240.0, 240.0, 240.0, 0.0)
    members = [rank for group in run.groups for rank in group.ranks()]
    assert sorted(members) == list(range(20))


@pytest.mark.parametrize(
    "ranks, count", [([3], 1), ([0, 2, 4, 6], 1), ([1, 2, 5, 6, 9, 10], 1), ([0, 1, 5], 2), (range(27), 1)]
)
def test_sequences_say_the_same_ranks(ranks: list[int], count: int) -> None:
    found = sequences(ranks)
    assert len(found) == count
    assert sorted(r for start, dims in found for r in RankGroup(start, dims).ranks()) == list(ranks)


def _wrapped(extents: tuple[int, ...]) -> np.ndarray:
    places = np.stack(np.unravel_index(np.arange(int(np.prod(extents))), extents), axis=1)
    steps = np.abs(places[:, None, :] - places[None, :, :])
    steps = np.minimum(steps, np.array(extents) - steps)
    return np.asarray(steps.sum(axis=2) == 1)


@pytest.mark.parametrize(
    "extents, text", [((7,), "ring 7"), ((4, 5), "torus 4 x 5"), ((3, 4, 5), "torus 3 x 4 x 5")]
)
def test_wrapped_grids_are_found(extents: tuple[int, ...], text: str) -> None:
    found = find_topology(_wrapped(extents))
    assert found is not None and found.text == text


def test_all_to_all_and_stars_are_found() -> None:
    everyone = ~np.eye(6, dtype=bool)
    found = find_topology(everyone)
    assert found is not None and found.kind == "all-to-all"
    star = np.zeros((6, 6), dtype=bool)
    star[0, 1:] = star[1:, 0] = True
    assert find_topology(star) is None  # no grid


def test_irregular_patterns_are_refused() -> None:
    profile = grid_profile((4, 4), 64)
    odd = Profile("made", profile.scale, (profile.ranks[15], *profile.ranks[1:15], profile.ranks[0]))
    relabelled = [
        type(r)(process_id=(7 * r.process_id) % 16, exchange=r.exchange, mix=r.mix) for r in odd.ranks
    ]
    with pytest.raises(ProfileError, match="regular pattern"):
        classify([Profile("made", profile.scale, tuple(relabelled))], "pattern")


def test_profiles_of_other_parameters_are_refused() -> None:
    first = grid_profile((2, 2), 64)
    with pytest.raises(ProfileError, match="scaling parameters"):
        classify([first, Profile("made", {"m": 1.0}, first.ranks)], "clusters")
    with pytest.raises(ProfileError, match="one application"):
        classify([first, Profile("other", first.scale, first.ranks)], "clusters")


def test_equal_threads_are_one_class() -> None:
    found = classify([grid_profile((2, 2), n) for n in (64, 128)], "clusters")
    assert found.counts().tolist() == [[4], [4]]
