"""Candidates: value graph -> owners by every method, for one number of parts at a time.

Partitioners divide the coarse graph, whose vertices are values as long as these are few, else tiles of
arrays: METIS its links, Mt-KaHyPar its nets. Blocks of arrays are exact, what follows them goes where its
anchor is. In the end single vertices of the best ones are moved as long as that saves bytes: all of a small
graph, those beside the borders of a large one.

Reference: paper Section 4.2.2.
"""

from __future__ import annotations

import itertools
import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from commanalyzer.division.bounds import Structure, recognise
from commanalyzer.division.budget import COSTS, SEARCH, Budget
from commanalyzer.division.coarsening.coarse import CoarseView, build_by_value, build_coarse, coarse_links
from commanalyzer.division.coarsening.coarse_attempts import CoarsePartitioners
from commanalyzer.division.coarsening.neighbours import Neighbours, find_neighbours
from commanalyzer.division.coarsening.tiles import LEAST_PER_PART, Tiling, build_tiling, by_anchor
from commanalyzer.division.libraries.concurrency import CutShortError
from commanalyzer.division.options import PortfolioOptions, check_asked
from commanalyzer.division.refinement.borders import (
    Surface,
    beside_neighbours,
    follow_borders,
    refine_borders,
)
from commanalyzer.division.refinement.refine import PASSES, balance_weights, most_work
from commanalyzer.division.regular.layouts import Cut, Layouts
from commanalyzer.division.regular.owner_map import map_owners
from commanalyzer.division.regular.rules import rule_owners
from commanalyzer.division.regular.shapes import (
    Array,
    Shaped,
    divided_elements,
    elements_of,
    find_arrays,
    shape_families,
)
from commanalyzer.division.regular.sketch import Sketch, find_sums, leaders, led_work, with_hubs
from commanalyzer.division.selection import Cost, best_of, shown_bytes
from commanalyzer.foundation.errors import PartitionError
from commanalyzer.graph.storage.store import AnyGraph
from commanalyzer.graph.value_graph import Bool, Int32, ValueGraph

CostOf = Callable[[Int32, int], Cost]  # owners of all values, number of parts
_MOST_LINKS = 500_000
_LEAST_PER_PART = 16  # coarse vertices
_LEAST_FORCED = 4  # coarse vertices per part, whatever the user says
_ROUNDS = (0, 0, 0, PASSES, PASSES, 0, 0, 0)
_FOLLOWERS = 0.01  # of all values: fewer have no say in what blocks cost
_MOST_KEPT = 40_000_000  # values whose columns stay expanded: each candidate looks at them several times
_RECOGNISED_FLOWS = 1 << 24  # whether a graph is a grid or a product is only looked at up to this size


@dataclass(frozen=True, slots=True)
class Candidate:
    """Owners of all values and where they come from."""

    method: str  # what made them, unique among the candidates of a number of parts
    part: Int32  # [V]
    seconds: float
    coarse_vertices: int = 0  # of the coarse graph that it was found on, 0 for the values themselves


@dataclass(frozen=True, slots=True)
class _Found:
    """A division of values, -1 for what follows, and what it is on coarse vertices.

    Owners of values, and of elements without what follows them, are made when they are asked for: of large
    graphs, a list of them takes gigabytes.
    """

    name: str
    coarse: Int32
    values: Callable[[], Int32]
    elements: Callable[[], Int32]
    grain: float = 1.0


class Portfolio:
    """Candidates of one graph; what does not depend on the number of parts is computed once.

    Hubs are ``removed`` (bool[V]), ``count`` says what owners cost, ``wanted`` are the coarse vertices to aim
    at, 0 for as many as are divided well. Raises ``ConfigError`` if the user asks for a number of parts that
    is not analysed.
    """

    def __init__(
        self, graph: AnyGraph, removed: Bool, options: PortfolioOptions, count: CostOf, wanted: int = 0
    ) -> None:
        self._graph = graph
        self._removed = removed
        self._cost = count
        self._options = options
        self._wanted = wanted
        self._failures: dict[int, list[str]] = {}
        self._budgets: dict[int, Budget] = {}
        self._regular: dict[int, dict[str, float]] = {}  # what whole rows cause, by name
        self._allowed: dict[int, float] = {}
        self._agreed = set[int]()  # numbers of parts for which two methods agree
        if graph.num_vertices <= _MOST_KEPT:
            self._kept = graph.versions, graph.width_bytes, graph.work_flops, graph.home_object
        check_asked(options)

    @cached_property
    def arrays(self) -> tuple[Array, ...]:
        """Arrays of the program; those that everyone makes are none."""
        return find_arrays(self._graph, self._removed | (self._graph.versions == 0))

    @cached_property
    def families(self) -> tuple[tuple[Shaped, ...], ...]:
        """Arrays with shapes, by dimensions."""
        return shape_families(self._graph, self.arrays)

    @cached_property
    def _is_elsewhere(self) -> bool:
        """Whether most of the work is beside other arrays if it is with what it is done for."""
        near, objects = self.view.tiling.neighbours, len(self._graph.objects)
        home, work = self._graph.home_object, self._graph.work_flops
        done = [np.bincount(home[a], work, objects) for a in (near.anchor, near.result_anchor)]
        return bool(np.abs(done[0] - done[1]).sum() > done[0].sum())

    @cached_property
    def structure(self) -> Structure | None:
        """What the program is known to be, for lower bounds."""
        small = self._graph.num_flows <= _RECOGNISED_FLOWS
        return recognise(self._graph, self.families) if self._options.structured and small else None

    @cached_property
    def _is_small(self) -> bool:
        """Whether terms of sums are vertices, and values are moved one by one."""
        graph, by_value = self._graph, self._wanted in (0, self._graph.num_vertices)
        is_small = isinstance(graph, ValueGraph) and graph.num_flows <= SEARCH.small_flows
        return self._options.structured and by_value and is_small

    @cached_property
    def view(self) -> CoarseView:
        """The coarse graph."""
        find = partial(find_neighbours, self._graph, self._removed, with_terms=self._is_small)
        near, _ = self._options.caller.both(find, lambda: self.families)
        most = max(self._options.nodes)
        if self._is_small:
            merged = self._tiling(self._graph.num_vertices, near)
            if merged.num_vertices < _LEAST_PER_PART * most:
                return build_by_value(self._graph, self._removed, near, with_terms=True)
            return build_coarse(self._graph, self._removed, merged, with_terms=True)
        usual = min(max(near.num_anchors // SEARCH.per_vertex, SEARCH.least_vertices), SEARCH.most_vertices)
        wanted = max(self._wanted or max(usual, LEAST_PER_PART * most), _LEAST_FORCED * most)
        tried, tiling = 0, None
        while True:
            size = wanted if self._wanted else near.tiles_wanted(wanted)
            is_new = tiling is None or size != tried
            if tiling is None or is_new:
                tiling, tried = self._tiling(size, near), size
            # Where everything is linked to everything (a matrix product), fewer vertices are enough.
            # Values in no array are not tiled: their number stays.
            wanted = min(wanted, tiling.num_vertices) // 4
            enough = wanted < _LEAST_PER_PART * most or self._wanted or not tiling.groups
            if enough or is_new:
                links = coarse_links(self._graph, self._removed, tiling, None if enough else _MOST_LINKS)
                if links is not None:
                    return build_coarse(self._graph, self._removed, tiling, links)

    def _tiling(self, wanted: int, near: Neighbours) -> Tiling:
        places = (self._graph, self._removed, self.arrays, self.families)
        return build_tiling(*places, wanted, scattered=not self._wanted, near=near)

    def prepare(self) -> None:
        """Compute what all numbers of parts share; afterwards several may be divided at the same time."""
        options = self._options
        if not options.given:
            self.partitioners.prepare()
        options.caller.both(lambda: self.structure, lambda: options.structured and self.layouts.heavy)

    @property
    def coarse_vertices(self) -> int:
        """Vertices of the graph that divisions are found on; 0 for the values themselves."""
        return self.view.tiling.num_vertices if self.view.tiling.is_tiled else 0

    @cached_property
    def surface(self) -> Surface:
        """Rows at the borders of divisions."""
        return Surface(self._graph, self.view)

    @cached_property
    def _singly(self) -> Surface:
        """The same where single values move."""
        tiling, own = self.view.tiling, np.arange(self._graph.num_vertices, dtype=np.int32)
        alone = replace(tiling, neighbours=replace(tiling.neighbours, anchor=own))
        return replace(self.surface, view=replace(self.view, tiling=alone))

    @cached_property
    def layouts(self) -> Layouts:
        """Regular divisions."""
        graph, nets, tiling = self._graph, self.view.hypergraph, self.view.tiling
        if nets is None:
            return Layouts(graph, self.families, None)
        anchor, is_element = tiling.neighbours.anchor, elements_of(self.arrays, graph.num_vertices)
        lead, operand = leaders(tiling.vertex, anchor, is_element, nets.num_vertices), self.view.operand
        work = None
        if len(operand):
            beside = np.where(is_element[operand], operand, anchor[operand])
            lead[tiling.num_vertices :] = np.where(is_element[beside], beside, -1)
        else:
            coarse_flops = self.view.adjacency.work_flops
            work = led_work(anchor, is_element, tiling.vertex, graph.work_flops, coarse_flops)
        hubs, near = self.view.hubs, tiling.neighbours
        times = np.maximum(near.most, near.most_folded)[hubs.hub]
        times = np.minimum(times, np.maximum(graph.versions[hubs.hub], 1))
        nets = with_hubs(nets, hubs, times * graph.width_bytes[hubs.hub].astype(np.int64))
        sketch = Sketch(nets, lead, graph.num_vertices, work)
        return Layouts(graph, self.families, sketch, find_sums(graph))

    @cached_property
    def partitioners(self) -> CoarsePartitioners:
        """Partitioning libraries, asked about coarse vertices."""
        return CoarsePartitioners(self.view, self._options)

    @cached_property
    def _by_value(self) -> CoarsePartitioners:
        """Values of a small graph as vertices, which are moved one by one."""
        near = self.view.tiling.neighbours
        view = build_by_value(self._graph, self._removed, near, with_terms=True)
        return CoarsePartitioners(view, self._options)

    @cached_property
    def _by_task(self) -> CoarsePartitioners | None:
        """Anchors of a small graph where private values that feed each other are one; None if none do."""
        tiling, near = self.view.tiling, self.view.tiling.neighbours
        if not self._is_small or tiling.is_tiled or near.has_no_tasks:
            return None
        tasks = by_anchor(replace(near, anchor=near.otherwise), self._removed)
        view = build_coarse(self._graph, self._removed, tasks, with_terms=True)
        return CoarsePartitioners(view, self._options)

    def allowed(self, num_parts: int, method: str = "") -> float:
        """Largest work of a part over the mean that a balanced decomposition may have.

        A regular division, named by its ``method``, may have what one more row or element per part makes.
        """
        if num_parts not in self._allowed:
            weight = balance_weights(np.where(self._removed, 0.0, self._graph.work_flops))
            total, most = float(weight.sum()), most_work(weight, num_parts, self._options.imbalance)
            self._allowed[num_parts] = most * num_parts / total if total > 0 else 1.0
        return max(self._allowed[num_parts], self._regular.get(num_parts, {}).get(method, 1.0))

    def left_out(self, num_parts: int) -> dict[str, float]:
        """Methods that did not fit into the budget for ``num_parts``, and how long they would have taken."""
        return dict(self._budgets[num_parts].left_out) if num_parts in self._budgets else {}

    def failures(self, num_parts: int) -> tuple[str, ...]:
        """Sentences about the methods that failed for ``num_parts``."""
        return tuple(dict.fromkeys(self._failures.get(num_parts, ())))

    def candidates(self, num_parts: int) -> Iterator[Candidate]:
        """Yield the best of each kind: of the partitioner, blocks by cut dimensions, what was asked for.

        Raises ``PartitionError`` if there are fewer coarse vertices than parts or METIS fails.
        """
        blocks = self._blocks(num_parts) if num_parts > 1 and self._options.structured else []
        least = self._least(blocks, num_parts)
        far = SEARCH.far * least
        for candidate, cost in self._partitioned(num_parts, least) if not self._options.given else ():
            if cost.imbalance <= self.allowed(num_parts):
                far = min(far, SEARCH.far * SEARCH.plain * cost.comm_bytes)
            yield candidate
        for division, cost in blocks:
            place = self._placed if cost.comm_bytes > far else self._closely_followed
            begin = time.perf_counter()
            most = (1.0 + self._options.imbalance) * division.grain
            self._regular.setdefault(num_parts, {})[division.name] = most
            yield self._candidate(division.name, place(division, num_parts), begin)
        yield from self._asked(num_parts) if num_parts > 1 else ()

    def _partitioned(self, num_parts: int, regular_bytes: float) -> Iterator[tuple[Candidate, Cost]]:
        """Yield what METIS finds on coarse vertices and what Mt-KaHyPar finds, and what they cost.

        On a mesh where METIS and the best regular division, of ``regular_bytes``, agree, both are good.
        """
        budget = self._budgets[num_parts] = Budget(self._options.budget_s)
        asked, failures = self.partitioners, self._failures.setdefault(num_parts, [])
        is_good, is_found = False, False
        failed: PartitionError | None = None
        seeds = SEARCH.seeds if len(self.view.operand) and num_parts > 1 else 1
        for name, seed in (*(("METIS", seed) for seed in range(seeds)), ("Mt-KaHyPar", 0)):
            begin = time.perf_counter()
            try:
                if name == "METIS":
                    divided = asked.metis(num_parts, budget, seed)
                else:
                    divided = asked.mtkahypar(num_parts, budget, is_good=is_good)
            except PartitionError as error:
                failed = failed or error
                failures.append(f"{name}: {error.message}")
                continue
            if divided is None:
                continue
            owners = self.view.owners(divided[1], num_parts)
            cost = self._cost(owners, num_parts)
            yield self._candidate(divided[0], owners, begin), cost
            is_found = True
            is_even = cost.imbalance <= self.allowed(num_parts)
            is_plain = asked.is_mesh and is_even and not len(self.view.operand)
            is_good = is_plain and regular_bytes <= SEARCH.agreed * cost.comm_bytes
            self._agreed |= {num_parts} if is_good else set()
        if failed and not is_found and not isinstance(failed, CutShortError):
            raise failed

    def _candidate(self, name: str, part: Int32, begin: float) -> Candidate:
        return Candidate(name, part, time.perf_counter() - begin, self.coarse_vertices)

    def refined(self, candidates: Iterable[Candidate], num_parts: int) -> Iterator[Candidate]:
        """Yield the first of ``candidates`` with their borders refined, if that changes them.

        Regular ones, whose straight borders have more to gain, come last: what is refined later goes on only
        as long as it may come near the best before it. Where two methods agree, a small share of the budget
        has to do.
        """
        if num_parts == 1 or not self._options.structured:
            return
        least, regular = math.inf, self._regular.get(num_parts, {})
        budget = self._budgets.setdefault(num_parts, Budget(self._options.budget_s))
        seconds = COSTS.border_s_per_flow * self._graph.num_flows
        seconds += self.partitioners.refining_seconds(num_parts)
        if num_parts in self._agreed and seconds > SEARCH.small_share * budget.seconds:
            return
        chosen = sorted(itertools.islice(candidates, SEARCH.refined), key=lambda c: c.method in regular)
        for number, candidate in enumerate(chosen):
            self._options.caller.check()
            if budget.take(f"{candidate.method} refined", seconds, is_needed=number == 0) is None:
                continue
            begin, part, limit = time.perf_counter(), candidate.part, SEARCH.near * least
            if self._is_small:
                part = self._best_refinement(part, num_parts, limit)
            part, cost = self._with_better_borders(part, num_parts, limit)
            if cost.imbalance <= self.allowed(num_parts):
                least = min(least, cost.comm_bytes)
            if part is not candidate.part:
                took_s = time.perf_counter() - begin
                yield replace(candidate, method=f"{candidate.method} refined", part=part, seconds=took_s)

    def of_one_array(self, candidates: Iterable[Candidate], num_parts: int) -> Iterator[Candidate]:
        """Yield candidates as programs may have them: elements of one array are divided, all else follows."""
        if num_parts == 1 or not self._options.structured:
            return
        for candidate in candidates:
            self._options.caller.check()
            begin, anchor = time.perf_counter(), self.view.tiling.neighbours.anchor
            work = np.bincount(anchor, self._graph.work_flops, self._graph.num_vertices).astype(np.float64)
            name, owners, grain = divided_elements(
                *(self._graph.objects, self.arrays, self.families, candidate.part, work, num_parts)
            )
            if name:
                self._regular.setdefault(num_parts, {})[name] = (1.0 + self._options.imbalance) * grain
                yield self._candidate(name, self._led(name, owners, num_parts), begin)

    def _led(self, name: str, owners: Int32, num_parts: int) -> Int32:
        """Owners of all values where those of some are given, and the others follow."""
        coarse = self.partitioners.followed(self.view.on_coarse(owners), num_parts)
        values = partial(np.asarray, owners)
        return self._closely_followed(_Found(name, coarse, values, values), num_parts)

    def _with_better_borders(self, part: Int32, num_parts: int, hopeless_bytes: float) -> tuple[Int32, Cost]:
        """``part`` with better borders, tried again with less work per part where one got too much; its cost.

        What belongs together moves together.
        """
        slack, allowed = self._options.imbalance, self.allowed(num_parts)
        first = last = self._cost(part, num_parts)
        other = part
        for _ in range(SEARCH.balanced):
            better = refine_borders(
                *(self.surface, other, num_parts, slack),
                work_flops=last.find_work,
                hopeless_bytes=hopeless_bytes,
                budget_s=self._options.budget_s,
            )
            if better is None:
                break
            other, last = better, self._cost(better, num_parts)
            if last.imbalance <= allowed:
                break
            slack = max(slack - (last.imbalance - allowed), 0.0)
        is_better = best_of([first.comm_bytes, last.comm_bytes], [first.imbalance, last.imbalance], allowed)
        return (other, last) if is_better else (part, first)

    def _best_refinement(self, part: Int32, num_parts: int, hopeless_bytes: float) -> Int32:
        """The best of some rounds; each balances the work as it lies after the round before.

        First as little as possible is moved until the work is balanced, then what lowers the volume, as long
        as less than ``hopeless_bytes`` are within reach.
        """
        allowed = self.allowed(num_parts)
        found, costs = [part], [self._cost(part, num_parts)]
        for passes in _ROUNDS:
            self._options.caller.check()
            if passes or costs[-1].imbalance > allowed:
                found.append(self._refined_once(found[-1], costs[-1], num_parts, passes, hopeless_bytes))
                costs.append(self._cost(found[-1], num_parts))
            if passes and costs[-1].comm_bytes > hopeless_bytes:
                break
        return found[best_of([c.comm_bytes for c in costs], [c.imbalance for c in costs], allowed)]

    def _refined_once(
        self, part: Int32, cost: Cost, num_parts: int, passes: int, hopeless_bytes: float
    ) -> Int32:
        view, work, removed = self._by_value.view, cost.find_work(), self._removed
        vertex, coarse = view.tiling.vertex, np.maximum(view.on_coarse(part), 0)
        if cost.imbalance > (allowed := self.allowed(num_parts)) and len(view.hubs.hub):
            part, most = part.copy(), allowed * float(work.sum()) / num_parts
            part[view.hubs.hub] = view.hubs.spread(part, coarse, num_parts, work, most)
        n = view.tiling.num_vertices
        found = self._by_value.improved(
            coarse,
            num_parts,
            work_flops=np.bincount(vertex[~removed], work[~removed], n).astype(np.float64),
            settled=np.bincount(part[removed], work[removed], num_parts).astype(np.float64),
            passes=passes,
            hopeless=hopeless_bytes / max(cost.comm_bytes, 1),
        )
        owners = view.owners(found, num_parts)
        return np.where(removed, part, owners).astype(np.int32)

    def _blocks(self, num_parts: int) -> list[tuple[_Found, Cost]]:
        """The best blocks for each number of cut dimensions, and the least volume; what they cost.

        All are counted on the values but those that are more by their guess than others when counted: coarse
        vertices only tell blocks apart where these are whole tiles. The likeliest come first; one of each
        number of dimensions is counted in any case.
        """
        allowed, slack, least = self.allowed(num_parts), self._options.imbalance, math.inf
        likely, others = self.layouts.cuts(num_parts, allowed)
        counted = defaultdict[int, list[tuple[Cut, _Found, Cost]]](list)
        likely.sort(key=lambda cut: cut.score(allowed))
        for i, cut in enumerate((*likely, *others)):
            of_dims = counted[cut.cut_dims]
            is_due = i < len(likely) and (not of_dims or cut.comm_bytes <= SEARCH.guessed * least)
            if is_due or cut.comm_bytes < least:
                made = self._cut(cut, num_parts)
                cost = self._cost(self._placed(made, num_parts), num_parts)
                is_even = cost.imbalance <= (1.0 + slack) * made.grain
                of_dims.append((cut, made, cost.weighed(allowed) if is_even else cost))
                least = min(least, self._least([of_dims[-1][1:]], num_parts))
        chosen = list[tuple[_Found, Cost]]()
        for dims in sorted(dims for dims in counted if counted[dims]):
            # of equal ones, the simplest is first
            found = [(f, c) for _, f, c in sorted(counted[dims], key=lambda item: item[0].plainness)]
            costs = [
                (shown_bytes(f.name, c.comm_bytes), shown_bytes(f.name, c.low_bytes), c.imbalance)
                for f, c in found
            ]
            volumes, low, excess = zip(*costs, strict=True)
            best, least_low = best_of(volumes, excess, allowed), best_of(low, excess, allowed)
            picked = {costs[i][:2]: found[i] for i in (least_low, volumes.index(min(volumes)), best)}
            chosen += reversed(picked.values())
        return chosen

    def _least(self, counted: Iterable[tuple[_Found, Cost]], num_parts: int) -> float:
        """Bytes of the best balanced one, infinite where there is none."""
        allowed = self.allowed(num_parts)
        return min((c.comm_bytes for _, c in counted if c.imbalance <= allowed), default=math.inf)

    def _cut(self, cut: Cut, num_parts: int) -> _Found:
        """Return what ``cut`` gives."""
        self._options.caller.check()
        values = partial(cut.owners, self._graph.num_vertices)
        coarse = self.partitioners.followed(self.view.on_coarse(values(), leads=True), num_parts)
        return _Found(cut.name, coarse, partial(self.view.led, values), values, cut.grain)

    def _asked(self, num_parts: int) -> Iterator[Candidate]:
        """What the user named or gave."""
        rules, owner_map = self._options.rules, self._options.owner_map
        given: list[tuple[str, Int32 | None]] = [("given", self._options.given.get(num_parts))]
        if rules:
            name = ", ".join(rule.text for rule in rules)
            given.append((name, rule_owners(self._graph, rules, num_parts)))
        if owner_map is not None and owner_map.num_parts == num_parts:
            given.append((f"owner map {owner_map.path.name}", map_owners(self._graph, owner_map)))
        for name, owners in given:
            begin = time.perf_counter()
            if owners is not None:
                yield self._candidate(name, self._led(name, owners, num_parts), begin)

    def _placed(self, division: _Found, num_parts: int) -> Int32:
        """Owners of all values; the better ones where the two ways do most of the work elsewhere."""
        parts = self._starts(division, num_parts)
        costs = [self._cost(part, num_parts) for part in parts[: 2 if self._is_elsewhere else 1]]
        volumes, excess = [c.comm_bytes for c in costs], [c.imbalance for c in costs]
        return parts[best_of(volumes, excess, self.allowed(num_parts, division.name))]

    def _starts(self, division: _Found, num_parts: int) -> list[Int32]:
        """Owners of all values: as coarse vertices say; and with private ones where their results are."""
        part = self.view.completed(division.coarse, division.values(), num_parts)
        return [part, part[self.view.tiling.neighbours.result_anchor]]

    def _closely_followed(self, division: _Found, num_parts: int) -> Int32:
        """Owners where values follow one by one if they are many, and that is cheaper and no less even."""
        part, *others = self._starts(division, num_parts)
        given, elements, tiling = division.values(), division.elements(), self.view.tiling
        free, parts = given < 0, [part, *others]
        if self._by_task is not None:
            view = self._by_task.view
            coarse = self._by_task.followed(view.on_coarse(elements), num_parts)  # each task is whole
            parts.append(view.completed(coarse, elements, num_parts))
        if np.count_nonzero(free) >= _FOLLOWERS * len(part):
            near = tiling.neighbours
            for anchor in (near.anchor, near.otherwise)[: 1 if near.has_no_tasks else 2]:
                parts.append(beside_neighbours(self._graph, tiling.vertex, anchor, given, part))
        costs = [self._cost(part, num_parts) for part in parts]
        cheapest = min(range(len(parts)), key=lambda i: costs[i].comm_bytes)
        start, find_work = parts[cheapest], costs[cheapest].find_work
        slack, allowed = self._options.imbalance, self.allowed(num_parts, division.name)
        is_free = elements < 0
        # Larger graphs never gained by single values (9 programs), and took as long as for all else.
        single = [(self._singly, is_free)] if self._is_small else []
        for surface, chosen in ((self.surface, free), *single):
            if np.count_nonzero(chosen) < _FOLLOWERS * len(part):
                continue
            other = follow_borders(surface, start, num_parts, slack, find_work, chosen)
            if other is None:
                continue
            np.copyto(other, elements, where=~is_free)  # also those that follow values which are not given
            found, first = self._cost(other, num_parts), costs[cheapest]
            # what saves less is within the estimate
            if first.imbalance > allowed or SEARCH.alike * found.comm_bytes < first.comm_bytes:
                parts.append(other)
                costs.append(found)
        volumes, excess = [c.comm_bytes for c in costs], [c.imbalance for c in costs]
        return parts[best_of(volumes, excess, allowed)]
