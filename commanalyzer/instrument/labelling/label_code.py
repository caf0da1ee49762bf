"""Label code of a function: fills the label book, component by component.

Input: the classified components, each behind all that it depends on. Output: lines in the patch and, per
register, :class:`Labels` in the book.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from commanalyzer.instrument.labelling.choices import ChoiceWriter, CycleWriter, LaneWriter, part_types
from commanalyzer.instrument.labelling.labels import LabelBook, Labels
from commanalyzer.instrument.labelling.origins import source_labels
from commanalyzer.instrument.labelling.recurrences import Component, accumulated_load, fold_of
from commanalyzer.instrument.labelling.reductions import ReductionWriter
from commanalyzer.instrument.labelling.values import Flow, FunctionValues
from commanalyzer.ir.loops.extremum_stores import extremum_stores
from commanalyzer.vcg.graph import Fold


def write_labels(book: LabelBook, components: Sequence[Component]) -> None:
    """Write the label code of all components, in their order."""
    choices = ChoiceWriter(book)
    cycles = CycleWriter(book, choices)
    reductions = ReductionWriter(book, choices)
    lanes = LaneWriter(book)
    shared = _shared(book, components)
    totals = _totals(book.values, components)
    for component in components:
        if component.accumulator is not None:
            reductions.write(component.accumulator)
        elif component.kind == "result":
            reductions.announce(component.members)
        elif component.kind != "plain":
            cycles.write(component)
        elif component.members[0] in totals:
            book[component.members[0]] = reductions.total(component.members[0], *totals[component.members[0]])
        elif component.members[0] not in book:
            book[component.members[0]] = _plain(book, choices, lanes, component.members[0])
            if component.members[0] in shared:
                book.name(component.members[0])


def _totals(values: FunctionValues, components: Sequence[Component]) -> dict[str, tuple[Fold, list[str]]]:
    """Registers that combine results of reductions of one kind, each read only here, with the kind and these.

    Partial sums (of an unrolled loop, of the lanes of a vector) belong to one sum.
    """
    folds = {phi: c.accumulator.fold for c in components if c.accumulator for phi in c.accumulator.exits}
    totals: dict[str, tuple[Fold, list[str]]] = {}
    for name in (c.members[0] for c in components if c.kind == "plain"):
        if values.flows[name] not in (Flow.UNION, Flow.PHI):
            continue
        operands = [o.text for o in values.data_operands(name)]
        carrying = [o for o in operands if o in values.carrying]
        kinds = {folds.get(o, Fold.NONE) for o in carrying}
        if len(kinds) != 1 or Fold.NONE in kinds or any(len(values.uses[o]) > 1 for o in carrying):
            continue
        if values.flows[name] is Flow.PHI:
            folds[name] = kinds.pop()
        elif len(carrying) > 1 and {fold_of(values, name, o) for o in operands} == kinds:
            terms = [term for o in operands for term in totals.pop(o, (Fold.NONE, [o]))[1]]
            folds[name] = kinds.pop()
            totals[name] = folds[name], terms
    return totals


def _shared(book: LabelBook, components: Sequence[Component]) -> set[str]:
    """Registers that a value in memory and a term of a reduction are computed from in one round of a loop.

    Each is a value of its own: who computes what is stored has it, and need not compute it for the reduction.
    Of several behind each other, it is the last one.
    """
    values = book.values
    plain = {c.members[0] for c in components if c.kind == "plain"}

    def origins(names: Iterable[str]) -> set[str]:
        pending, found = [n for n in names if n in plain], set[str]()
        while pending:
            name = pending.pop()
            if name not in found and values.flows[name] is not Flow.SOURCE:
                found.add(name)
                pending += [n for n in values.data_inputs(name) if n in plain]
        return found

    accumulators = [c.accumulator for c in components if c.accumulator is not None]
    terms = {o.text: n for a in accumulators for n in a.updates for o in values.data_operands(n)}
    extrema = {e.store.first_line for e in extremum_stores(values.function, values.cfg)}
    stored, replaced, added = set[str](), set[str](), dict[str, str]()  # added: terms of sums in memory
    for block in values.function.blocks:
        for store in (i for i in block.instructions if i.opcode == "store"):
            value, load = store.operands[0].text, accumulated_load(values, store, block.label)
            stored.add(value)
            if store.first_line in extrema:
                added[value] = value
            elif load:
                added |= {o.text: value for o in values.data_operands(value) if o.text != load}
            else:
                replaced.add(value)
    both = origins(terms) & origins(stored) | origins(added) & origins(replaced)
    terms |= added
    loops = values.cfg.innermost_loop
    rounds = {loops.get(values.block_of(n)) for n in terms.values()}
    both = {n for n in both if loops.get(values.block_of(n)) in rounds}
    return {n for n in both if not any(use.user.name in both for use in values.uses[n])}


def _plain(book: LabelBook, choices: ChoiceWriter, lanes: LaneWriter, name: str) -> Labels:
    """Labels of a register that does not depend on itself."""
    flow = book.values.flows[name]
    if flow is Flow.SOURCE:
        return source_labels(book, lanes, name)
    instruction = book.values.definitions[name].instruction
    block = book.values.block_of(name)
    apart = lanes.write(instruction, block)
    if apart is not None:
        return apart
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
    if part_types(instruction.type):
        return choices.phi_of_parts(instruction, block)
    return choices.phi(instruction, block)
