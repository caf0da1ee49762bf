"""Candidates: value graph -> owners by every method, for one number of parts at a time.

Graph partitioners (METIS by three objectives and several seeds), a hypergraph partitioner (Mt-KaHyPar),
blocks of the program's arrays on process grids, what the user asked for, and refinements of these. Which
one is best is decided by counting.

Reference: paper Section 4.2.2.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Literal

import numpy as np

from commanalyzer.errors import PartitionError
from commanalyzer.partition.affinity import Affinities, Affinity
from commanalyzer.partition.bounds import Structure, recognise
from commanalyzer.partition.divisions import best_divisions, divisions, grids_to_try
from commanalyzer.partition.levels import Level, Levels, build_levels
from commanalyzer.partition.metis import Prepared, partition
from commanalyzer.partition.mtkahypar import partition_hypergraph
from commanalyzer.partition.options import PortfolioOptions, check_asked
from commanalyzer.partition.owner_map import OwnerMap, map_owners
from commanalyzer.partition.owners import HubLinks, extend_to_hubs, find_hub_links, spread_hubs
from commanalyzer.partition.refine import FAR, MOST_COUNTS, PASSES, balance_weights, most_work
from commanalyzer.partition.rules import rule_owners
from commanalyzer.partition.selection import Cost, best_of
from commanalyzer.partition.shapes import Array, Shaped, find_arrays, shape_families
from commanalyzer.vcg.graph import Bool, Int32, ValueGraph

# METIS's edge cut and volume, and the cut of the graph whose edges share the bytes of a value.
_Objective = Literal["cut", "volume", "net"]
OBJECTIVES: tuple[_Objective, ...] = ("cut", "volume", "net")
_ATTEMPTS = 4  # seeds per objective: METIS's results differ by several per cent on small graphs
_MOST_RETRIED_EDGES = 150_000  # above it, one seed: more would take longer than recording
_MOST_PINS = 1_000_000  # pins times numbers of parts; above it, Mt-KaHyPar would take many seconds
NEAR = 1.02  # of the bytes of the best refinement; what stays above is not refined further
_HOPELESS = (
    1.5  # times the bytes of the best division by a partitioner; blocks above it are not followed well
)
_MANY_PAIRS = 64  # sum of squared degrees, per link; grids and meshes have up to 30
_FAR_BELOW = 0.6  # of the bytes of the best division by a partitioner
_BALANCED = 1.1  # times the allowed imbalance: refinement gets there
_QUICK_PASSES = 2  # to compare blocks
_ROUNDS = (0, 0, 0, PASSES, PASSES)  # passes of each round of a refinement; without any, only balance


# What owners of all values cost among so many parts.
Counter = Callable[[Int32, int], Cost]
# Name and what finds owners of all values; nothing where these have been found before.
_Attempt = tuple[str, Callable[[], Int32 | None]]


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
        self._affinity_graphs = Affinities(graph, removed)
        self._failures: dict[int, list[tuple[str, PartitionError]]] = {}
        self._regular: dict[int, set[str]] = {}
        check_asked(options)

    @cached_property
    def levels(self) -> Levels:
        """Fine and coarse view."""
        return build_levels(self._affinity_graphs, max(self._options.nodes))

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
        most, graphs = max(self._options.nodes), self._affinity_graphs
        return graphs.find(most_parts=most), graphs.find(shared=True, most_parts=most)

    @cached_property
    def _hubs(self) -> HubLinks:
        """What hubs exchange with other values."""
        structured = self._options.structured
        return self.levels.hubs if structured else find_hub_links(self._graph, self._removed)

    @cached_property
    def _prepared(self) -> tuple[Prepared, Prepared]:
        affinity, shared = self._affinities
        return Prepared(affinity.adjacency), Prepared(shared.adjacency)

    def prepare(self) -> None:
        """Compute what all numbers of parts share; afterwards several may be divided at the same time."""
        _ = self._prepared, self.arrays, self.families, self.structure, self._hubs

    @property
    def coarse_vertices(self) -> int:
        """0: divisions are found on the values themselves."""
        return 0

    def allowed(self, num_parts: int) -> float:
        """Largest work of a part over the mean that a balanced decomposition may have."""
        structured = self._options.structured
        finest = self.levels.fine.hypergraph if structured else self._affinities[0].adjacency
        weight = balance_weights(finest.work_flops)
        total = float(weight.sum())
        return most_work(weight, num_parts, self._options.imbalance) * num_parts / total if total > 0 else 1.0

    def candidates(self, num_parts: int) -> Iterator[Candidate]:
        """Yield what every method finds, before refinement; a method that fails does not end the others.

        Raises:
            PartitionError: If all of them fail.
        """
        failed: list[tuple[str, PartitionError]] = []
        found, least, regular = False, math.inf, math.inf
        for candidate in self._tried(self._attempts(num_parts), failed):
            yield candidate
            found = True
            least = min(least, self._count(candidate.part, num_parts).comm_bytes)
        if num_parts > 1 and self._is_affordable(num_parts):
            for candidate, cost in self._blocks(num_parts, _HOPELESS * least):
                yield candidate
                found = True
                if cost.imbalance <= _BALANCED * self.allowed(num_parts):
                    regular = min(regular, cost.comm_bytes)
        if self._is_slow(num_parts) and regular > _FAR_BELOW * least:
            for candidate in self._tried(self._metis_seeds("volume", num_parts), failed):
                yield candidate
                found = True
        if failed and not found:
            raise failed[0][1]
        self._failures[num_parts] = failed

    def _tried(
        self, attempts: Iterable[_Attempt], failed: list[tuple[str, PartitionError]]
    ) -> Iterator[Candidate]:
        """Yield what ``attempts`` find; those that fail are added to ``failed``."""
        for name, attempt in attempts:
            self._options.caller.check()
            begin = time.perf_counter()
            try:
                part = attempt()
            except PartitionError as error:
                failed.append((name, error))
                continue
            if part is not None:
                yield Candidate(name, part, time.perf_counter() - begin)

    def failures(self, num_parts: int) -> tuple[str, ...]:
        """Sentences about the methods that failed for ``num_parts``."""
        methods: dict[str, list[str]] = {}
        for name, error in self._failures.get(num_parts, ()):
            methods.setdefault(error.message, []).append(name)
        return tuple(f"{', '.join(names)} failed: {message}" for message, names in methods.items())

    def refined(self, candidates: Iterable[Candidate], num_parts: int) -> Iterator[Candidate]:
        """Yield refinements of ``candidates``, as far as they are better than these.

        Regular ones, whose straight borders have more to gain, come last. Each goes on only as long as it may
        come near the best of all candidates and of the refinements before it.
        """
        if num_parts > 1 and self._is_affordable(num_parts):
            regular = self._regular.get(num_parts, set())
            given = sorted(candidates, key=lambda c: c.method in regular)
            least = self._least_bytes(given, num_parts)
            for candidate in given:
                begin = time.perf_counter()
                part, cost = self._best_refinement(candidate.part, num_parts, NEAR * least)
                if cost.imbalance <= self.allowed(num_parts):
                    least = min(least, cost.comm_bytes)
                if part is not candidate.part:
                    yield Candidate(f"{candidate.method} refined", part, time.perf_counter() - begin)

    def _least_bytes(self, candidates: Iterable[Candidate], num_parts: int) -> float:
        """Bytes of the best balanced candidate."""
        costs = [self._count(candidate.part, num_parts) for candidate in candidates]
        allowed = self.allowed(num_parts)
        return min((c.comm_bytes for c in costs if c.imbalance <= allowed), default=math.inf)

    def _is_affordable(self, num_parts: int) -> bool:
        if not self._options.structured:
            return False
        fine = self.levels.fine.hypergraph
        return 0 < fine.num_nets * num_parts <= MOST_COUNTS

    def _attempts(self, num_parts: int) -> Iterator[_Attempt]:
        """Methods that give one decomposition each."""
        yield from self._metis(num_parts)
        if num_parts > 1:
            if self._options.structured:
                yield from self._mtkahypar(num_parts)
            yield from self._asked(num_parts)

    def _metis(self, num_parts: int) -> Iterator[_Attempt]:
        """METIS on the coarse view with several seeds; once on the fine view."""
        for objective in OBJECTIVES:
            if objective != "volume" or not self._is_slow(num_parts):
                yield from self._metis_seeds(objective, num_parts)
        if self._options.structured and num_parts > 1 and self.levels.has_tasks:
            fine = self.levels.fine.affinity
            if fine.adjacency.num_edges <= _MOST_RETRIED_EDGES:
                name, attempt = next(self._metis_seeds("cut", num_parts, fine))
                yield f"{name} without tasks", attempt

    def _is_slow(self, num_parts: int) -> bool:
        """METIS would take long for the volume: it is asked last, if blocks of arrays are no better.

        It looks at neighbours of neighbours: minutes where a few vertices have very many, or all have many.
        """
        links = self._affinities[0].adjacency
        degree = np.diff(links.pointer)
        is_large, pairs = links.num_edges > _MOST_RETRIED_EDGES, int(degree @ degree)
        is_slow = is_large and pairs > _MANY_PAIRS * links.num_edges
        return num_parts > 1 and is_slow and self._is_affordable(num_parts)

    def _metis_seeds(
        self, objective: _Objective, num_parts: int, other: Affinity | None = None
    ) -> Iterator[_Attempt]:
        """Attempts that return ``None`` where an earlier seed gave the same."""
        affinity = other or self._affinities[objective == "net"]
        first = self._options.seed
        prepared = self._prepared[objective == "net"] if other is None else Prepared(other.adjacency)
        retried = num_parts > 1 and affinity.adjacency.num_edges <= _MOST_RETRIED_EDGES
        seen: set[bytes] = set()

        def attempt(seed: int) -> Int32 | None:
            core = partition(
                prepared,
                num_parts,
                objective="volume" if objective == "volume" else "cut",
                seed=seed,
                imbalance=self._options.imbalance,
                caller=self._options.caller,
            )
            key = core.part.tobytes()
            if key in seen:
                return None
            seen.add(key)
            return extend_to_hubs(self._hubs, affinity, core).part

        for seed in range(first, first + (_ATTEMPTS if retried else 1)):
            name = f"metis {objective}" if seed == first else f"metis {objective} seed {seed}"
            yield name, partial(attempt, seed)

    def _mtkahypar(self, num_parts: int) -> Iterator[_Attempt]:
        """Mt-KaHyPar on both views where they are small enough."""
        levels = self.levels

        def attempt(level: Level) -> Int32:
            options = self._options
            core = partition_hypergraph(
                *(level.hypergraph, num_parts),
                seed=options.seed,
                imbalance=options.imbalance,
                caller=options.caller,
            )
            part = levels.to_fine(core.part) if level is levels.coarse else core.part
            return levels.owners(part, num_parts)

        views = [("mt-kahypar km1", levels.coarse)]
        if levels.has_tasks:
            views.append(("mt-kahypar km1 without tasks", levels.fine))
        for name, level in views:
            h = level.hypergraph
            if 0 < h.num_pins * len(self._options.nodes) <= _MOST_PINS and num_parts <= h.num_vertices:
                yield name, partial(attempt, level)

    def _blocks(self, num_parts: int, hopeless_bytes: float) -> Iterator[tuple[Candidate, Cost]]:
        """Blocks of the arrays; the time of the search is shared among what is found."""
        begin = time.perf_counter()
        found = divisions(
            self._graph,
            self.families,
            num_parts,
            grids_to_try(self.levels.fine.hypergraph.num_pins, num_parts),
            lambda owners: self._follow(owners, num_parts, _QUICK_PASSES, hopeless_bytes),
        )
        best = best_divisions(found, self.allowed(num_parts))
        followed = [
            (item.part, item.cost)
            if item.cost.comm_bytes > FAR * hopeless_bytes
            else self._follow(item.given(), num_parts, PASSES, hopeless_bytes)
            for item in best
        ]
        seconds = (time.perf_counter() - begin) / max(len(best), 1)
        self._regular[num_parts] = {item.name for item in best}
        for item, (part, cost) in zip(best, followed, strict=True):
            yield Candidate(item.name, part, seconds), cost

    def _asked(self, num_parts: int) -> Iterator[_Attempt]:
        """What the user named or gave."""
        rules, owner_map = self._options.rules, self._options.owner_map

        def by_rules() -> Int32 | None:
            found = rule_owners(self._graph, self.arrays, self.families, rules, num_parts)
            return None if found is None else self._follow(found, num_parts)[0]

        def by_map(owner_map: OwnerMap) -> Int32:
            found = map_owners(self._graph, owner_map)
            part, _ = self._follow(found, num_parts)
            return np.where(found >= 0, found, part).astype(np.int32)

        if rules:
            yield ", ".join(rule.text for rule in rules), by_rules
        if owner_map is not None and owner_map.num_parts == num_parts:
            yield f"owner map {owner_map.path.name}", partial(by_map, owner_map)

    def _follow(
        self, value_part: Int32, num_parts: int, passes: int = PASSES, hopeless_bytes: float = math.inf
    ) -> tuple[Int32, Cost]:
        """Owners of all values where some are given: followed one by one or as tasks, what is cheaper."""
        self._options.caller.check()
        imbalance = self._options.imbalance
        followed = self.levels.follow(
            value_part, num_parts, imbalance, passes=passes, hopeless_bytes=hopeless_bytes
        )
        owners = [self.levels.owners(part, num_parts) for part in followed]
        counted = [(part, self._count(part, num_parts)) for part in owners]
        return min(counted, key=lambda pair: pair[1].comm_bytes)

    def _best_refinement(self, part: Int32, num_parts: int, hopeless_bytes: float) -> tuple[Int32, Cost]:
        """The best of some rounds; each balances the work as it lies after the round before.

        First as little as possible is moved until the work is balanced, then what lowers the volume, as long
        as less than ``hopeless_bytes`` are within reach.
        """
        allowed = self.allowed(num_parts)
        found, costs = [part], [self._count(part, num_parts)]
        for passes in _ROUNDS:
            self._options.caller.check()
            if passes or costs[-1].imbalance > allowed:
                found.append(self._refined_once(found[-1], costs[-1], num_parts, passes, hopeless_bytes))
                costs.append(self._count(found[-1], num_parts))
            if passes and costs[-1].comm_bytes > hopeless_bytes:
                break
        best = self._best(costs, num_parts)
        return found[best], costs[best]

    def _refined_once(
        self, part: Int32, cost: Cost, num_parts: int, passes: int, hopeless_bytes: float
    ) -> Int32:
        work, allowed = cost.work_flops, self.allowed(num_parts)
        most = allowed * float(work.sum()) / num_parts
        if cost.imbalance > allowed:
            part = spread_hubs(self._hubs, part, num_parts, work, most)
        hopeless = hopeless_bytes / max(cost.comm_bytes, 1)
        imbalance = self._options.imbalance
        return self.levels.improved(part, num_parts, imbalance, work, passes=passes, hopeless=hopeless)

    def _best(self, costs: Sequence[Cost], num_parts: int) -> int:
        volumes, excess = [c.comm_bytes for c in costs], [c.imbalance for c in costs]
        return best_of(volumes, excess, self.allowed(num_parts))
