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
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain
from typing import Protocol

import numpy as np

from commanalyzer.errors import PartitionError
from commanalyzer.partition.bounds import Structure, recognise
from commanalyzer.partition.budget import Budget, Limit
from commanalyzer.partition.coarsening.neighbours import find_neighbours
from commanalyzer.partition.libraries.attempts import Attempt, Partitioners
from commanalyzer.partition.libraries.concurrency import CutShortError
from commanalyzer.partition.libraries.hypergraph import find_sums
from commanalyzer.partition.options import PortfolioOptions, check_asked
from commanalyzer.partition.owners import spread_hubs
from commanalyzer.partition.policy import COSTS
from commanalyzer.partition.refinement.refine import FAR, PASSES, balance_weights, most_work
from commanalyzer.partition.regular.divisions import best_divisions, divisions
from commanalyzer.partition.regular.layouts import Layouts
from commanalyzer.partition.regular.owner_map import OwnerMap, map_owners
from commanalyzer.partition.regular.rules import rule_owners
from commanalyzer.partition.regular.shapes import Array, Shaped, elements_of, find_arrays, shape_families
from commanalyzer.partition.regular.sketch import Sketch, hub_bytes, leaders
from commanalyzer.partition.selection import Cost, best_of
from commanalyzer.vcg.graph import Bool, Int32, ValueGraph

NEAR = 1.02  # of the bytes of the best refinement; what stays above is not refined further
_HOPELESS = (
    1.5  # times the bytes of the best division by a partitioner; blocks above it are not followed well
)
_FAR_BELOW = 0.6  # of the bytes of the best division by a partitioner
_BALANCED = 1.1  # times the allowed imbalance: refinement gets there
REFINED = 3  # candidates that are refined
# Passes of blocks (ten cuts, three of them improved) and refinements; they have half of the budget at most.
_LOCAL_PASSES = 10 * 2 + 3 * COSTS.passes + REFINED * COSTS.passes
_QUICK_PASSES = 2  # to compare blocks
# Passes of each round of a refinement; without any, only balance.
_ROUNDS = (0, 0, 0, PASSES, PASSES, 0, 0, 0)


# What owners of all values cost among so many parts.
Counter = Callable[[Int32, int], Cost]


@dataclass(frozen=True, slots=True)
class Candidate:
    """Owners of all values and where they come from.

    Attributes:
        method: What made them, unique among the candidates of a number of parts.
        part: int32[V].
        seconds: Time it took.
        coarse_vertices: Vertices of the coarse graph that it was found on, 0 for the values themselves.
    """

    method: str
    part: Int32
    seconds: float
    coarse_vertices: int = 0


class Coarse(Protocol):
    """Candidates found on coarse vertices."""

    def prepare_partitioned(self) -> None:
        """Compute what all numbers of parts share."""

    def partitioned(self, num_parts: int, budget: Budget) -> Iterator[Candidate]:
        """Yield what partitioners find within ``budget``."""

    def failures(self, num_parts: int) -> tuple[str, ...]:
        """Sentences about the methods that failed for ``num_parts``."""


class Portfolio:
    """Candidates of one graph; what does not depend on the number of parts is computed once.

    Args:
        graph: Value graph.
        removed: bool[V], hubs.
        options: What to try.
        count: What owners cost.
        coarse: Candidates on coarse vertices, asked where Mt-KaHyPar would take long on the values.

    Raises:
        ConfigError: If what the user asked for is for a number of parts that is not analysed.
    """

    far = math.inf
    """Times the bytes of the best balanced candidate: others above are not refined."""

    def __init__(
        self,
        graph: ValueGraph,
        removed: Bool,
        options: PortfolioOptions,
        count: Counter,
        coarse: Coarse | None = None,
    ) -> None:
        self._graph = graph
        self._removed = removed
        self._count = count
        self._options = options
        self._coarse = coarse if options.structured else None
        self._partitioners = Partitioners(graph, removed, options)
        self._failures: dict[int, list[tuple[str, PartitionError]]] = {}
        self._budgets: dict[int, Budget] = {}
        self._regular: dict[int, dict[str, float]] = {}  # what whole rows cause, by name
        check_asked(options)

    @cached_property
    def arrays(self) -> tuple[Array, ...]:
        """Arrays of the program."""
        return find_arrays(self._graph, self._removed)

    @cached_property
    def families(self) -> tuple[tuple[Shaped, ...], ...]:
        """Arrays with shapes, by dimensions."""
        return shape_families(self._graph, self.arrays)

    @cached_property
    def layouts(self) -> Layouts:
        """Regular divisions."""
        fine = self._partitioners.levels.fine
        is_element = elements_of(self.arrays, self._graph.num_vertices)
        anchor = find_neighbours(self._graph, self._removed).anchor
        lead = leaders(fine.affinity.vertex, anchor, is_element, fine.hypergraph.num_vertices)
        beside = np.where(is_element[fine.operand], fine.operand, anchor[fine.operand])
        lead[fine.num_values :] = np.where(is_element[beside], beside, -1)
        unseen = hub_bytes(self._graph, self._removed)
        sketch = Sketch(fine.hypergraph, lead, self._graph.num_vertices, unseen_bytes=unseen)
        return Layouts(self._graph, self.families, sketch, find_sums(self._graph))

    @cached_property
    def structure(self) -> Structure | None:
        """What the program is known to be, for lower bounds."""
        return recognise(self._graph, self.families) if self._options.structured else None

    def prepare(self) -> None:
        """Compute what all numbers of parts share; afterwards several may be divided at the same time."""
        self._partitioners.prepare()
        _ = self.arrays, self.families, self.structure
        if self._options.structured:
            _ = self.layouts.heavy
        if self._coarse is not None and self._partitioners.prefers_coarse:
            self._coarse.prepare_partitioned()

    def allowed(self, num_parts: int, method: str = "") -> float:
        """Largest work of a part over the mean that a balanced decomposition may have.

        A regular division, named by its ``method``, may have what one more row or element per part makes.
        """
        return max(self._allowed(num_parts), self._regular.get(num_parts, {}).get(method, 1.0))

    def _allowed(self, num_parts: int) -> float:
        weight = balance_weights(self._partitioners.work_flops)
        total = float(weight.sum())
        return most_work(weight, num_parts, self._options.imbalance) * num_parts / total if total > 0 else 1.0

    def candidates(self, num_parts: int) -> Iterator[Candidate]:
        """Yield what every method finds, before refinement; a method that fails does not end the others.

        Raises:
            PartitionError: If all of them fail.
        """
        failed = self._failures[num_parts] = []
        budget = self._budgets[num_parts] = Budget(self._options.budget_s)
        budget.keep(_LOCAL_PASSES * self._partitioners.pass_seconds(num_parts))
        found, least, regular = False, math.inf, math.inf
        attempts = chain(self._partitioners.attempts(num_parts), self._asked(num_parts))
        tried = self._tried(attempts, budget, failed)
        for candidate in chain(tried, self._on_coarse(num_parts, budget, failed)):
            yield candidate
            found = True
            least = min(least, self._count(candidate.part, num_parts).comm_bytes)
        if num_parts > 1 and self._partitioners.is_affordable(num_parts):
            for candidate, cost in self._blocks(num_parts, _HOPELESS * least, budget):
                yield candidate
                found = True
                if cost.imbalance <= _BALANCED * self.allowed(num_parts):
                    regular = min(regular, cost.comm_bytes)
        if self._partitioners.is_slow(num_parts) and regular > _FAR_BELOW * least:
            late = self._partitioners.metis_seeds("volume", num_parts)
            for candidate in self._tried(late, budget, failed):
                yield candidate
                found = True
        if failed and not found and not isinstance(failed[0][1], CutShortError):
            raise failed[0][1]

    def _tried(
        self, attempts: Iterable[Attempt], budget: Budget, failed: list[tuple[str, PartitionError]]
    ) -> Iterator[Candidate]:
        """Yield what ``attempts`` find within ``budget``; those that fail are added to ``failed``."""
        for number, (name, seconds, attempt) in enumerate(attempts):
            self._options.caller.check()
            limit = budget.take(name, seconds, is_needed=number == 0)
            if limit is None:
                continue
            begin = time.perf_counter()
            try:
                part = attempt(limit)
            except PartitionError as error:
                failed.append((name, error))
                continue
            if part is not None:
                yield Candidate(name, part, time.perf_counter() - begin)

    def _on_coarse(
        self, num_parts: int, budget: Budget, failed: list[tuple[str, PartitionError]]
    ) -> Iterator[Candidate]:
        """What partitioners find on coarse vertices, where Mt-KaHyPar is not asked on the values."""
        if self._coarse is None or num_parts == 1 or not self._partitioners.prefers_coarse:
            return
        try:
            yield from self._coarse.partitioned(num_parts, budget)
        except PartitionError as error:
            failed.append(("coarse graph", error))

    def left_out(self, num_parts: int) -> dict[str, float]:
        """Methods that did not fit into the budget for ``num_parts``, and how long they would have taken."""
        return dict(self._budgets[num_parts].left_out) if num_parts in self._budgets else {}

    def failures(self, num_parts: int) -> tuple[str, ...]:
        """Sentences about the methods that failed for ``num_parts``."""
        methods: dict[str, list[str]] = {}
        for name, error in self._failures.get(num_parts, ()):
            methods.setdefault(error.message, []).append(name)
        own = tuple(f"{', '.join(names)} failed: {message}" for message, names in methods.items())
        return own if self._coarse is None else own + self._coarse.failures(num_parts)

    def refined(self, candidates: Iterable[Candidate], num_parts: int) -> Iterator[Candidate]:
        """Yield refinements of ``candidates``, as far as they are better than these.

        Regular ones, whose straight borders have more to gain, come last. Each goes on only as long as it may
        come near the best of all candidates and of the refinements before it.
        """
        if num_parts > 1 and self._partitioners.is_affordable(num_parts):
            regular = self._regular.get(num_parts, {})
            given = sorted(candidates, key=lambda c: c.method in regular)
            least = self._least_bytes(given, num_parts)
            budget = self._budgets.setdefault(num_parts, Budget(self._options.budget_s))
            seconds = COSTS.passes * self._partitioners.pass_seconds(num_parts)
            for number, candidate in enumerate(given):
                name, is_first = f"{candidate.method} refined", number == 0
                if budget.take(name, seconds, is_needed=is_first, leaving_s=0.0) is None:
                    continue
                begin = time.perf_counter()
                part, cost = self._best_refinement(candidate.part, num_parts, NEAR * least)
                if cost.imbalance <= self.allowed(num_parts):
                    least = min(least, cost.comm_bytes)
                if part is not candidate.part:
                    seconds = time.perf_counter() - begin
                    yield replace(candidate, method=f"{candidate.method} refined", part=part, seconds=seconds)

    def split(self, given: Candidate, num_parts: int, more: int) -> Iterator[Candidate]:
        """Yield ``given`` with each of its parts divided, so that there are ``more``; nothing on failure."""
        budget = self._budgets.setdefault(more, Budget(self._options.budget_s))
        attempt = self._partitioners.split(given.part, num_parts, more)
        name = f"{given.method}, split from {num_parts}"
        yield from self._tried([attempt._replace(name=name)], budget, self._failures.setdefault(more, []))

    def _least_bytes(self, candidates: Iterable[Candidate], num_parts: int) -> float:
        """Bytes of the best balanced candidate."""
        costs = [self._count(candidate.part, num_parts) for candidate in candidates]
        allowed = self.allowed(num_parts)
        return min((c.comm_bytes for c in costs if c.imbalance <= allowed), default=math.inf)

    def _blocks(
        self, num_parts: int, hopeless_bytes: float, budget: Budget
    ) -> Iterator[tuple[Candidate, Cost]]:
        """Blocks of the arrays; the time of the search is shared among what is found.

        What follows them is only placed, not improved, where passes over all of them are above the budget.
        """
        begin, pass_s = time.perf_counter(), self._partitioners.pass_seconds(num_parts)
        refining_s = min(REFINED * COSTS.passes * pass_s, budget.kept_s / 2)
        cuts = list(self.layouts.cuts(num_parts, self.allowed(num_parts)))
        searched = budget.take(
            "what follows blocks improved", len(cuts) * _QUICK_PASSES * pass_s, leaving_s=refining_s
        )
        found = divisions(
            cuts,
            self._graph.num_vertices,
            lambda owners: self._follow(owners, num_parts, _QUICK_PASSES if searched else 0, hopeless_bytes),
        )
        excess = 1.0 + self._options.imbalance
        best = best_divisions(found, self.allowed(num_parts), excess)
        followed = []
        for item in best:
            is_near = item.cost.comm_bytes <= FAR * hopeless_bytes
            name = f"what follows {item.name} improved"
            if is_near and budget.take(name, COSTS.passes * pass_s, leaving_s=refining_s):
                followed.append(self._follow(item.given(), num_parts, PASSES, hopeless_bytes))
            else:
                followed.append((item.part, item.cost))
        seconds = (time.perf_counter() - begin) / max(len(best), 1)
        self._regular[num_parts] = {item.name: excess * item.grain for item in best}
        for item, (part, cost) in zip(best, followed, strict=True):
            yield Candidate(item.name, part, seconds), cost

    def _asked(self, num_parts: int) -> Iterator[Attempt]:
        """What the user named or gave."""
        if num_parts == 1:
            return
        rules, owner_map = self._options.rules, self._options.owner_map

        def completed(found: Int32) -> Int32:
            part, _ = self._follow(found, num_parts)
            return np.where(found >= 0, found, part).astype(np.int32)

        def by_rules(_limit: Limit) -> Int32 | None:
            found = rule_owners(self._graph, rules, num_parts)
            return None if found is None else completed(found)

        def by_map(owner_map: OwnerMap, _limit: Limit) -> Int32:
            return completed(map_owners(self._graph, owner_map))

        if rules:
            yield Attempt(", ".join(rule.text for rule in rules), 0.0, by_rules)
        if owner_map is not None and owner_map.num_parts == num_parts:
            yield Attempt(f"owner map {owner_map.path.name}", 0.0, partial(by_map, owner_map))

    def _follow(
        self, value_part: Int32, num_parts: int, passes: int = PASSES, hopeless_bytes: float = math.inf
    ) -> tuple[Int32, Cost]:
        """Owners of all values where some are given: followed one by one or as tasks, what is cheaper."""
        self._options.caller.check()
        imbalance = self._options.imbalance
        followed = self._partitioners.levels.follow(
            value_part, num_parts, imbalance, passes=passes, hopeless_bytes=hopeless_bytes
        )
        owners = [self._partitioners.levels.owners(part, num_parts) for part in followed]
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
            part = spread_hubs(self._partitioners.hubs, part, num_parts, work, most)
        hopeless = hopeless_bytes / max(cost.comm_bytes, 1)
        imbalance = self._options.imbalance
        return self._partitioners.levels.improved(
            part,
            num_parts,
            imbalance,
            work,
            passes=passes,
            hopeless=hopeless,
            budget_s=self._options.budget_s,
        )

    def _best(self, costs: Sequence[Cost], num_parts: int) -> int:
        volumes, excess = [c.comm_bytes for c in costs], [c.imbalance for c in costs]
        return best_of(volumes, excess, self.allowed(num_parts))
