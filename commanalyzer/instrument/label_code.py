"""Label code of a function: fills the label book, component by component.

Input: the classified components, each behind all that it depends on. Output: lines in the patch and, per
register, :class:`Labels` in the book.
"""

from __future__ import annotations

from collections.abc import Sequence

from commanalyzer.instrument.choices import ChoiceWriter
from commanalyzer.instrument.cycles import CycleWriter
from commanalyzer.instrument.labels import LabelBook, Labels
from commanalyzer.instrument.origins import source_labels
from commanalyzer.instrument.recurrences import Component
from commanalyzer.instrument.reductions import ReductionWriter
from commanalyzer.instrument.values import Flow


def write_labels(book: LabelBook, components: Sequence[Component]) -> None:
    """Write the label code of all components, in their order."""
    choices = ChoiceWriter(book)
    cycles = CycleWriter(book, choices)
    reductions = ReductionWriter(book, choices)
    for component in components:
        if component.accumulator is not None:
            reductions.write(component.accumulator)
        elif component.kind != "plain":
            cycles.write(component)
        elif component.members[0] not in book:
            book[component.members[0]] = _plain(book, choices, component.members[0])


def _plain(book: LabelBook, choices: ChoiceWriter, name: str) -> Labels:
    """Labels of a register that does not depend on itself."""
    flow = book.values.flows[name]
    if flow is Flow.SOURCE:
        return source_labels(book, name)
    instruction = book.values.definitions[name].instruction
    block = book.values.block_of(name)
    if flow is Flow.UNION:
        return Labels(
            book.united([o.text for o in book.values.data_operands(name)], block, book.anchor(name))
        )
    if flow is Flow.COPY:
        return book.labels(instruction.operands[0].text, block)
    if flow is Flow.SELECT:
        return choices.select(instruction, block)
    if len(book.values.cfg.predecessors[block]) == 1:
        return book.labels(instruction.operands[0].text, instruction.incoming[0])
    return choices.phi(instruction, block)
