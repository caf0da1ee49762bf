"""Labels of reductions that select, see :mod:`commanalyzer.ir.loops.selections`."""

from __future__ import annotations

from commanalyzer.interpreter.values import NO_LABELS, Labels, Value, union, with_role
from commanalyzer.ir.loops.selections import Selection
from commanalyzer.vcg.graph import SourceRole


def select_and_keep(
    collected: dict[str, Labels],
    selection: Selection,
    name: str,
    candidate: tuple[str, Labels],
    value: Value,
    conditions: Labels,
) -> Value:
    """Return ``value`` of member ``name``: it depends on everything compared and taken since the loop began.

    Args:
        collected: Labels of the activation's selecting reductions; changed.
        selection: The reduction.
        name: Its member that is assigned.
        candidate: Register or constant that was taken, and its labels.
        value: What was taken.
        conditions: Labels of what decided.
    """
    key = min(selection.members)
    if name in selection.choices:
        labels = union(collected.get(key, NO_LABELS), with_role(conditions, SourceRole.CONTROL))
        taken, fresh = candidate
        if taken not in selection.members:
            labels = union(labels, fresh)
        value = value._replace(labels=labels, exact=None)
    collected[key] = value.labels
    return value
