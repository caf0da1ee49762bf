"""Attempts of partitioning libraries on coarse vertices: METIS by three objectives, Mt-KaHyPar on their nets.

Nets between coarse vertices tell which of METIS's divisions is best: only that one is counted in full.

Reference: paper Section 4.2.2.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Literal

import numpy as np

from commanalyzer.errors import PartitionError
from commanalyzer.partition.budget import Budget, Limit, least_gain, mtkahypar_seconds, pass_seconds
from commanalyzer.partition.coarsening.coarse import CoarseView, voted
from commanalyzer.partition.libraries.adjacency import edge_cut, imbalance
from commanalyzer.partition.libraries.concurrency import CutShortError
from commanalyzer.partition.libraries.hypergraph import Incidence, incidence
from commanalyzer.partition.libraries.metis import Prepared, partition
from commanalyzer.partition.libraries.mtkahypar import partition_hypergraph
from commanalyzer.partition.options import PortfolioOptions
from commanalyzer.partition.policy import COSTS, SEARCH
from commanalyzer.partition.refinement.refine import (
    LEAST_GAIN,
    MOST_COUNTS,
    PASSES,
    connectivity,
    refine,
)
from commanalyzer.partition.selection import best_of
from commanalyzer.vcg.graph import Bool, Float64, Int32

# METIS's edge cut and volume, and the cut of the graph whose edges share the bytes of a value.
Objective = Literal["cut", "volume", "net"]
OBJECTIVES: tuple[Objective, ...] = ("cut", "volume", "net")
# Name of a method, int32[N] owners of the coarse vertices.
Divided = tuple[str, Int32]


@dataclass(frozen=True)
class CoarsePartitioners:
    """Partitioning libraries, asked about one coarse graph.

    Attributes:
        view: The coarse graph.
        options: What to try.
    """

    view: CoarseView
    options: PortfolioOptions

    @cached_property
    def _prepared(self) -> tuple[Prepared, Prepared]:
        return Prepared(self.view.adjacency), Prepared(self.view.shared)

    @cached_property
    def _nets(self) -> Incidence | None:
        return None if self.view.hypergraph is None else incidence(self.view.hypergraph)

    def prepare(self) -> None:
        """Compute what all numbers of parts share."""
        _ = self._prepared, self._nets

    def divided(
        self, num_parts: int, budget: Budget, allowed: float, failures: list[str]
    ) -> Iterator[Divided]:
        """Yield the best of METIS, and what Mt-KaHyPar finds.

        Args:
            num_parts: Number of parts p.
            budget: What may be spent.
            allowed: Largest work of a part over the mean.
            failures: Sentences about methods that fail are added.

        Raises:
            PartitionError: If there are fewer coarse vertices than parts, or all methods fail.
        """
        objectives = OBJECTIVES if num_parts > 1 else OBJECTIVES[:1]
        seconds = {o: self._prepared[o == "net"].seconds(num_parts, o) for o in objectives}
        needed = sum(seconds.values()) + len(seconds) * self.refining_seconds(num_parts)
        seeds = self.options.seeds if needed <= SEARCH.retried * budget.seconds else 1
        asked: list[tuple[Objective, int, Limit]] = []
        for seed, objective in itertools.product(range(seeds if num_parts > 1 else 1), objectives):
            expected_s = seconds[objective] + self.refining_seconds(num_parts)
            limit = budget.take(self._name(objective), expected_s, is_needed=not asked)
            if limit is not None:
                asked.append((objective, self.options.seed + seed, limit))
        found = self.options.caller.each(partial(self._metis, num_parts), asked)
        errors = [item for item in found if isinstance(item, PartitionError)]
        failures.extend(dict.fromkeys(f"METIS: {error.message}" for error in errors))
        divided = [item for item in found if not isinstance(item, PartitionError)]
        if divided:
            if seeds > 1 and len(self.view.operand):
                yield from divided
            else:
                volumes, excess = zip(*(self.cost(part, num_parts) for _, part in divided), strict=True)
                yield divided[best_of(volumes, excess, allowed)]
        more = list(self._mtkahypar(num_parts, budget, failures)) if num_parts > 1 else []
        yield from more
        if not (divided or more or isinstance(errors[0], CutShortError)):
            raise errors[0]

    def refining_seconds(self, num_parts: int) -> float:
        """Return about how long single moves take that lower the volume of a division."""
        nets = self.view.hypergraph
        if nets is None or self._prepared[0].is_mesh:
            return 0.0
        return COSTS.passes * pass_seconds(nets.num_pins, num_parts)

    def cost(self, part: Int32, num_parts: int) -> tuple[int, float]:
        """Return bytes and imbalance by the coarse graph."""
        nets, links = self.view.hypergraph, self.view.adjacency
        if nets is None:
            return edge_cut(links, part), imbalance(links.work_flops, part, num_parts)
        if len(part) < nets.num_vertices:
            part = self.improved(part, num_parts, fixed=part >= 0, passes=1)
        return connectivity(nets, part, num_parts), imbalance(nets.work_flops, part, num_parts)

    def followed(self, coarse: Int32, num_parts: int) -> Int32:
        """Return ``coarse`` with parts for the vertices without one, beside what they are connected to."""
        if (coarse >= 0).all() and not len(self.view.operand):
            return coarse
        if not self._is_affordable(num_parts):
            return voted(self.view.adjacency, coarse, num_parts)
        return self.improved(coarse, num_parts, fixed=coarse >= 0, passes=1)

    def improved(
        self,
        part: Int32,
        num_parts: int,
        *,
        fixed: Bool | None = None,
        work_flops: Float64 | None = None,
        settled: Float64 | None = None,
        passes: int = PASSES,
        hopeless: float = math.inf,
    ) -> Int32:
        """Return refined parts of all vertices; terms are placed beside what they are computed from.

        Args:
            part: int32[N], parts of the coarse vertices, -1 for those to be placed.
            num_parts: Number of parts p.
            fixed: bool[N], vertices that keep their part; None for none, and passes go on while they gain.
            work_flops: float64[N], work where each is, as far as the parts stay the same: terms move for the
                balance, too; None for that of the hypergraph.
            settled: float64[p], work of each part that no vertex stands for.
            passes: See :func:`~commanalyzer.partition.refinement.refine.refine`.
            hopeless: Likewise.
        """
        hypergraph, nets, budget_s = self.view.hypergraph, self._nets, self.options.budget_s
        assert hypergraph is not None and nets is not None
        terms = hypergraph.num_vertices - len(part)
        least = max(LEAST_GAIN, least_gain(hypergraph.num_pins, num_parts, budget_s))
        return refine(
            hypergraph,
            nets,
            np.concatenate((part, np.full(terms, -1, np.int32))),
            num_parts,
            imbalance=self.options.imbalance,
            fixed=None if fixed is None else np.concatenate((fixed, np.zeros(terms, np.bool_))),
            num_values=len(part) if work_flops is None else None,
            work_flops=None if work_flops is None else np.concatenate((work_flops, np.zeros(terms))),
            settled=settled,
            passes=passes,
            least_gain=least if fixed is None else 0.0,
            hopeless=hopeless,
        )

    @property
    def _where(self) -> str:
        return f", {self.view.tiling.name}" if self.view.tiling.is_tiled else ""

    def _name(self, objective: Objective, seed: int = 0) -> str:
        more = f" seed {seed + 1}" if seed else ""
        return f"metis {objective}{more}{self._where}"

    def _is_affordable(self, num_parts: int) -> bool:
        nets = self.view.hypergraph
        return nets is not None and 0 < nets.num_nets * num_parts <= MOST_COUNTS

    def _metis(self, num_parts: int, asked: tuple[Objective, int, Limit]) -> Divided | PartitionError:
        """What METIS finds, or how it fails."""
        (objective, seed, limit), options = asked, self.options
        options.caller.check()
        try:
            part = partition(
                self._prepared[objective == "net"],
                num_parts,
                objective="volume" if objective == "volume" else "cut",
                seed=seed,
                imbalance=options.imbalance,
                caller=options.caller,
                limit=limit,
            )
        except PartitionError as error:
            return error
        if num_parts > 1 and options.structured and self._is_affordable(num_parts):
            part = self.improved(part, num_parts)
        return self._name(objective, seed - options.seed), part

    def _mtkahypar(self, num_parts: int, budget: Budget, failures: list[str]) -> Iterator[Divided]:
        nets, options = self.view.hypergraph, self.options
        if nets is None or not options.structured or not nets.num_pins:
            return
        name, is_mesh = f"mt-kahypar km1{self._where}", self._prepared[0].is_mesh
        limit = budget.take(name, mtkahypar_seconds(nets.num_pins, num_parts, is_mesh=is_mesh))
        if limit is None:
            return
        try:
            part = partition_hypergraph(
                *(nets, num_parts),
                seed=options.seed,
                imbalance=options.imbalance,
                caller=options.caller,
                limit=limit,
            )
        except PartitionError as error:
            failures.append(f"mt-kahypar failed: {error.message}")
        else:
            yield name, part
