"""Labels of registers that take one of several operands: ``select`` and ``phi``.

The label registers are chosen exactly as the program chooses. Conditions that select are sources in the role
of selecting (control), and what they select is no plain copy any more.
"""

from __future__ import annotations

from collections.abc import Sequence

from commanalyzer.instrument.labelling.labels import MAX_STATIC_LABELS, Exact, LabelBook, Labels
from commanalyzer.instrument.labelling.lanes import combined, part_types
from commanalyzer.instrument.labelling.recurrences import Component
from commanalyzer.instrument.labelling.values import Flow
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

    def phi_of_parts(self, instruction: Instruction, block: str) -> Labels:
        """A phi per label of every part; what is chosen is taken as computed."""
        count = len(part_types(instruction.type))
        predecessors = instruction.incoming
        sides = [
            self._book.parts(o.text, count, p)
            for o, p in zip(instruction.operands, predecessors, strict=True)
        ]
        controls = [self.edge_control(block, p) for p in predecessors]
        parts = []
        for lane in range(count):
            texts = [
                (*self._book.clean_part(side[lane], self._book.edge(p)), *control)
                for side, p, control in zip(sides, predecessors, controls, strict=True)
            ]
            parts.append(Labels(self._label_phis(block, predecessors, texts)))
        return combined(self._book, parts, self._book.anchor(instruction.name))

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


class CycleWriter:
    """Writes the label code of registers that are carried around a loop without being a plain reduction.

    One label register each: rotating registers only exchange labels, chained ones are named whenever they
    grow, variables of a round are kept in memory.
    """

    def __init__(self, book: LabelBook, choices: ChoiceWriter) -> None:
        self._book = book
        self._choices = choices
        self._values = book.values

    def write(self, component: Component) -> None:
        """Write the code of one component; its label registers have names before they are defined."""
        exact = self._exactness(component)
        if component.kind == "variable":
            quote = {name: '"' if name.startswith('%"') else "" for name in component.members}
            self._book.homes.update((n, f"%{q}ca.home.{n[1 + len(q) :]}") for n, q in quote.items())
        names = {name: self._book.patch.fresh() for name in component.members}
        for name in component.members:
            self._book[name] = Labels((names[name],), exact[name])
        for name in component.members:
            self._write_member(name, names[name], exact[name])

    def _exactness(self, component: Component) -> dict[str, Exact]:
        """Fixed point over the component: which members can be copies."""
        kinds = dict.fromkeys(component.members, Exact.NO)
        changed = True
        while changed:
            changed = False
            for name in component.members:
                if kinds[name] is Exact.NO and self._can_be_copy(name, kinds):
                    kinds[name] = Exact.DYNAMIC
                    changed = True
        return kinds

    def _can_be_copy(self, name: str, kinds: dict[str, Exact]) -> bool:
        if self._values.flows[name] is Flow.UNION:
            return False
        instruction = self._values.definitions[name].instruction
        operands = instruction.operands[1:] if instruction.opcode == "select" else instruction.operands
        return any(
            (kinds[o.text] if o.text in kinds else self._book.single(o.text).exact) is not Exact.NO
            for o in operands
            if o.text in self._values.carrying
        )

    def _write_member(self, name: str, result: str, exact: Exact) -> None:
        instruction = self._values.definitions[name].instruction
        block = self._values.block_of(name)
        flow = self._values.flows[name]
        if flow is Flow.UNION:
            out = self._book.anchor(name)
            labels = self._book.united([o.text for o in self._values.data_operands(name)], block, out)
            if len(labels) == 1:
                self._rename(name, labels[0], result)
            else:
                self._book.join(out, name, labels, result)
        elif flow is Flow.COPY:
            self._rename(name, self._book.single(instruction.operands[0].text).names[0], result)
        elif flow is Flow.SELECT:
            self._choices.select(instruction, block, result)
        elif self._values.control_inputs(name):
            self._choices.phi(instruction, block, result)
        else:
            self._choices.carried_phi(instruction, block, result, exact)

    def _rename(self, name: str, label: str, result: str) -> None:
        self._book.patch.compute(self._book.anchor(name), "add", label, "0", result=result)
