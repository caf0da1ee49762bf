"""Attempts of partitioning libraries on coarse vertices: METIS by three objectives, Mt-KaHyPar on their nets.

Nets between coarse vertices tell which of METIS's divisions is best: only that one is counted in full.

Reference: paper Section 4.2.2.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial

from commanalyzer.errors import PartitionError
from commanalyzer.partition.budget import Budget, Limit, least_gain, mtkahypar_seconds, pass_seconds
from commanalyzer.partition.coarsening.coarse import CoarseView, voted
from commanalyzer.partition.libraries.attempts import OBJECTIVES, Attempt, Objective
from commanalyzer.partition.libraries.concurrency import CutShortError
from commanalyzer.partition.libraries.metis import Prepared, partition
from commanalyzer.partition.libraries.mtkahypar import partition_hypergraph
from commanalyzer.partition.libraries.quality import edge_cut, imbalance
from commanalyzer.partition.options import PortfolioOptions
from commanalyzer.partition.policy import COSTS
from commanalyzer.partition.refinement.refine import (
    LEAST_GAIN,
    MOST_COUNTS,
    PASSES,
    Incidence,
    connectivity,
    incidence,
    refine,
)
from commanalyzer.partition.selection import best_of
from commanalyzer.partition.splitting import split_parts
from commanalyzer.vcg.graph import Bool, Int32

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
            PartitionError: If there are fewer coarse vertices than parts or METIS fails.
        """
        asked: list[tuple[Objective, Limit]] = []
        for number, objective in enumerate(OBJECTIVES if num_parts > 1 else OBJECTIVES[:1]):
            seconds = self._prepared[objective == "net"].seconds(num_parts, objective)
            seconds += self.refining_seconds(num_parts)
            limit = budget.take(self._name(objective), seconds, is_needed=number == 0)
            if limit is not None:
                asked.append((objective, limit))
        found = self.options.caller.each(partial(self._metis, num_parts), asked)
        errors = [item for item in found if isinstance(item, PartitionError)]
        failures.extend(f"METIS {error.message}" for error in errors)
        divided = [item for item in found if not isinstance(item, PartitionError)]
        if divided:
            volumes, excess = zip(*(self.cost(part, num_parts) for _, part in divided), strict=True)
            yield divided[best_of(volumes, excess, allowed)]
        elif not isinstance(errors[0], CutShortError):
            raise errors[0]
        if num_parts > 1:
            yield from self._mtkahypar(num_parts, budget, failures)

    def split(self, part: Int32, num_parts: int, more: int) -> Attempt:
        """Attempt to divide each part of the coarse vertices, ``part``, into as many pieces.

        Args:
            part: int32[N], parts.
            num_parts: Number of these.
            more: Number of pieces of all together.
        """
        pieces, options = more // num_parts, self.options

        def attempt(limit: Limit) -> Int32:
            return split_parts(
                *(self.view.adjacency, part, num_parts, pieces),
                seed=options.seed,
                imbalance=options.imbalance,
                caller=options.caller,
                limit=limit,
            )

        return Attempt("split", self._prepared[0].seconds(pieces, "cut"), attempt)

    def refining_seconds(self, num_parts: int) -> float:
        """Return about how long single moves take that lower the volume of a division."""
        nets = self.view.hypergraph
        if nets is None or self._prepared[0].is_mesh:
            return 0.0
        return COSTS.passes * pass_seconds(nets.num_pins, num_parts)

    def cost(self, part: Int32, num_parts: int) -> tuple[int, float]:
        """Return bytes and imbalance by the coarse graph."""
        nets, links = self.view.hypergraph, self.view.adjacency
        volume = edge_cut(links, part) if nets is None else connectivity(nets, part, num_parts)
        return volume, imbalance(links.work_flops, part, num_parts)

    def followed(self, coarse: Int32, num_parts: int) -> Int32:
        """Return ``coarse`` with parts for the vertices without one, beside what they are connected to."""
        if (coarse >= 0).all():
            return coarse
        if not self._is_affordable(num_parts):
            return voted(self.view.adjacency, coarse, num_parts)
        return self._refined(coarse, num_parts, fixed=coarse >= 0, passes=1)

    def _name(self, objective: Objective) -> str:
        return f"metis {objective}, {self.view.tiling.name}"

    def _is_affordable(self, num_parts: int) -> bool:
        nets = self.view.hypergraph
        return nets is not None and 0 < nets.num_nets * num_parts <= MOST_COUNTS

    def _metis(self, num_parts: int, asked: tuple[Objective, Limit]) -> Divided | PartitionError:
        """What METIS finds, or how it fails."""
        (objective, limit), options = asked, self.options
        options.caller.check()
        try:
            core = partition(
                self._prepared[objective == "net"],
                num_parts,
                objective="volume" if objective == "volume" else "cut",
                seed=options.seed,
                imbalance=options.imbalance,
                caller=options.caller,
                limit=limit,
            )
        except PartitionError as error:
            return error
        part = core.part
        if num_parts > 1 and options.structured and self._is_affordable(num_parts):
            part = self._refined(part, num_parts)
        return self._name(objective), part

    def _refined(
        self, part: Int32, num_parts: int, *, fixed: Bool | None = None, passes: int = PASSES
    ) -> Int32:
        hypergraph, nets = self.view.hypergraph, self._nets
        assert hypergraph is not None and nets is not None
        wanted = least_gain(hypergraph.num_pins, num_parts, self.options.budget_s)
        least = max(LEAST_GAIN, wanted) if fixed is None else 0.0
        slack = self.options.imbalance
        return refine(
            hypergraph,
            nets,
            part,
            num_parts,
            imbalance=slack,
            fixed=fixed,
            passes=passes,
            least_gain=least,
        )

    def _mtkahypar(self, num_parts: int, budget: Budget, failures: list[str]) -> Iterator[Divided]:
        nets, options = self.view.hypergraph, self.options
        if nets is None or not options.structured or not nets.num_pins:
            return
        name, is_mesh = f"mt-kahypar km1, {self.view.tiling.name}", self._prepared[0].is_mesh
        limit = budget.take(name, mtkahypar_seconds(nets.num_pins, num_parts, is_mesh=is_mesh))
        if limit is None:
            return
        try:
            core = partition_hypergraph(
                *(nets, num_parts),
                seed=options.seed,
                imbalance=options.imbalance,
                caller=options.caller,
                limit=limit,
            )
        except PartitionError as error:
            failures.append(f"mt-kahypar failed: {error.message}")
        else:
            yield name, core.part
