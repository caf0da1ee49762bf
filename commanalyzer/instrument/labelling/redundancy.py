"""Labels of a chain that say nothing new: the same value again, at most in a weaker role.

Selections carry the labels of their conditions, so chains of them (an index that is wrapped or clamped) name
the same few values again and again. What a label register holds at run time is known well enough here to
leave most of that out of a row: the value graph keeps each source once, in its strongest role, anyway.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class _Form:
    """What a label register holds.

    Attributes:
        base: Register with the same label, or a role above it.
        is_control: Whether it holds that label in the role of selecting.
        present: Conditions, and how they turned out, under which it holds the label; else it holds 0.
    """

    base: str
    is_control: bool = False
    present: frozenset[tuple[str, bool]] = frozenset()

    def covers(self, other: _Form) -> bool:
        """Whether this form holds the label of ``other`` whenever that does, in no weaker role."""
        return (
            self.base == other.base and self.is_control <= other.is_control and self.present <= other.present
        )


class LabelForms:
    """Forms of the label registers of one function; registers that were never noted stand for themselves."""

    def __init__(self) -> None:
        self._forms: dict[str, _Form] = {}

    def control(self, result: str, label: str) -> None:
        """Note that ``result`` holds ``label`` in the role of selecting."""
        form = self._form(label)
        self._forms[result] = _Form(form.base, True, form.present)

    def same(self, result: str, label: str) -> None:
        """Note that ``result`` holds ``label``, perhaps with other EXACT bits."""
        self._forms[result] = self._form(label)

    def chosen(self, result: str, condition: str, yes: str, no: str) -> None:
        """Note that ``result`` holds ``yes`` where ``condition`` holds, else ``no``."""
        if "0" in (yes, no):
            form = self._form(yes if no == "0" else no)
            present = form.present | {(condition, no == "0")}
            self._forms[result] = _Form(form.base, form.is_control, present)
            return
        a, b = self._form(yes), self._form(no)
        if a == b:
            self._forms[result] = a
        elif a.base == b.base and a.is_control == b.is_control:
            # when it holds the label is a condition of its own
            present = (a.present & b.present) | {(result, True)}
            self._forms[result] = _Form(a.base, a.is_control, present)

    def distinct(self, labels: Sequence[str], needed: str = "") -> tuple[str, ...]:
        """The labels without those that others of them cover; ``needed`` stays."""
        kept: list[str] = []
        for label in labels:
            if label != needed and any(self._covers(k, label) for k in kept):
                continue
            kept = [k for k in kept if k == needed or not self._covers(label, k)]
            kept.append(label)
        return tuple(kept)

    def _covers(self, label: str, other: str) -> bool:
        return self._form(label).covers(self._form(other))

    def _form(self, label: str) -> _Form:
        return self._forms.get(label, _Form(label))
