"""Attempts of partitioning libraries: value graph -> owners by each method that may be tried.

METIS by three objectives and several seeds, Mt-KaHyPar on two views of the graph; what would take long is
tried later or not at all.

Reference: paper Section 4.2.2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property, partial
from typing import Literal, NamedTuple

import numpy as np

from commanalyzer.partition.budget import Limit, mtkahypar_seconds, pass_seconds
from commanalyzer.partition.coarsening.levels import Level, Levels, build_levels
from commanalyzer.partition.libraries.affinity import Affinities, Affinity
from commanalyzer.partition.libraries.metis import Partition, Prepared, partition
from commanalyzer.partition.libraries.mtkahypar import partition_hypergraph
from commanalyzer.partition.options import PortfolioOptions
from commanalyzer.partition.owners import HubLinks, extend_to_hubs, find_hub_links
from commanalyzer.partition.policy import COSTS
from commanalyzer.partition.refinement.refine import MOST_COUNTS
from commanalyzer.partition.splitting import split_parts
from commanalyzer.vcg.graph import Bool, Float64, Int32, ValueGraph

# METIS's edge cut and volume, and the cut of the graph whose edges share the bytes of a value.
Objective = Literal["cut", "volume", "net"]
OBJECTIVES: tuple[Objective, ...] = ("cut", "volume", "net")
_MOST_RETRIED_EDGES = 150_000  # above it, one seed: more would take longer than recording
_MANY_PAIRS = 64  # sum of squared degrees, per link; grids and meshes have up to 30


class Attempt(NamedTuple):
    """A method that gives one decomposition.

    Attributes:
        name: Of the method.
        seconds: CPU seconds that it takes, by an estimate.
        find: Finds owners of all values within a limit; nothing where these have been found before.
    """

    name: str
    seconds: float
    find: Callable[[Limit], Int32 | None]


class Partitioners:
    """Partitioning libraries, asked about one graph; what does not depend on the number of parts is kept.

    Args:
        graph: Value graph.
        removed: bool[V], hubs.
        options: What to try.
    """

    def __init__(self, graph: ValueGraph, removed: Bool, options: PortfolioOptions) -> None:
        self._graph = graph
        self._removed = removed
        self._options = options
        self._affinity_graphs = Affinities(graph, removed)

    @cached_property
    def levels(self) -> Levels:
        """Fine and coarse view."""
        return build_levels(self._affinity_graphs, max(self._options.nodes))

    @cached_property
    def affinities(self) -> tuple[Affinity, Affinity]:
        """Affinity graphs whose edges weigh all bytes, and those shared by the readers of a value."""
        most, graphs = max(self._options.nodes), self._affinity_graphs
        return graphs.find(most_parts=most), graphs.find(shared=True, most_parts=most)

    @cached_property
    def hubs(self) -> HubLinks:
        """What hubs exchange with other values."""
        structured = self._options.structured
        return self.levels.hubs if structured else find_hub_links(self._graph, self._removed)

    @cached_property
    def _prepared(self) -> tuple[Prepared, Prepared]:
        affinity, shared = self.affinities
        return Prepared(affinity.adjacency), Prepared(shared.adjacency)

    def prepare(self) -> None:
        """Compute what all numbers of parts share."""
        _ = self._prepared, self.hubs

    @property
    def prefers_coarse(self) -> bool:
        """Whether Mt-KaHyPar would take too long on the values, so that a coarse graph is worth asking."""
        if not self._options.structured:
            return False
        most = max(self._options.nodes)
        return self._mtkahypar_seconds(self.levels.coarse, most) > self._options.budget_s

    @property
    def work_flops(self) -> Float64:
        """float64[N], work of the finest vertices."""
        if self._options.structured:
            return self.levels.fine.hypergraph.work_flops
        return self.affinities[0].adjacency.work_flops

    def is_affordable(self, num_parts: int) -> bool:
        """Whether tables of pins per part are small enough for refinement."""
        if not self._options.structured:
            return False
        fine = self.levels.fine.hypergraph
        return 0 < fine.num_nets * num_parts <= MOST_COUNTS

    def pass_seconds(self, num_parts: int) -> float:
        """Return about how long a pass of single moves takes; on meshes and small graphs, next to nothing."""
        num_pins = self.levels.fine.hypergraph.num_pins
        is_quick = self._prepared[0].is_mesh or num_pins <= COSTS.free_pins
        return 0.0 if is_quick else pass_seconds(num_pins, num_parts)

    def attempts(self, num_parts: int) -> Iterator[Attempt]:
        """Methods that give one decomposition each."""
        yield from self._metis(num_parts)
        if num_parts > 1 and self._options.structured:
            yield from self._mtkahypar(num_parts)

    def _metis(self, num_parts: int) -> Iterator[Attempt]:
        """METIS on the coarse view with several seeds; once on the fine view."""
        for objective in OBJECTIVES:
            if objective != "volume" or not self.is_slow(num_parts):
                yield from self.metis_seeds(objective, num_parts)
        if self._options.structured and num_parts > 1 and self.levels.has_tasks:
            fine = self.levels.fine.affinity
            if fine.adjacency.num_edges <= _MOST_RETRIED_EDGES:
                first = next(self.metis_seeds("cut", num_parts, fine))
                yield first._replace(name=f"{first.name} without tasks")

    def is_slow(self, num_parts: int) -> bool:
        """METIS would take long for the volume: it is asked last, if blocks of arrays are no better.

        It looks at neighbours of neighbours: minutes where a few vertices have very many, or all have many.
        """
        links = self.affinities[0].adjacency
        degree = np.diff(links.pointer)
        is_large, pairs = links.num_edges > _MOST_RETRIED_EDGES, int(degree @ degree)
        is_slow = is_large and pairs > _MANY_PAIRS * links.num_edges
        return num_parts > 1 and is_slow and self.is_affordable(num_parts)

    def metis_seeds(
        self, objective: Objective, num_parts: int, other: Affinity | None = None
    ) -> Iterator[Attempt]:
        """Attempts that return ``None`` where an earlier seed gave the same."""
        affinity = other or self.affinities[objective == "net"]
        first = self._options.seed
        prepared = self._prepared[objective == "net"] if other is None else Prepared(other.adjacency)
        retried = num_parts > 1 and affinity.adjacency.num_edges <= _MOST_RETRIED_EDGES
        seen: set[bytes] = set()

        def attempt(seed: int, limit: Limit) -> Int32 | None:
            core = partition(
                prepared,
                num_parts,
                objective="volume" if objective == "volume" else "cut",
                seed=seed,
                imbalance=self._options.imbalance,
                caller=self._options.caller,
                limit=limit,
            )
            key = core.part.tobytes()
            if key in seen:
                return None
            seen.add(key)
            return extend_to_hubs(self.hubs, affinity, core).part

        seconds = prepared.seconds(num_parts, objective)
        for seed in range(first, first + (self._options.seeds if retried else 1)):
            name = f"metis {objective}" if seed == first else f"metis {objective} seed {seed}"
            yield Attempt(name, seconds, partial(attempt, seed))

    def split(self, value_part: Int32, num_parts: int, more: int) -> Attempt:
        """Attempt to divide each part of a division into as many pieces.

        Args:
            value_part: int32[V], owners.
            num_parts: Number of their parts.
            more: Number of pieces of all together.
        """
        affinity, prepared = self.affinities[0], self._prepared[0]
        vertex, pieces = affinity.vertex, more // num_parts

        def attempt(limit: Limit) -> Int32:
            part, known = np.zeros(affinity.adjacency.num_vertices, np.int32), vertex >= 0
            part[vertex[known]] = value_part[known]
            found = split_parts(
                *(affinity.adjacency, part, num_parts, pieces),
                seed=self._options.seed,
                imbalance=self._options.imbalance,
                caller=self._options.caller,
                limit=limit,
            )
            owners = extend_to_hubs(
                self.hubs, affinity, Partition(found, more, "", "", 0, 0, 1.0)
            ).part.copy()
            owners[known] = value_part[known] * pieces + found[vertex[known]] % pieces
            return owners

        return Attempt("split", prepared.seconds(pieces, "cut"), attempt)

    def _mtkahypar(self, num_parts: int) -> Iterator[Attempt]:
        """Mt-KaHyPar on both views where they are small enough."""
        levels = self.levels

        def attempt(level: Level, limit: Limit) -> Int32:
            options = self._options
            core = partition_hypergraph(
                *(level.hypergraph, num_parts),
                seed=options.seed,
                imbalance=options.imbalance,
                caller=options.caller,
                limit=limit,
            )
            part = levels.to_fine(core.part) if level is levels.coarse else core.part
            return levels.owners(part, num_parts)

        views = [("mt-kahypar km1", levels.coarse)]
        if levels.has_tasks:
            views.append(("mt-kahypar km1 without tasks", levels.fine))
        for name, level in views:
            h = level.hypergraph
            if h.num_pins and num_parts <= h.num_vertices:
                yield Attempt(name, self._mtkahypar_seconds(level, num_parts), partial(attempt, level))

    def _mtkahypar_seconds(self, level: Level, num_parts: int) -> float:
        is_mesh = self._prepared[0].is_mesh
        return mtkahypar_seconds(level.hypergraph.num_pins, num_parts, is_mesh=is_mesh)
