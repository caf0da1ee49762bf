"""Candidates: value graph -> owners by every method, for one number of parts at a time.

Graph partitioners (METIS by three objectives and several seeds), a hypergraph partitioner (Mt-KaHyPar),
blocks of the program's arrays on process grids, what the user asked for, and refinements of these. Which
one is best is decided by counting.

Reference: paper Section 4.2.2.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from commanalyzer.errors import ConfigError
from commanalyzer.partition.affinity import Affinity, build_affinity
from commanalyzer.partition.bounds import Structure, recognise
from commanalyzer.partition.grids import block_owners, fits, grid_name, is_slab, process_grids, surface
from commanalyzer.partition.levels import Levels, build_levels
from commanalyzer.partition.metis import Objective, partition
from commanalyzer.partition.mtkahypar import partition_hypergraph
from commanalyzer.partition.owner_map import OwnerMap, map_owners
from commanalyzer.partition.owners import extend_to_hubs, spread_hubs
from commanalyzer.partition.refine import MOST_COUNTS, balance_weights, most_work
from commanalyzer.partition.rules import Rule, rule_owners
from commanalyzer.partition.selection import Cost, best_of
from commanalyzer.partition.shapes import Array, Shaped, find_arrays, shape_families
from commanalyzer.vcg.graph import Bool, Float64, Int32, ValueGraph

# METIS's edge cut and volume, and the cut of the graph whose edges share the bytes of a value.
_Objective = Literal["cut", "volume", "net"]
OBJECTIVES: tuple[_Objective, ...] = ("cut", "volume", "net")
_ATTEMPTS = 4  # seeds per objective: METIS's results differ by several per cent on small graphs
_MOST_RETRIED_EDGES = 150_000  # above it, one seed: more would take longer than recording
_MOST_PINS = 1_000_000  # pins times numbers of parts; above it, Mt-KaHyPar would take many seconds
_MOST_GRIDS = 12
_MANY_COUNTS = 20_000_000  # pins times parts; above it, few grids
_FEW_GRIDS = 3
_ROUNDS = 3  # of a refinement


# What owners of all values cost among so many parts.
Counter = Callable[[Int32, int], Cost]


@dataclass(frozen=True, slots=True)
class Candidate:
    """Owners of all values and where they come from.

    Attributes:
        method: What made them, unique among the candidates of a number of parts.
        part: int32[V].
        seconds: Time it took.
    """

    method: str
    part: Int32
    seconds: float


@dataclass(frozen=True, slots=True)
class PortfolioOptions:
    """What to try.

    Attributes:
        nodes: Numbers of parts.
        seed: Seed of the partitioners.
        imbalance: Allowed excess of the largest part's work over the mean.
        rules: Divisions that the user named.
        owner_map: Owners that the user gave.
        structured: Try hypergraphs, grids and refinement (otherwise METIS and the user's divisions only).
    """

    nodes: tuple[int, ...]
    seed: int
    imbalance: float
    rules: tuple[Rule, ...] = ()
    owner_map: OwnerMap | None = None
    structured: bool = True


class Portfolio:
    """Candidates of one graph; what does not depend on the number of parts is computed once.

    Raises:
        ConfigError: If what the user asked for is for a number of parts that is not analysed.
    """

    def __init__(self, graph: ValueGraph, removed: Bool, options: PortfolioOptions, count: Counter) -> None:
        self._graph = graph
        self._removed = removed
        self._count = count
        self._options = options
        _check_asked(options)

    @cached_property
    def levels(self) -> Levels:
        """Fine and coarse view."""
        return build_levels(self._graph, self._removed, max(self._options.nodes))

    @cached_property
    def arrays(self) -> tuple[Array, ...]:
        """Arrays of the program."""
        return find_arrays(self._graph, self._removed)

    @cached_property
    def families(self) -> tuple[tuple[Shaped, ...], ...]:
        """Arrays with shapes, by dimensions."""
        return shape_families(self._graph, self.arrays)

    @cached_property
    def structure(self) -> Structure | None:
        """What the program is known to be, for lower bounds."""
        return recognise(self._graph, self.families) if self._options.structured else None

    @cached_property
    def _affinities(self) -> tuple[Affinity, Affinity]:
        """Affinity graphs whose edges weigh all bytes, and those shared by the readers of a value."""
        most = max(self._options.nodes)
        return (
            build_affinity(self._graph, self._removed, most_parts=most),
            build_affinity(self._graph, self._removed, shared=True, most_parts=most),
        )

    def allowed(self, num_parts: int) -> float:
        """Largest work of a part over the mean that a balanced decomposition may have."""
        structured = self._options.structured
        work = self.levels.fine.hypergraph.work_flops if structured else self._coarse_work
        weight = balance_weights(work)
        total = float(weight.sum())
        return most_work(weight, num_parts, self._options.imbalance) * num_parts / total if total > 0 else 1.0

    @property
    def _coarse_work(self) -> Float64:
        return self._affinities[0].adjacency.work_flops

    def candidates(self, num_parts: int) -> Iterator[Candidate]:
        """Yield what every method finds, before refinement."""
        methods = [self._metis(num_parts)]
        if num_parts > 1:
            if self._options.structured:
                methods += [self._mtkahypar(num_parts), self._blocks(num_parts)]
            methods.append(self._asked(num_parts))
        for method in methods:
            yield from _timed(method)

    def refined(self, candidates: Sequence[Candidate], num_parts: int) -> Iterator[Candidate]:
        """Yield refinements of ``candidates``, as far as they differ."""
        if num_parts > 1 and self._is_affordable(num_parts):
            yield from _timed(self._refined(candidates, num_parts))

    def _is_affordable(self, num_parts: int) -> bool:
        fine = self.levels.fine.hypergraph
        return self._options.structured and 0 < fine.num_nets * num_parts <= MOST_COUNTS

    def _metis(self, num_parts: int) -> Iterator[tuple[str, Int32]]:
        """Owners by METIS on the coarse view, distinct ones of several seeds; one on the fine view."""
        affinity, shared = self._affinities
        for objective in OBJECTIVES:
            weighted = shared if objective == "net" else affinity
            for name, part in self._attempts(weighted, num_parts, objective):
                yield name, part
        if self._options.structured and num_parts > 1 and self.levels.has_tasks:
            fine = self.levels.fine.affinity
            if fine.adjacency.num_edges <= _MOST_RETRIED_EDGES:
                name, part = next(self._attempts(fine, num_parts, "cut"))
                yield f"{name} without tasks", part

    def _attempts(
        self, affinity: Affinity, num_parts: int, objective: _Objective
    ) -> Iterator[tuple[str, Int32]]:
        minimised: Objective = "volume" if objective == "volume" else "cut"
        first = self._options.seed
        retried = num_parts > 1 and affinity.adjacency.num_edges <= _MOST_RETRIED_EDGES
        seen: set[bytes] = set()
        for seed in range(first, first + (_ATTEMPTS if retried else 1)):
            core = partition(
                affinity.adjacency,
                num_parts,
                objective=minimised,
                seed=seed,
                imbalance=self._options.imbalance,
            )
            key = core.part.tobytes()
            if key not in seen:
                seen.add(key)
                name = f"metis {objective}" if seed == first else f"metis {objective} seed {seed}"
                yield name, extend_to_hubs(self._graph, self._removed, affinity, core).part

    def _mtkahypar(self, num_parts: int) -> Iterator[tuple[str, Int32]]:
        """Owners by Mt-KaHyPar: on both views where they are small enough."""
        levels = self.levels
        views = [("mt-kahypar km1", levels.coarse)]
        if levels.has_tasks:
            views.append(("mt-kahypar km1 without tasks", levels.fine))
        for name, level in views:
            h = level.hypergraph
            if 0 < h.num_pins * len(self._options.nodes) <= _MOST_PINS and num_parts <= h.num_vertices:
                core = partition_hypergraph(
                    h, num_parts, seed=self._options.seed, imbalance=self._options.imbalance
                )
                part = levels.to_fine(core.part) if level is levels.coarse else core.part
                yield name, levels.owners(part, num_parts)

    def _blocks(self, num_parts: int) -> Iterator[tuple[str, Int32]]:
        """Owners by blocks of the arrays: the best slabs and the best grid of each family."""
        if not self._is_affordable(num_parts):
            return
        for family in self.families:
            dims = len(family[0].extents)
            num_pins = self.levels.fine.hypergraph.num_pins
            grids = _promising(family[0].extents, num_parts, num_pins)
            best: dict[int, tuple[int, tuple[int, ...], Int32]] = {}  # by number of divided dimensions
            for grid in grids:
                cut = sum(g > 1 for g in grid)
                for owners in self._in_blocks(family, grid, num_parts):
                    entry = (self._count(owners, num_parts).comm_bytes, grid, owners)
                    if cut not in best or entry[:2] < best[cut][:2]:
                        best[cut] = entry
            for _, grid, owners in best.values():
                yield f"blocks {grid_name(grid)}" if dims > 1 else f"slabs {num_parts}", owners

    def _in_blocks(self, family: Sequence[Shaped], grid: tuple[int, ...], num_parts: int) -> Iterator[Int32]:
        """Owners for blocks of equal size, and for blocks of equal work if these differ."""
        even = block_owners(self._graph, family, grid)
        yield self._follow(even, num_parts)
        by_work = block_owners(self._graph, family, grid, by_work=True)
        num_pins = self.levels.fine.hypergraph.num_pins
        if num_pins * num_parts <= _MANY_COUNTS and not np.array_equal(even, by_work):
            yield self._follow(by_work, num_parts)

    def _asked(self, num_parts: int) -> Iterator[tuple[str, Int32]]:
        """Owners that the user named or gave."""
        rules, owner_map = self._options.rules, self._options.owner_map
        if rules:
            found = rule_owners(self._graph, self.arrays, self.families, rules, num_parts)
            if found is not None:
                name = ", ".join(rule.text for rule in rules)
                yield name, self._follow(found, num_parts)
        if owner_map is not None and owner_map.num_parts == num_parts:
            found = map_owners(self._graph, owner_map)
            part = self._follow(found, num_parts)
            yield f"owner map {owner_map.path.name}", np.where(found >= 0, found, part).astype(np.int32)

    def _follow(self, value_part: Int32, num_parts: int) -> Int32:
        """Owners of all values where some are given: followed one by one or as tasks, what is cheaper."""
        followed = self.levels.follow(value_part, num_parts, self._options.imbalance)
        candidates = [self.levels.owners(part, num_parts) for part in followed]
        return min(candidates, key=lambda owners: self._count(owners, num_parts).comm_bytes)

    def _refined(self, candidates: Sequence[Candidate], num_parts: int) -> Iterator[tuple[str, Int32]]:
        """Owners that are better than those that they were made of; what is not is left out."""
        for candidate in candidates:
            part = self._best_refinement(candidate.part, num_parts)
            if part is not candidate.part:
                yield f"{candidate.method} refined", part

    def _best_refinement(self, part: Int32, num_parts: int) -> Int32:
        """The best of some rounds; each balances the work as it lies after the round before."""
        imbalance = self._options.imbalance
        found, costs = [part], [self._count(part, num_parts)]
        for _ in range(_ROUNDS):
            work = costs[-1].work_flops
            most = self.allowed(num_parts) * float(work.sum()) / num_parts
            spread = spread_hubs(self._graph, self._removed, found[-1], num_parts, work, most)
            found.append(self.levels.improved(spread, num_parts, imbalance, work))
            costs.append(self._count(found[-1], num_parts))
        return found[self._best(costs, num_parts)]

    def _best(self, costs: Sequence[Cost], num_parts: int) -> int:
        volumes, excess = [c.comm_bytes for c in costs], [c.imbalance for c in costs]
        return best_of(volumes, excess, self.allowed(num_parts), self._options.imbalance)


def _check_asked(options: PortfolioOptions) -> None:
    nodes = ", ".join(map(str, options.nodes))
    for rule in options.rules:
        if rule.kind == "block" and rule.numbers and math.prod(rule.numbers) not in options.nodes:
            raise ConfigError(
                f"expected a process grid for one of the node counts {nodes}, "
                f"found {grid_name(rule.numbers)} = {math.prod(rule.numbers)}",
                where=f"--decompose {rule.text}",
                hint=f"add --nodes {math.prod(rule.numbers)}",
            )
    owner_map = options.owner_map
    if owner_map is not None and owner_map.num_parts not in options.nodes:
        raise ConfigError(
            f"expected an owner map for one of the node counts {nodes}, found {owner_map.num_parts} parts",
            where=str(owner_map.path),
            hint=f"add --nodes {owner_map.num_parts}",
        )


def _promising(extents: tuple[int, ...], num_parts: int, num_pins: int) -> list[tuple[int, ...]]:
    """Process grids in the order of their surface, slabs along the slowest dimension among them."""
    grids = [g for g in process_grids(num_parts, len(extents)) if fits(g, extents)]
    grids.sort(key=lambda g: (surface(g, extents), g))
    most = _MOST_GRIDS if num_pins * num_parts <= _MANY_COUNTS else _FEW_GRIDS
    chosen = grids[:most]
    slabs = [g for g in grids if is_slab(g) and g[0] == num_parts]
    return chosen + [g for g in slabs if g not in chosen]


def _timed(method: Iterator[tuple[str, Int32]]) -> Iterator[Candidate]:
    """Candidates with the time that each took."""
    while True:
        begin = time.perf_counter()
        found = next(method, None)
        if found is None:
            return
        yield Candidate(*found, time.perf_counter() - begin)
