"""Label code of reductions in registers: terms are collected while the loop runs, named once behind it."""

from __future__ import annotations

from collections.abc import Sequence

from commanalyzer.abi import hooks
from commanalyzer.instrument.labelling.choices import ChoiceWriter
from commanalyzer.instrument.labelling.labels import LabelBook, Labels
from commanalyzer.instrument.labelling.recurrences import Accumulator
from commanalyzer.ir.loops.selections import Selection
from commanalyzer.vcg.graph import Fold


class ReductionWriter:
    """Writes the label code of accumulators."""

    def __init__(self, book: LabelBook, choices: ChoiceWriter) -> None:
        self._book = book
        self._choices = choices
        self._patch = book.patch
        self._closed: dict[tuple[str, str], str] = {}  # (block, storage) -> label of the reduced value

    def announce(self, exits: Sequence[str]) -> None:
        """Give results of a reduction their labels' names before it is written."""
        fresh: dict[str, str] = {}
        for phi in exits:
            block = self._book.values.block_of(phi)
            self._book[phi] = Labels((fresh.setdefault(block, self._patch.fresh()),))

    def write(self, accumulator: Accumulator) -> None:
        """Write resets, terms and the naming of the result behind the loop."""
        storage = self._new_storage()
        for predecessor in dict.fromkeys(p for p, _ in accumulator.resets):
            self._write_reset(accumulator, predecessor, storage)
        for name in accumulator.updates:
            self._write_update(accumulator, name, storage)
        for name in accumulator.choices:
            self._write_choice(accumulator, name, storage)
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
            f"  {storage} = alloca [{hooks.ACCUMULATOR_BYTES} x i8], align 16",
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
        if len(labels) > hooks.MAX_INITIAL_LABELS:
            labels = (
                self._book.name_value(out, self._book.site(operands[0], f"{operands[0]}.initial"), labels),
            )
        pointer = self._patch.spill(out, labels) if labels else "null"
        self._patch.call(out, "ca_accumulator_reset", storage, len(labels), pointer)

    def _write_exit(self, accumulator: Accumulator, phi: str, storage: str) -> None:
        block = self._book.values.block_of(phi)
        if (block, storage) not in self._closed:
            site = self._book.register_site(phi, accumulator.fold)
            out = self._patch.tops.setdefault(block, [])
            known = self._book.single(phi).names[0] if phi in self._book else ""
            self._closed[block, storage] = self._patch.call(
                out, "ca_accumulator_close", storage, site, result=known
            )
        self._book[phi] = Labels((self._closed[block, storage],))

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
                self._write_term(
                    self._book.edge(predecessor),
                    name,
                    storage,
                    self._choices.edge_control(block, predecessor),
                )
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
        sides = [(label, "0") if takes else ("0", label) for label in labels]
        return tuple(self._patch.choose(out, condition, *both) for both in sides)

    def _write_term(self, out: list[str], name: str, storage: str, labels: tuple[str, ...]) -> None:
        if not labels:
            return
        if len(labels) > hooks.MAX_TERM_LABELS:
            labels = (self._book.name_value(out, self._book.site(name, f"{name}.term"), labels),)
        if len(labels) <= hooks.MAX_INLINE_TERM_LABELS:
            self._patch.call(out, f"ca_term_{len(labels)}", storage, *labels)
        else:
            self._patch.call(out, "ca_term_many", storage, len(labels), self._patch.spill(out, labels))
