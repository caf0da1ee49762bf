"""How long dividing may take: effort of the user -> CPU seconds, spent by estimates.

What is tried is decided by estimates alone, from numbers of edges, pins and parts, so that the same input
gives the same division on every machine and however busy it is. Calls of libraries also have a limit of their
CPU time, a safety net for estimates that are wrong; where it ends something, the result says so.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from commanalyzer.division.policy import COSTS
from commanalyzer.request import Effort

# CPU seconds for one number of parts: so many times what building the graph takes, and so many more.
_SHARES: dict[Effort, tuple[float, float]] = {
    "quick": (1.0, 2.0),
    "normal": (3.0, 3.0),
    "thorough": (30.0, 120.0),
}


@dataclass(frozen=True, slots=True)
class Limit:
    """How long a call takes, CPU seconds.

    Attributes:
        expected_s: By an estimate.
        most_s: It is ended after so many.
    """

    expected_s: float = 0.0
    most_s: float = math.inf


NO_LIMIT = Limit()


@dataclass(slots=True)
class Budget:
    """What dividing among one number of parts may take; one thread at a time spends.

    Attributes:
        seconds: CPU seconds.
        spent_s: Of these, what has been spent by estimates.
        left_out: Methods that would have taken more than was left, and how long, seconds.
    """

    seconds: float
    spent_s: float = 0.0
    left_out: dict[str, float] = field(default_factory=dict)

    def take(self, name: str, expected_s: float, *, is_needed: bool = False) -> Limit | None:
        """Spend ``expected_s`` on a method; ``None``, and it is noted as left out, where that is too much.

        Args:
            name: Of the method.
            expected_s: CPU seconds by an estimate.
            is_needed: Without it there is no division: it may have all that is left.
        """
        left = self.seconds - self.spent_s
        if expected_s > left and not is_needed:
            self.left_out[name] = max(expected_s, self.left_out.get(name, 0.0))
            return None
        self.spent_s += min(expected_s, max(left, 0.0))
        return Limit(expected_s, max(left, COSTS.least_limit_s))


def budget_seconds(effort: Effort, num_flows: int, coded_bytes: int) -> float:
    """Return CPU seconds for one number of parts.

    Args:
        effort: How hard to try.
        num_flows: Flows of the graph.
        coded_bytes: Memory of the graph in coded form: flows without any order take most time to build.
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
