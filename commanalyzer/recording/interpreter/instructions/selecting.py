"""Labels of reductions that select, see :mod:`commanalyzer.program.ir.loops.selections`."""

from __future__ import annotations

from commanalyzer.foundation.flows import SourceRole
from commanalyzer.program.ir.loops.selections import Selection
from commanalyzer.recording.interpreter.values import NO_LABELS, Labels, Value, union, with_role


def select_and_keep(
    collected: dict[str, Labels],
    selection: Selection,
    name: str,
    candidate: tuple[str, Labels],
    value: Value,
    conditions: Labels,
) -> Value:
    """Return ``value``, which depends on everything compared and taken since the loop began.

    Args:
        collected: Labels of the activation's selecting reductions; changed.
        selection: The reduction.
        name: Its member that is assigned, or a register that takes its result.
        candidate: Register or constant that was taken, and the labels that it brings; of a member that begins
            anew, the labels of all initial values.
        value: What was taken.
        conditions: Labels of what decided.
    """
    key = min(selection.members)
    taken, fresh = candidate
    labels = collected.get(key, NO_LABELS)
    is_choice = name in selection.choices
    if is_choice:
        labels = union(labels, with_role(conditions, SourceRole.CONTROL))
    if taken not in selection.members:
        labels = union(labels, fresh) if is_choice else fresh
    collected[key] = labels
    return value._replace(labels=labels, exact=None)
