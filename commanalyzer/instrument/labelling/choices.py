"""Labels of registers that take one of several operands: ``select`` and ``phi``.

The label registers are chosen exactly as the program chooses. Conditions that select are sources in the role
of selecting (control), and what they select is no plain copy any more.
"""

from __future__ import annotations

from collections.abc import Sequence

from commanalyzer.instrument.labelling.labels import MAX_STATIC_LABELS, Exact, LabelBook, Labels
from commanalyzer.ir.model import Instruction


class ChoiceWriter:
    """Writes the label code of selects and phis.

    ``result`` forces a single label register of that name (for registers carried around a loop).
    """

    def __init__(self, book: LabelBook) -> None:
        self._book = book
        self._values = book.values
        self._patch = book.patch

    def select(self, instruction: Instruction, block: str, result: str = "") -> Labels:
        """Labels of a ``select`` with a scalar condition."""
        condition, yes, no = instruction.operands
        out = self._book.anchor(instruction.name)
        control: tuple[str, ...] = ()
        if self._values.control_flows:
            control = self.control((condition.text,), block, out)
        sides = [self._book.labels(o.text, block) for o in (yes, no)]
        carrying = [o.text in self._values.carrying for o in (yes, no)]
        exact, words = _meet(sides, carrying, bool(control))
        texts = [self._side(side, exact, control, out) for side in sides]
        chosen = []
        for k in range(max(len(t) for t in texts)):
            a, b = (t[k] if k < len(t) else "0" for t in texts)
            chosen.append(self._book.chosen(condition.text, a, b, out))
        names = tuple(dict.fromkeys((*chosen, *control)))
        return self._finish(instruction.name, Labels(names, exact, words), result)

    def phi(self, instruction: Instruction, block: str, result: str = "") -> Labels:
        """Labels of a ``phi`` with several predecessors."""
        predecessors = instruction.incoming
        controls = [self.edge_control(block, p) for p in predecessors]
        edges = list(zip(instruction.operands, predecessors, strict=True))
        sides = [self._book.labels(o.text, p) for o, p in edges]
        carrying = [o.text in self._values.carrying for o, _ in edges]
        exact, words = _meet(sides, carrying, any(controls))
        texts = [
            self._side(side, exact, control, self._book.edge(p))
            for p, side, control in zip(predecessors, sides, controls, strict=True)
        ]
        names = self._label_phis(block, predecessors, texts) + self._label_phis(block, predecessors, controls)
        return self._finish(instruction.name, Labels(names, exact, words), result)

    def carried_phi(self, instruction: Instruction, block: str, result: str, exact: Exact) -> None:
        """Label phi of a loop-carried register that no condition selects: one label each way round."""
        texts = []
        for operand, predecessor in zip(instruction.operands, instruction.incoming, strict=True):
            text = "0"
            if operand.text in self._values.carrying:
                side = self._book.single(operand.text)
                text = self._side(side, exact, (), self._book.edge(predecessor))[0]
            texts.append((text,))
        self._label_phis(block, instruction.incoming, texts, result)

    def _finish(self, name: str, labels: Labels, result: str) -> Labels:
        if not result and len(labels.names) <= MAX_STATIC_LABELS:
            return labels
        label = self._book.join(self._book.anchor(name), name, labels.names, result)
        return Labels((label,), Exact.DYNAMIC if labels.exact is Exact.DYNAMIC else Exact.NO)

    def _label_phis(
        self, block: str, predecessors: Sequence[str], texts: Sequence[Sequence[str]], result: str = ""
    ) -> tuple[str, ...]:
        lines = self._patch.phis.setdefault(block, [])
        names = []
        for k in range(max((len(t) for t in texts), default=0)):
            incoming = [
                (t[k] if k < len(t) else "0", f"%{p}") for t, p in zip(texts, predecessors, strict=True)
            ]
            names.append(self._patch.join(lines, incoming, result=result))
        return tuple(names)

    def _side(self, side: Labels, exact: Exact, control: tuple[str, ...], out: list[str]) -> tuple[str, ...]:
        """Labels of one alternative in the form that the choice's exactness asks for."""
        if not side.names or side.exact is Exact.NO or exact is Exact.YES:
            return side.names
        if exact is Exact.NO:
            if side.exact is Exact.YES:
                return side.names
            return (self._book.without_exact(side.names[0], out), *side.names[1:])
        first = self._book.with_exact(side, out) if side.exact is Exact.YES else side.names[0]
        if control:
            first = self._exact_unless_selected(first, control, out)
        return (first, *side.names[1:])

    def _exact_unless_selected(self, label: str, control: tuple[str, ...], out: list[str]) -> str:
        """Selected by a value, a register is no plain copy any more."""
        joined = control[0]
        for other in control[1:]:
            joined = self._patch.compute(out, "or", joined, other)
        free = self._patch.compute(out, "icmp eq", joined, "0")
        stripped = self._book.without_exact(label, out)
        return self._book.chosen(free, label, stripped, out)

    def control(self, names: Sequence[str], block: str, out: list[str]) -> tuple[str, ...]:
        """Labels of all registers ``names`` in the role of selecting, each once."""
        labels = dict.fromkeys(label for name in names for label in self._book.clean(name, block, out))
        return tuple(self._book.control(label, out) for label in labels)

    def edge_control(self, block: str, predecessor: str) -> tuple[str, ...]:
        """Labels of the conditions that select the edge ``predecessor -> block``."""
        conditions = self._values.edge_conditions(block, predecessor)
        return self.control(conditions, predecessor, self._book.edge(predecessor))


def _meet(sides: Sequence[Labels], carrying: Sequence[bool], controlled: bool) -> tuple[Exact, int]:
    """Exactness and words of a register that takes one of several operands."""
    kinds = {s.exact if c else Exact.NO for s, c in zip(sides, carrying, strict=True)}
    if kinds == {Exact.NO}:
        return Exact.NO, 1
    words = {s.words for s in sides}
    if kinds == {Exact.YES} and not controlled and len(words) == 1 and all(len(s.names) == 1 for s in sides):
        return Exact.YES, words.pop()
    return Exact.DYNAMIC, 1
