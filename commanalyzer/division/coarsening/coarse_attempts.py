"""Attempts of partitioning libraries on coarse vertices: METIS on their links, Mt-KaHyPar on their nets.

Reference: paper Section 4.2.2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from commanalyzer.division.budget import (
    COSTS,
    SEARCH,
    Budget,
    least_gain,
    metis_seconds,
    mtkahypar_seconds,
    pass_seconds,
)
from commanalyzer.division.coarsening.coarse import CoarseView, voted
from commanalyzer.division.libraries.hypergraph import Incidence, incidence
from commanalyzer.division.libraries.metis import partition
from commanalyzer.division.libraries.mtkahypar import partition_hypergraph
from commanalyzer.division.options import PortfolioOptions
from commanalyzer.division.refinement.refine import LEAST_GAIN, MOST_COUNTS, PASSES, refine
from commanalyzer.graph.value_graph import Bool, Float64, Int32

# Name of a method, int32[N] owners of the coarse vertices.
Divided = tuple[str, Int32]


@dataclass(frozen=True)
class CoarsePartitioners:
    """Partitioning libraries, asked about one coarse graph."""

    view: CoarseView
    options: PortfolioOptions

    @cached_property
    def _nets(self) -> Incidence | None:
        return None if self.view.hypergraph is None else incidence(self.view.hypergraph)

    def prepare(self) -> None:
        """Compute what all numbers of parts share."""
        _ = self._nets

    @property
    def is_mesh(self) -> bool:
        """Whether parts can have short borders."""
        return self.view.adjacency.is_mesh

    def metis(self, num_parts: int, budget: Budget, number: int = 0) -> Divided | None:
        """Return what METIS finds with a seed, borders improved; ``None`` if only the first is affordable.

        Raises ``PartitionError`` if there are fewer coarse vertices than parts, or METIS fails.
        """
        seed, options = f" seed {number + 1}" if number else "", self.options
        name = f"metis cut{seed}{self._where}"
        graph = self.view.adjacency
        expected_s = metis_seconds(graph.num_edges, num_parts, is_mesh=self.is_mesh)
        expected_s += self.refining_seconds(num_parts)
        if (limit := budget.take(name, expected_s, is_needed=number == 0)) is None:
            return None
        options.caller.check()
        part = partition(
            *(graph, num_parts),
            seed=options.seed + number,
            imbalance=options.imbalance,
            caller=options.caller,
            limit=limit,
        )
        if num_parts > 1 and options.structured and self._is_affordable(num_parts):
            part = self.improved(part, num_parts)
        return name, part

    def mtkahypar(self, num_parts: int, budget: Budget, *, is_good: bool) -> Divided | None:
        """Return what Mt-KaHyPar finds; ``None`` where it does not fit into the budget.

        It takes most of the time on large meshes, where it gains least. Where a division that ``is_good`` is
        known, it may only take a small share. Raises ``PartitionError`` if it fails.
        """
        nets, options = self.view.hypergraph, self.options
        if num_parts == 1 or nets is None or not options.structured or not nets.num_pins:
            return None
        name = f"mt-kahypar km1{self._where}"
        expected_s = mtkahypar_seconds(nets.num_pins, num_parts, is_mesh=self.is_mesh)
        is_long = is_good and expected_s > SEARCH.small_share * budget.seconds
        if is_long or (limit := budget.take(name, expected_s)) is None:
            return None
        part = partition_hypergraph(
            *(nets, num_parts),
            seed=options.seed,
            imbalance=options.imbalance,
            caller=options.caller,
            limit=limit,
        )
        return name, part

    def refining_seconds(self, num_parts: int) -> float:
        """Return about how long single moves take that lower the volume of a division."""
        nets = self.view.hypergraph
        if nets is None or self.is_mesh:
            return 0.0
        return COSTS.passes * pass_seconds(nets.num_pins, num_parts)

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

        Arguments as of :func:`~commanalyzer.division.refinement.refine.refine`, [N] without terms. Where none
        are ``fixed``, passes go on while they gain. Where ``work_flops`` is given, work where each vertex is
        as far as the parts stay the same, terms move for the balance, too.
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

    def _is_affordable(self, num_parts: int) -> bool:
        nets = self.view.hypergraph
        return nets is not None and 0 < nets.num_nets * num_parts <= MOST_COUNTS
