"""Two views of one value graph for partitioners: values alone (fine) and merged into tasks (coarse).

A task (all private values of one element) is what nobody divides: the coarse view finds whole elements;
where a task turns out to be a chain through many elements (a running minimum, a line sweep), the fine view
can divide it. Owners found on the coarse view are carried over to the fine one and refined there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np

from commanalyzer.partition.budget import least_gain
from commanalyzer.partition.libraries.affinity import Affinities, Affinity
from commanalyzer.partition.libraries.hypergraph import Hypergraph, build_hypergraph, term_operands
from commanalyzer.partition.libraries.metis import Partition
from commanalyzer.partition.owners import HubLinks, extend_to_hubs, find_hub_links
from commanalyzer.partition.refinement.refine import FAR, PASSES, Incidence, connectivity, incidence, refine
from commanalyzer.vcg.graph import Float64, Int32, Int64, ValueGraph

_LEAST_GAIN = 0.0002  # share of the metric that a pass saves if another one is to follow
_SMALL_TASKS = 64  # parts: larger tasks than fit so many are chains through the program


@dataclass(frozen=True, slots=True)
class Level:
    """One view: vertices of the affinity graph (then terms) and their nets.

    Attributes:
        affinity: Vertices that are values.
        hypergraph: Nets.
        nets: Those of each vertex.
        operand: int64[T], of each term the value beside which it is computed, if that is known.
    """

    affinity: Affinity
    hypergraph: Hypergraph
    nets: Incidence
    operand: Int64

    @property
    def num_values(self) -> int:
        """Number of vertices that are not terms."""
        return self.affinity.adjacency.num_vertices

    def start(self, value_part: Int32) -> Int32:
        """Return int32[N], parts of the vertices whose values have one in ``value_part``, else -1."""
        part = np.full(self.hypergraph.num_vertices, -1, np.int32)
        known = np.flatnonzero((value_part >= 0) & (self.affinity.vertex >= 0))
        part[self.affinity.vertex[known]] = value_part[known]
        return part


@dataclass(frozen=True, slots=True)
class Levels:
    """Both views of a graph.

    Attributes:
        hubs: What hubs exchange with other values.
        fine: Values, private registers merged into their only consumer.
        coarse: Tasks merged; the same object as ``fine`` where there are none.
    """

    hubs: HubLinks
    fine: Level
    coarse: Level

    @property
    def has_tasks(self) -> bool:
        """The views differ."""
        return self.coarse is not self.fine

    def to_fine(self, part: Int32) -> Int32:
        """Return owners of the coarse view's vertices as owners of the fine view's (terms are the same)."""
        if not self.has_tasks:
            return part
        fine = np.full(self.fine.hypergraph.num_vertices, -1, np.int32)
        values = np.flatnonzero(~self.hubs.mask)
        known = np.concatenate([part[: self.coarse.num_values], np.full(1, -1, np.int32)])
        fine[self.fine.affinity.vertex[values]] = known[self.coarse.affinity.vertex[values]]
        fine[self.fine.num_values :] = part[self.coarse.num_values :]
        return fine

    def owners(self, part: Int32, num_parts: int) -> Int32:
        """Return int32[V], owners of all values, hubs included, from those of the fine view's vertices."""
        core = Partition(part[: self.fine.num_values].copy(), num_parts, "", "", 0, 0, 1.0)
        return extend_to_hubs(self.hubs, self.fine.affinity, core).part

    def improved(
        self,
        value_part: Int32,
        num_parts: int,
        imbalance: float,
        work_flops: Float64,
        *,
        passes: int = PASSES,
        hopeless: float = math.inf,
        budget_s: float = math.inf,
    ) -> Int32:
        """Return int32[V], refined owners of all values.

        Args:
            value_part: int32[V], owners.
            num_parts: Number of parts p.
            imbalance: Allowed excess of the largest part's work.
            work_flops: float64[V], work where each value is owned, as far as the owners stay the same.
            passes: See :func:`~commanalyzer.partition.refinement.refine.refine`.
            hopeless: Likewise.
            budget_s: CPU seconds that dividing may take: passes have to save more where they take long.
        """
        fine, hubs = self.fine, self.hubs.mask
        h, vertex = fine.hypergraph, fine.affinity.vertex
        weight = np.bincount(vertex[~hubs], work_flops[~hubs], h.num_vertices).astype(np.float64)
        settled = np.bincount(value_part[hubs], work_flops[hubs], num_parts).astype(np.float64)
        start = fine.start(value_part)
        part = refine(
            h,
            fine.nets,
            start,
            num_parts,
            imbalance=imbalance,
            work_flops=weight,
            settled=settled,
            passes=passes,
            least_gain=max(_LEAST_GAIN, least_gain(h.num_pins, num_parts, budget_s)),
            hopeless=hopeless,
        )
        return np.where(hubs, value_part, self.owners(part, num_parts)).astype(np.int32)

    def follow(
        self,
        value_part: Int32,
        num_parts: int,
        imbalance: float,
        *,
        passes: int = PASSES,
        hopeless_bytes: float = math.inf,
    ) -> tuple[Int32, ...]:
        """Return owners of the fine view's vertices where some values have given owners.

        Two solutions where there are tasks: values follow one by one, or as whole tasks whose values may then
        move on their own. The first is right for line sweeps, the second for elements.

        Args:
            value_part: int32[V], owner of a value, -1 where it follows the others.
            num_parts: Number of parts p.
            imbalance: Allowed excess of the largest part's work.
            passes: See :func:`~commanalyzer.partition.refinement.refine.refine`.
            hopeless_bytes: Likewise.
        """
        h, nets = self.fine.hypergraph, self.fine.nets
        start = self.fine.start(value_part)
        fixed = start >= 0
        if fixed[: self.fine.num_values].all():
            return (start,)
        followed = partial(refine, imbalance=imbalance, passes=passes)
        bare = partial(followed, num_values=self.fine.num_values)
        single = bare(h, nets, start, num_parts, fixed=fixed, hopeless_bytes=hopeless_bytes)
        if not self.has_tasks:
            return (single,)
        # The cheaper one counts: tasks that cannot come near the values one by one are not worth passes.
        aim = min(hopeless_bytes, connectivity(h, single, num_parts))
        view = self.coarse
        begin = view.start(value_part)
        merged = partial(followed, num_values=view.num_values, hopeless_bytes=aim)
        tasks = merged(view.hypergraph, view.nets, begin, num_parts, fixed=begin >= 0)
        if connectivity(view.hypergraph, tasks, num_parts) > FAR * aim:
            return (single,)
        return single, bare(h, nets, self.to_fine(tasks), num_parts, fixed=fixed, hopeless_bytes=aim)


def build_levels(affinities: Affinities, most_parts: int) -> Levels:
    """Return both views of a graph without its hubs."""
    graph, hubs = affinities.graph, find_hub_links(affinities.graph, affinities.removed)
    fine = _level(graph, affinities.find(most_parts=most_parts, tasks=False))
    merged = affinities.find(most_parts=max(most_parts, _SMALL_TASKS))
    if merged.adjacency.num_vertices == fine.num_values:
        return Levels(hubs, fine, fine)
    return Levels(hubs, fine, _level(graph, merged))


def _level(graph: ValueGraph, affinity: Affinity) -> Level:
    hypergraph = build_hypergraph(graph, affinity)
    return Level(affinity, hypergraph, incidence(hypergraph), term_operands(graph, affinity))
