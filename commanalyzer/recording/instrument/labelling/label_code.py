"""Label code of a function: fills the label book, component by component.

Input: the classified components, each behind all that it depends on. Output: lines in the patch and, per
register, :class:`Labels` in the book.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set

from commanalyzer.foundation.flows import Fold
from commanalyzer.program.ir.cfg import reached
from commanalyzer.program.ir.loops.combinations import extremum_stores
from commanalyzer.program.ir.loops.selections import Selection
from commanalyzer.recording import abi
from commanalyzer.recording.instrument.labelling.choices import (
    ChoiceWriter,
    CycleWriter,
    LaneWriter,
    part_types,
)
from commanalyzer.recording.instrument.labelling.labels import Exact, LabelBook, Labels
from commanalyzer.recording.instrument.labelling.origins import source_labels
from commanalyzer.recording.instrument.labelling.recurrences import (
    Accumulator,
    Component,
    accumulated_load,
    fold_of,
)
from commanalyzer.recording.instrument.labelling.values import Flow, FunctionValues


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
            (reductions.announce if component.kind == "result" else reductions.write)(component.accumulator)
        elif component.kind != "plain":
            cycles.write(component)
        elif component.members[0] in totals:
            book[component.members[0]] = reductions.total(component.members[0], *totals[component.members[0]])
        elif component.members[0] not in book:
            book[component.members[0]] = _plain(book, choices, lanes, component.members[0])
            if component.members[0] in shared:
                book[component.members[0]] = book.single(component.members[0])


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
    Terms are what a choice compares, too. Of several behind each other, it is the last one.
    """
    values, loops = book.values, book.values.cfg.innermost_loop
    plain = {c.members[0] for c in components if c.kind == "plain"}

    def inputs(name: str) -> list[str]:
        return [n for n in values.data_inputs(name) if n in plain and values.flows[n] is not Flow.SOURCE]

    def origins(names: Iterable[str]) -> Set[str]:
        own = (n for n in names if n in plain and values.flows[n] is not Flow.SOURCE)
        return reached(own, inputs).keys()

    accumulators = [c.accumulator for c in components if c.accumulator is not None]
    terms = {o.text: n for a in accumulators for n in a.updates for o in values.data_operands(n)}
    compared = {name: c.choices[0] for c in values.selected.kept.values() for name in c.inputs}
    extrema = {e.store.first_line for e in extremum_stores(values.function, values.cfg)}
    stored, elements, replaced = set[str](), set[str](), set[str]()
    added = dict[str, str]()  # terms of sums in memory
    for block in values.function.blocks:
        for store in (i for i in block.instructions if i.opcode == "store"):
            value, load = store.operands[0].text, accumulated_load(values, store, block.label)
            stored.add(value)
            place = values.block_of(store.operands[1].text)
            if loops.get(place) == loops.get(block.label):  # not where the choice itself is kept
                elements.add(value)
            if store.first_line in extrema:
                added[value] = value
            elif load:
                added |= {o.text: value for o in values.data_operands(value) if o.text != load}
            else:
                replaced.add(value)
    both = origins(terms) & origins(stored) | origins(added) & origins(replaced)
    both |= origins(compared) & origins(elements)
    terms |= added | compared
    rounds = {loops.get(values.block_of(n)) for n in terms.values()}
    both = {n for n in both if loops.get(values.block_of(n)) in rounds}
    return {n for n in both if not any(use.instruction.name in both for use in values.uses[n])}


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
        operands = [o.text for o in book.values.data_operands(name)]
        return Labels(book.united(operands, block, book.anchor(name)))
    if flow is Flow.COPY:
        return book.labels(instruction.operands[0].text, block)
    if flow is Flow.SELECT:
        return choices.select(instruction, block)
    if len(book.values.cfg.predecessors[block]) == 1:
        return book.labels(instruction.operands[0].text, instruction.incoming[0])
    if part_types(instruction.type):
        return choices.phi_of_parts(instruction, block)
    return choices.phi(instruction, block)


class ReductionWriter:
    """Writes the label code of accumulators."""

    def __init__(self, book: LabelBook, choices: ChoiceWriter) -> None:
        self._book = book
        self._choices = choices
        self._patch = book.patch
        self._closed: dict[tuple[str, str], str] = {}  # (block, storage) -> label of the reduced value

    def announce(self, accumulator: Accumulator) -> None:
        """Give results of a reduction their labels' names before it is written."""
        fresh: dict[str, str] = {}
        for phi in accumulator.exits:
            block = self._book.values.block_of(phi)
            self._book[phi] = _result(accumulator, fresh.setdefault(block, self._patch.fresh()))

    def write(self, accumulator: Accumulator) -> None:
        """Write resets, terms and the naming of the result behind the loop."""
        storage = self._new_storage()
        for predecessor in dict.fromkeys(p for p, _ in accumulator.resets):
            self._write_reset(accumulator, predecessor, storage)
        for name in accumulator.updates:
            self._write_update(accumulator, name, storage)
        for name in accumulator.choices:
            self._write_choice(accumulator, name, storage)
        for name in accumulator.changes or ():
            self._patch.call(self._book.anchor(name), "ca_term_0", storage)
        for phi in accumulator.exits:
            self._write_exit(accumulator, phi, storage)

    def total(self, name: str, fold: Fold, terms: Sequence[str]) -> Labels:
        """Write the register ``name``, which combines ``terms``, as a reduction."""
        storage, out, block = self._new_storage(), self._book.anchor(name), self._book.values.block_of(name)
        self._patch.call(out, "ca_accumulator_reset", storage, 0, "null")
        for term in terms:
            self._write_term(out, name, storage, self._book.clean(term, block, out))
        site = self._book.register_site(name, fold)
        return Labels((self._patch.call(out, "ca_accumulator_close", storage, site),))

    def _new_storage(self) -> str:
        storage = f"%ca.accumulator.{len(self._book.accumulators)}"
        self._book.accumulators.append(storage)
        self._patch.entry += [
            f"  {storage} = alloca [{abi.ACCUMULATOR_BYTES} x i8], align 16",
            f"  store <8 x i64> zeroinitializer, ptr {storage}, align 16",
        ]
        return storage

    def _write_reset(self, accumulator: Accumulator, predecessor: str, storage: str) -> None:
        out = self._book.edge(predecessor)
        operands = [operand for p, operand in accumulator.resets if p == predecessor]
        labels = self._book.united(operands, predecessor, out)
        if accumulator.selection is not None:
            rivals = [o.text for p, o in accumulator.selection.rivals if p == predecessor]
            labels += self._choices.control(rivals, predecessor, out)
        if len(labels) > abi.MAX_INITIAL_LABELS:
            site = self._book.site(operands[0], f"{operands[0]}.initial")
            labels = (self._book.name_value(out, site, labels),)
        elif accumulator.changes is not None:  # an edge brings in one value
            found = self._choices.side(self._book.labels(operands[0], predecessor), Exact.DYNAMIC, (), out)
            labels = found[:1] + labels[len(found[:1]) :]
        pointer = self._patch.spill(out, labels) if labels else "null"
        self._patch.call(out, "ca_accumulator_reset", storage, len(labels), pointer)

    def _write_exit(self, accumulator: Accumulator, phi: str, storage: str) -> None:
        block = self._book.values.block_of(phi)
        if (block, storage) not in self._closed:
            site = self._book.register_site(phi, accumulator.fold)
            out = self._patch.tops.setdefault(block, [])
            known = self._book.single(phi).names[0] if phi in self._book else ""
            closed = self._patch.call(out, "ca_accumulator_close", storage, site, result=known)
            self._closed[block, storage] = closed
        self._book[phi] = _result(accumulator, self._closed[block, storage])

    def _write_update(self, accumulator: Accumulator, name: str, storage: str) -> None:
        definition = self._book.values.definitions[name]
        operands = self._book.values.data_operands(name)
        others = [o.text for o in operands if o.text not in accumulator.members]
        select = accumulator.tentative.get(name)
        out = self._book.anchor(select or name)
        labels = self._book.united(others, definition.block, out)
        if select is not None:
            condition, yes, _ = self._book.values.definitions[select].instruction.operands
            control = self._choices.control((condition.text,), definition.block, out)
            labels = control + self._only_if(condition.text, labels, out, takes=yes.text == name)
        self._write_term(out, name, storage, labels)

    def _write_choice(self, accumulator: Accumulator, name: str, storage: str) -> None:
        """Terms of a choice: what was compared, and the candidate that it takes."""
        definition = self._book.values.definitions[name]
        instruction, block = definition.instruction, definition.block
        if name in accumulator.tentative.values():
            return  # written with the update
        if accumulator.selection is None:
            for predecessor in instruction.incoming:
                control = self._choices.edge_control(block, predecessor)
                self._write_term(self._book.edge(predecessor), name, storage, control)
            return
        if instruction.opcode == "select":
            self._write_select(accumulator.selection, name, storage)
            return
        for operand, predecessor in zip(instruction.operands, instruction.incoming, strict=True):
            out = self._book.edge(predecessor)
            conditions = self._book.values.selected.deciding.get((block, predecessor), ())
            labels = self._compared(accumulator.selection, conditions, predecessor, out)
            if operand.text not in accumulator.members:
                labels += self._book.clean(operand.text, predecessor, out)
            self._write_term(out, name, storage, labels)

    def _write_select(self, selection: Selection, name: str, storage: str) -> None:
        definition = self._book.values.definitions[name]
        condition, yes, no = definition.instruction.operands
        out = self._book.anchor(name)
        labels = self._compared(selection, (condition.text,), definition.block, out)
        for side, takes in ((yes, True), (no, False)):
            if side.text not in selection.members:
                candidate = self._book.clean(side.text, definition.block, out)
                labels += self._only_if(condition.text, candidate, out, takes=takes)
        self._write_term(out, name, storage, labels)

    def _compared(
        self, selection: Selection, conditions: Sequence[str], block: str, out: list[str]
    ) -> tuple[str, ...]:
        operands = dict.fromkeys(o for c in conditions for o in selection.conditions[c])
        return self._choices.control(tuple(operands), block, out)

    def _only_if(
        self, condition: str, labels: tuple[str, ...], out: list[str], *, takes: bool
    ) -> tuple[str, ...]:
        """The labels where the condition is ``takes``, 0 elsewhere."""
        yes, no = (labels, ()) if takes else ((), labels)
        return self._book.chosen_of(condition, yes, no, out)

    def _write_term(self, out: list[str], name: str, storage: str, labels: tuple[str, ...]) -> None:
        if not labels:
            return
        if len(labels) > abi.MAX_TERM_LABELS:
            labels = (self._book.name_value(out, self._book.site(name, f"{name}.term"), labels),)
        self._patch.call_with(out, "ca_term", labels, storage)


def _result(accumulator: Accumulator, label: str) -> Labels:
    """Labels of the value that a reduction ends with."""
    return Labels((label,), Exact.NO if accumulator.changes is None else Exact.DYNAMIC)
