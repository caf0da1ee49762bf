"""Profiles with known laws and known classes: ranks on a grid that own a block of it each."""

from collections.abc import Sequence

import numpy as np

from commanalyzer.profiles import values
from commanalyzer.profiles.values import DATA_INDEX, INDEX, InstructionMix, no_instructions

F64 = DATA_INDEX["float_64bits"]
I64 = DATA_INDEX["int_64bits"]


def grid_profile(extents: Sequence[int], n: int, *, noise: float = 0.0, seed: int = 0) -> values.Profile:
    """Run of a code with n^d cells on a grid of ranks, with exchanges between neighbours.

    A rank computes on its n^d / p cells (10 loads, 2 stores, 6 fp adds, 3 fp muls, 4 int adds each), copies
    its borders (5 loads, 5 stores per cell of each border), and has 100 more instructions.
    """
    generator = np.random.default_rng(seed)
    places = np.stack(np.unravel_index(np.arange(int(np.prod(extents))), extents), axis=1)
    ranks = []
    for rank, place in enumerate(places.tolist()):
        ranks.append(_rank(rank, place, extents, n, 1.0 + noise * generator.standard_normal()))
    return values.Profile("made", {"n": float(n), "p": float(len(ranks))}, tuple(ranks))


def _rank(
    rank: int, place: Sequence[int], extents: Sequence[int], n: int, factor: float
) -> values.RankProfile:
    block = [n / q for q in extents]
    cells = float(np.prod(block))
    sources, sizes = [], []
    for axis, q in enumerate(extents):
        for step in (-1, 1):
            if 0 <= place[axis] + step < q:
                other = list(place)
                other[axis] += step
                sources.append(int(np.ravel_multi_index(other, extents)))
                sizes.append(8.0 * cells / block[axis])
    border = sum(sizes) / 8.0
    counts = no_instructions()
    for name, per_cell, per_border, kind in (
        ("load", 10, 5, F64),
        ("store", 2, 5, F64),
        ("fp_arith_add", 6, 0, F64),
        ("fp_arith_mul", 3, 0, F64),
        ("int_arith_add", 4, 2, I64),
    ):
        counts[INDEX[name], 0, kind] = factor * (per_cell * cells + per_border * border)
    counts[INDEX["int_arith_add"], 0, I64] += 100.0
    order = np.argsort(sources)
    own = [np.array(sources, dtype=np.int64)[order], np.array(sizes)[order]]
    mean = np.array([4.0, 2.0, 3.0, 1.0, 2.0]) - 0.1 * len(sources)
    spans = values.Spans(counts.sum() / mean, mean)
    return values.RankProfile(
        process_id=rank,
        mix=InstructionMix(counts),
        register_reads=2.0 * float(counts.sum()),
        register_writes=0.8 * float(counts.sum()),
        parallelism=(values.Parallelism(54, spans, spans),),
        data_reuse=tuple(_reuse(line, block, counts) for line in (64, 128)),
        instruction_reuse=(
            values.Reuse(64, np.array([0, 1, 2]), np.array([0.5, 0.3, 0.2]) * counts.sum(), counts.sum()),
        ),
        footprint=values.Footprint(8.0 * cells, cells / 8.0),
        branches=values.Branches(np.array([0, 8]), np.array([0.3, 0.1]), np.array([0.05, 0.01]), cells),
        exchange=values.Exchange(sum(sizes), float(len(sizes)), own[0], own[1], np.ones(len(sizes))),
    )


def _reuse(line: int, block: Sequence[float], counts: np.ndarray) -> values.Reuse:
    """Half of the accesses at once, three in ten after a row of the block, the rest after all of it."""
    accesses = float(counts[[INDEX["load"], INDEX["store"]]].sum())
    row, every = 8.0 * block[-1] / line, 8.0 * float(np.prod(block)) / line
    top = int(np.ceil(np.log2(max(every, 1.0)))) + 1
    distance = np.array([0, *(2**k for k in range(top + 1))])
    step = (distance >= 0) * 0.5 + (distance >= row) * 0.3 + (distance >= every) * 0.19
    return values.Reuse(line, distance, np.diff(step, prepend=0.0) * accesses, accesses)


def places_of(extents: Sequence[int]) -> list[int]:
    """Dimensions with neighbours on both sides, per rank: 0 is a corner."""
    places = np.stack(np.unravel_index(np.arange(int(np.prod(extents))), extents), axis=1)
    inner: list[int] = ((places > 0) & (places < np.array(extents) - 1)).sum(axis=1).tolist()
    return inner
