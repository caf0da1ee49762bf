"""Labels of registers that are carried around a loop without being a plain reduction.

One label register each: rotating registers only exchange labels, chained ones are named whenever they grow,
variables of a round are kept in memory.
"""

from __future__ import annotations

from commanalyzer.instrument.labelling.choices import ChoiceWriter
from commanalyzer.instrument.labelling.labels import Exact, LabelBook, Labels
from commanalyzer.instrument.labelling.recurrences import Component
from commanalyzer.instrument.labelling.values import Flow


class CycleWriter:
    """Writes the label code of rotations and chains."""

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
