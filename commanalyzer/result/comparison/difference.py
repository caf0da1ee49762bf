"""What changed from one result to another: two versions of a program, two inputs, or two divisions.

Decompositions of equal node count are set side by side, the best of each unless others are named. Variables
are told by name and function, so that moved lines do not matter.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from commanalyzer.foundation.errors import ConfigError
from commanalyzer.program.ir.names.addresses import source_name
from commanalyzer.result.results import AnalysisResult, Decomposition


@dataclass(frozen=True, slots=True)
class Change:
    """One quantity before and after.

    Attributes:
        before: Its value; NaN when not known.
        after: Its value; NaN when not known.
    """

    before: float
    after: float

    @property
    def ratio(self) -> float:
        """After over before: 1 where both are 0, infinite where only ``before`` is."""
        if self.before:
            return self.after / self.before
        return 1.0 if not self.after else math.inf


@dataclass(frozen=True, slots=True)
class VariableChange:
    """Bytes because of one variable.

    Attributes:
        name: The variable.
        function: Function that declares it; empty for globals.
        comm_bytes: Bytes; 0 where it is not there.
    """

    name: str
    function: str
    comm_bytes: Change


@dataclass(frozen=True, slots=True)
class Difference:
    """Two decompositions for the same number of nodes.

    Attributes:
        nodes: Node count p.
        model: Communication model.
        methods: What made them.
        comm_bytes: Bytes.
        messages: Messages.
        intensity: Bytes per operation of W.
        imbalance: Largest part's work over mean work.
        lower_bound_bytes: Provable minima, 0 when none is known.
        efficiency_bound: Paper Eq. 4; NaN where the machine is not known.
        variables: Those of which more or fewer bytes are sent, the largest change first.
    """

    nodes: int
    model: str
    methods: tuple[str, str]
    comm_bytes: Change
    messages: Change
    intensity: Change
    imbalance: Change
    lower_bound_bytes: Change
    efficiency_bound: Change
    variables: tuple[VariableChange, ...]


def differences(
    before: AnalysisResult,
    after: AnalysisResult,
    *,
    model: str = "",
    methods: tuple[str, str] = ("", ""),
) -> tuple[Difference, ...]:
    """What changed, for every node count that both results have, fewest nodes first.

    Args:
        before: A result.
        after: Another one.
        model: Communication model; the leading one of ``before`` when empty.
        methods: Decompositions; the best where empty.

    Raises:
        ConfigError: If they have no node count in common, or a decomposition is not in them.
    """
    common = sorted(set(before.nodes) & set(after.nodes))
    if not common:
        raise ConfigError(
            f"expected results with a node count in common, found {_counts(before)} and {_counts(after)}",
            hint="add node counts to one of them with: commanalyzer partition RESULT --nodes P",
        )
    leading = model or before.models[0]
    found = []
    for nodes in common:
        left = before.decomposition(nodes, leading, methods[0])
        right = after.decomposition(nodes, leading, methods[1])
        found.append(_difference(before, left, after, right))
    return tuple(found)


def _counts(result: AnalysisResult) -> str:
    return ", ".join(map(str, result.nodes)) or "none"


def _difference(
    before: AnalysisResult, left: Decomposition, after: AnalysisResult, right: Decomposition
) -> Difference:
    bounds = [math.nan if d.efficiency_bound is None else d.efficiency_bound for d in (left, right)]
    return Difference(
        nodes=left.nodes,
        model=left.model,
        methods=(left.method, right.method),
        comm_bytes=Change(left.comm_bytes, right.comm_bytes),
        messages=Change(left.communication.total_messages, right.communication.total_messages),
        intensity=Change(left.intensity, right.intensity),
        imbalance=Change(left.imbalance, right.imbalance),
        lower_bound_bytes=Change(left.lower_bound_bytes, right.lower_bound_bytes),
        efficiency_bound=Change(*bounds),
        variables=_variables(_per_variable(before, left), _per_variable(after, right)),
    )


def _per_variable(result: AnalysisResult, item: Decomposition) -> Mapping[tuple[str, str], int]:
    """Bytes by name and function; objects of the same name add up."""
    found: dict[tuple[str, str], int] = {}
    for home, amount in zip(result.store.objects, item.object_bytes.tolist(), strict=False):
        if amount:
            key = home.name, source_name(home.function)
            found[key] = found.get(key, 0) + amount
    return found


def _variables(
    left: Mapping[tuple[str, str], int], right: Mapping[tuple[str, str], int]
) -> tuple[VariableChange, ...]:
    keys = dict.fromkeys((*left, *right))
    items = [VariableChange(*key, Change(left.get(key, 0), right.get(key, 0))) for key in keys]
    changed = [v for v in items if v.comm_bytes.before != v.comm_bytes.after]
    return tuple(sorted(changed, key=lambda v: (-abs(v.comm_bytes.after - v.comm_bytes.before), v.name)))
