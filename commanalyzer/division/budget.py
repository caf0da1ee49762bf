"""How long dividing may take: effort of the user -> CPU seconds, spent by estimates.

What is tried is decided by estimates alone, from numbers of edges, pins and parts, so that the same input
gives the same division on every machine and however busy it is. Calls of libraries also have a limit of their
CPU time, a safety net for estimates that are wrong; where it ends something, the result says so. The numbers
that decide are all here: where each comes from, and what changes with it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from commanalyzer.request import Effort


@dataclass(frozen=True, slots=True)
class Costs:
    """CPU seconds of what dividing does, for estimates.

    Measured on one core of a Xeon at 2.1 GHz, 2026, on grids of 25^3 to 70^3 points with 7 and 27 neighbours
    and on graphs with 8 random links per vertex, 5,000 to 250,000 vertices, for 4 to 64 parts. Estimates are
    within a factor of two of these. A machine that is twice as fast takes half as long and finds the same.
    All doubled: what takes more than half of the budget is left out (``--effort thorough`` asks for it);
    all halved: the limits of calls end some, which the result says.
    """

    build_s: float = 0.4  # of any graph: reading its trace
    build_s_per_flow: float = 2e-8  # of flows in lines
    # Of what has no order and is kept as it is: random columns, 18 million flows in 12 s.
    build_s_per_byte: float = 2.5e-7
    metis_mesh_s: float = 3e-7  # METIS, per edge of a graph with short borders (grids, meshes)
    metis_mesh_parts: float = 64.0  # that double it
    metis_loose_s: float = 1.8e-6  # METIS, per edge of other graphs, whose parts are all border
    metis_loose_parts: float = 32.0  # that double it
    kahypar_mesh_s: float = 10e-6  # Mt-KaHyPar's deterministic presets, per pin of a mesh
    kahypar_mesh_s_per_part: float = 0.7e-6  # and for each part
    kahypar_loose_s: float = 36e-6  # the same of graphs with long borders
    kahypar_loose_s_per_part: float = 1.5e-6
    refine_s: float = 4e-7  # one pass of single moves, per pin
    refine_s_per_part: float = 5e-8
    # Passes over all rows that refining borders takes; flows in lines: 25 s for 29 million (3-D stencil, 4 to
    # 64 parts).
    border_s_per_flow: float = 8e-7
    # Of a refinement where everything is at a border; on meshes, they take next to nothing.
    passes: float = 6.0
    # What a pass has to save of the metric, over its share of the budget. Halved: passes take twice as long
    # where borders are long, and save 1 or 2 % more there; doubled: the other way.
    gain_per_share: float = 0.1
    least_limit_s: float = 3.0  # CPU time that every call may take


COSTS = Costs()


@dataclass(frozen=True, slots=True)
class SearchPolicy:
    """What is tried on which graphs, and how often."""

    # Graphs with at most so many flows have terms of sums as vertices, their values are moved one by one. At
    # 100,000, two of the 57 kernels of ``workloads/kernels`` (multigrid3d, ssor) send 13 to 19 % more on 4
    # and 16 nodes; beyond, a graph of 500,000 flows whose terms are vertices takes minutes in Mt-KaHyPar.
    small_flows: int = 1 << 18
    # Coarse vertices to aim at. Beyond the most, partitioners take longer than they gain; halved: a multigrid
    # solver of 512^2 points sends 15 % more, a 3-D stencil 4 to 10 %.
    least_vertices: int = 1 << 14  # fewer where there are not so many
    most_vertices: int = 1 << 15
    # Values with all that follows them in a coarse vertex, between these. One: finite elements with 26,000 of
    # them are not tiled by point, and send 17 to 28 % more.
    per_vertex: int = 4
    refined: int = 2  # candidates: one that looks best before is not always best afterwards
    # METIS is asked so often on small graphs, with other seeds. Once: finite elements on 16 x 16 squares in
    # permuted order send 11 % more than squares of the mesh.
    seeds: int = 4
    # Times the bytes that METIS finds on a mesh: where a regular division sends at most so many, both are
    # good. What Mt-KaHyPar would find there sends 5 % less at best (hydro3d), mostly nothing.
    agreed: float = 1.1
    small_share: float = 0.05  # of the budget: what takes less is asked nevertheless
    near: float = 1.02  # of the bytes of the best refinement; what stays above is not refined further
    # Times the bytes of the best balanced candidate: others above are not refined, and what follows regular
    # ones is placed once, with its anchors; both take long. One by one saved at most a third (101 divisions
    # of 21 programs; more of cycles of a mesh, which stayed 7 times too many): beside what a partitioner
    # sends, ``plain`` times as many are far.
    far: float = 1.5
    # Times the bytes of a regular division: what it counts for where nothing shows the shape of its array
    # ("as 100x100"). Which points of a graph without order are together decides about less.
    alike: float = 1.01
    # The same where arrays of the shape that is cut follow: a transpose saves several times, halos of another
    # width some percent, which is no reason to cut arrays of one shape in two ways.
    apart: float = 1.1
    # Times the bytes of the best that was counted: regular divisions guessed to send more are not. Guesses
    # were at most 1.9 times what was counted (of a time step that is found over lists).
    guessed: float = 2.0
    # Of the bytes of a division by a table: a regular one with at most so many goes before. Shapes alone save
    # that: hexagons have 7 % less border than squares, a cut through four a quarter less.
    plain: float = 1.25
    # Times what blocks of a recognised grid or product send, from which on all methods may miss something.
    # Parts of few points send up to twice as much at their corners; slabs where cubes are possible send more.
    missed: float = 2.0
    # Imbalance up to which a regular one that sends less is worth naming: beyond, it costs more time than it
    # can save on most machines.
    uneven: float = 1.25
    # Times that a refinement is tried where what it moves takes work along, so that a part gets too much.
    # Once: finite elements on 64 nodes stay less than 0.1 % above the limit, and blocks that send 7 times as
    # much are best.
    balanced: int = 3


SEARCH = SearchPolicy()


# CPU seconds for one number of parts: so many times what building the graph takes, and so many more.
_SHARES: dict[Effort, tuple[float, float]] = {
    "quick": (1.0, 2.0),
    "normal": (3.0, 3.0),
    "thorough": (30.0, 120.0),
}


@dataclass(frozen=True, slots=True)
class Limit:
    """How long a call takes, CPU seconds: by an estimate, and after how many it is ended."""

    expected_s: float = 0.0
    most_s: float = math.inf


NO_LIMIT = Limit()


@dataclass(slots=True)
class Budget:
    """What dividing among one number of parts may take; one thread at a time spends."""

    seconds: float  # CPU time
    spent_s: float = 0.0  # of it, by estimates
    # Methods that would have taken more than was left, and how long, seconds.
    left_out: dict[str, float] = field(default_factory=dict)

    def take(self, name: str, expected_s: float, *, is_needed: bool = False) -> Limit | None:
        """Spend ``expected_s`` on a method; ``None``, and it is noted as left out, where that is too much.

        What ``is_needed``, as without it there is no division, may have all that is left.
        """
        left = self.seconds - self.spent_s
        if expected_s > left and not is_needed:
            self.left_out[name] = max(expected_s, self.left_out.get(name, 0.0))
            return None
        self.spent_s += min(expected_s, max(left, 0.0))
        return Limit(expected_s, max(left, COSTS.least_limit_s))


def budget_seconds(effort: Effort, num_flows: int, coded_bytes: int) -> float:
    """Return CPU seconds for one number of parts, by flows and memory of the graph in coded form.

    Flows without any order, which take most memory, take most time to build.
    """
    build_s = COSTS.build_s + COSTS.build_s_per_flow * num_flows + COSTS.build_s_per_byte * coded_bytes
    times, more = _SHARES[effort]
    return times * build_s + more


def metis_seconds(num_edges: int, num_parts: int, *, is_mesh: bool) -> float:
    """Return about how long METIS takes."""
    c = COSTS
    if is_mesh:
        each = c.metis_mesh_s * (1 + num_parts / c.metis_mesh_parts)
    else:
        each = c.metis_loose_s * (1 + num_parts / c.metis_loose_parts)
    return each * num_edges


def least_gain(num_pins: int, num_parts: int, budget_s: float) -> float:
    """Return the share of the metric that a pass of single moves has to save, for the time that it takes."""
    return COSTS.gain_per_share * pass_seconds(num_pins, num_parts) / budget_s


def pass_seconds(num_pins: int, num_parts: int) -> float:
    """Return about how long a pass of single moves takes where everything is at a border."""
    return (COSTS.refine_s + COSTS.refine_s_per_part * num_parts) * num_pins


def mtkahypar_seconds(num_pins: int, num_parts: int, *, is_mesh: bool) -> float:
    """Return about how long Mt-KaHyPar takes."""
    c = COSTS
    if is_mesh:
        return (c.kahypar_mesh_s + c.kahypar_mesh_s_per_part * num_parts) * num_pins
    return (c.kahypar_loose_s + c.kahypar_loose_s_per_part * num_parts) * num_pins
