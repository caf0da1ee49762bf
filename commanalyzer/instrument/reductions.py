"""Label code of reductions in registers: terms are collected while the loop runs, named once behind it."""

from __future__ import annotations

from commanalyzer.abi import hooks
from commanalyzer.instrument.choices import ChoiceWriter
from commanalyzer.instrument.labels import LabelBook, Labels
from commanalyzer.instrument.recurrences import Accumulator


class ReductionWriter:
    """Writes the label code of accumulators."""

    def __init__(self, book: LabelBook, choices: ChoiceWriter) -> None:
        self._book = book
        self._choices = choices
        self._patch = book.patch
        self._closed: dict[tuple[str, str], str] = {}  # (block, storage) -> label of the reduced value

    def write(self, accumulator: Accumulator) -> None:
        """Write resets, terms and the naming of the result behind the loop."""
        storage = f"%ca.accumulator.{len(self._book.accumulators)}"
        self._book.accumulators.append(storage)
        self._patch.entry += [
            f"  {storage} = alloca [{hooks.ACCUMULATOR_BYTES} x i8], align 16",
            f"  store <8 x i64> zeroinitializer, ptr {storage}, align 16",
        ]
        for predecessor, operand in accumulator.resets:
            self._write_reset(predecessor, operand, storage)
        for name in accumulator.updates:
            self._write_update(accumulator, name, storage)
        for name in accumulator.choices:
            self._write_choice(name, storage)
        for phi in accumulator.exits:
            self._write_exit(accumulator, phi, storage)

    def _write_reset(self, predecessor: str, operand: str, storage: str) -> None:
        out = self._book.edge(predecessor)
        labels = self._book.clean(operand, predecessor, out)
        if len(labels) > hooks.MAX_INITIAL_LABELS:
            labels = (self._book.name_value(out, self._book.site(operand, f"{operand}.initial"), labels),)
        pointer = self._patch.spill(out, labels) if labels else "null"
        self._patch.call(out, "ca_accumulator_reset", storage, len(labels), pointer)

    def _write_exit(self, accumulator: Accumulator, phi: str, storage: str) -> None:
        block = self._book.values.block_of(phi)
        if (block, storage) not in self._closed:
            site = self._book.register_site(phi, accumulator.fold)
            out = self._patch.tops.setdefault(block, [])
            self._closed[block, storage] = self._patch.call(out, "ca_accumulator_close", storage, site)
        self._book[phi] = Labels((self._closed[block, storage],))

    def _write_update(self, accumulator: Accumulator, name: str, storage: str) -> None:
        definition = self._book.values.definitions[name]
        others = [o.text for o in definition.instruction.operands if o.text not in accumulator.members]
        out = self._book.anchor(name)
        self._write_term(out, name, storage, self._book.united(others, definition.block, out))

    def _write_choice(self, name: str, storage: str) -> None:
        definition = self._book.values.definitions[name]
        for predecessor in definition.instruction.incoming:
            control = self._choices.edge_control(definition.block, predecessor)
            self._write_term(self._book.edge(predecessor), name, storage, control)

    def _write_term(self, out: list[str], name: str, storage: str, labels: tuple[str, ...]) -> None:
        if not labels:
            return
        if len(labels) > hooks.MAX_TERM_LABELS:
            labels = (self._book.name_value(out, self._book.site(name, f"{name}.term"), labels),)
        if len(labels) <= hooks.MAX_INLINE_TERM_LABELS:
            self._patch.call(out, f"ca_term_{len(labels)}", storage, *labels)
        else:
            self._patch.call(out, "ca_term_many", storage, len(labels), self._patch.spill(out, labels))
