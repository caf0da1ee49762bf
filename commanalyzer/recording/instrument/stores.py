"""Stores: new versions, replications, accumulations (paper Algorithm 2)."""

from __future__ import annotations

from collections.abc import Sequence

from commanalyzer.foundation.flows import Fold
from commanalyzer.program.frontend.decisions import KEPT
from commanalyzer.program.ir.loops.combinations import ExtremumStore, counting_stores
from commanalyzer.program.ir.model import DESCRIPTOR, Instruction, IrType, Operand
from commanalyzer.program.ir.types import I32, size_bytes
from commanalyzer.recording import abi
from commanalyzer.recording.instrument.labelling.labels import Exact, LabelBook, Labels
from commanalyzer.recording.instrument.labelling.origins import lane_address
from commanalyzer.recording.instrument.labelling.recurrences import FOLDS, accumulated_load, fold_of
from commanalyzer.recording.instrument.labelling.values import holds_value, scalar_leaves, value_width


class StorePlanner:
    """Plans stores, ``atomicrmw`` and ``cmpxchg`` of one function; an exchange is a store."""

    def __init__(self, labels: LabelBook) -> None:
        self._labels = labels
        self._values, self._patch, self._sites = labels.values, labels.patch, labels.sites
        self._counts = counting_stores(self._values.function, self._values.cfg)
        self.site_of_store: dict[int, int] = {}  # first line of a store -> site

    def plan(self, instruction: Instruction, block: str) -> None:
        """Plan one instruction that writes memory."""
        out = self._patch.after.setdefault(instruction.last_line, [])
        pointer = instruction.operands[1 if instruction.opcode == "store" else 0].text
        address = self._patch.address(out, pointer)
        value = instruction.operands[-1 if instruction.predicate == "xchg" else 0]
        if value.text[1:].startswith(KEPT):
            # only the graph has it: neither is the value that is kept loaded, nor stored
            kept = self._values.definitions[value.text].instruction.operands[1].text
            load = self._values.definitions[kept].instruction
            self._patch.replaced[load.first_line] = f"  {kept} = freeze {value.type} poison"
            self._patch.replaced[instruction.first_line] = ""
        if instruction.opcode != "store" and instruction.predicate != "xchg":
            self._plan_atomic(instruction, block, out, address)
        elif not holds_value(value.type) or DESCRIPTOR in instruction.flags:
            self._patch.call(out, "ca_forget", address, self._words(value.type))
        elif value.type.kind in ("int", "float"):
            self._plan_scalar(instruction, value, block, out, address)
        else:
            self._plan_leaves(instruction, block, out, address)

    def plan_extremum(self, found: ExtremumStore, block: str) -> None:
        """Plan ``if (x < *m) *m = x``: whether stored or not, ``*m`` is combined with x."""
        store = found.store
        site = self._site(store, found.value.type, found.fold, 0)
        words = self._words(found.value.type)
        for place, out in (
            (block, self._patch.after.setdefault(store.last_line, [])),
            (found.otherwise, self._labels.edge(found.otherwise)),
        ):
            address = self._patch.address(out, found.pointer.text)
            own = self._patch.call(out, "ca_load", address)
            labels = self._labels.clean(found.value.text, place, out)
            self._row(out, site, address, words, (own, *labels))

    # ---- scalars -------------------------------------------------------------------------------------------

    def _plan_scalar(
        self, instruction: Instruction, value: Operand, block: str, out: list[str], address: str
    ) -> None:
        found = self._labels.labels(value.text, block)
        if self._plan_copy(instruction, value.type, found, out, address):
            return
        is_wide = size_bytes(value.type) == 8 and found.exact is Exact.NO
        if is_wide and len(found.parts) == 2 and all(part.names for part in found.parts):
            # two words that were put together
            for part, offset in zip(found.parts, (0, 4), strict=True):
                self._plan_part(instruction, I32, part, out, self._patch.offset(out, address, offset))
            return
        labels = list(self._labels.clean(value.text, block, out))
        fold, own = self._accumulation(instruction, block, labels)
        kind = "copy" if value.text in self._labels.site_of and len(labels) == 1 else "store"
        if len(labels) <= abi.MAX_LABELS:
            labels = list(self._labels.forms.distinct(labels, own))
        self_label = labels.index(own) if own else -1
        indices = [o.text for o in self._counts.get(instruction.first_line, ())]
        for label in self._labels.united(indices, block, out):
            labels.append(self._patch.call(out, "ca_address", label))
        site = self._site(instruction, value.type, fold, self_label, kind)
        self._row(out, site, address, self._words(value.type), labels)

    def _plan_copy(
        self, instruction: Instruction, type_: IrType, found: Labels, out: list[str], address: str
    ) -> bool:
        """Plan the store of one scalar that is a copy of another value, or may be; false if it is none."""
        size, words = size_bytes(type_), self._words(type_)
        if found.exact is Exact.NO or size not in self._patch.copied_sizes:
            return False
        site = self._site(instruction, type_, kind="copy" if found.exact is Exact.YES else "store")
        if found.exact is Exact.YES:
            self._replicate(out, site, address, size, found)
        elif found.high and size == 8:
            self._patch.call(out, "ca_store_pair", site, address, found.names[0], found.high)
        else:
            pointer = self._patch.spill(out, found.names)
            self._patch.call(out, "ca_store_unknown", site, address, words, len(found.names), pointer)
        return True

    def _replicate(self, out: list[str], site: int, address: str, size: int, found: Labels) -> None:
        first, copied = found.names[0], min(size, found.size)
        if copied == 8 and found.high:
            self._patch.call(out, "ca_copy_8", site, address, first, self._labels.high_label(found.high))
        elif copied == 8:
            self._patch.call(out, "ca_copy_value", site, address, first)
        elif copied == 4:
            self._patch.call(out, "ca_copy_4", site, address, first)
        else:
            self._patch.call(out, "ca_copy_part", site, address, self._patch.words(copied), first)
        if copied < size:
            upper = self._patch.compute(out, "add", address, copied)
            self._patch.call(out, "ca_forget", upper, self._patch.words(size - copied))

    def _accumulation(self, store: Instruction, block: str, labels: Sequence[str]) -> tuple[Fold, str]:
        """Whether ``store`` is ``x = x op term``, and x's label, if it is the only one."""
        load = accumulated_load(self._values, store, block) if store.opcode == "store" else ""
        if not load:
            return Fold.NONE, ""
        own = self._labels.labels(load, self._values.block_of(load)).names
        if len(own) != 1 or own[0] not in labels:
            return Fold.NONE, ""
        return fold_of(self._values, store.operands[0].text, load), own[0]

    # ---- aggregates and atomics ----------------------------------------------------------------------------

    def _plan_leaves(self, instruction: Instruction, block: str, out: list[str], address: str) -> None:
        value = instruction.operands[0]
        leaves = scalar_leaves(value.type)
        parts = self._labels.parts(value.text, len(leaves), block)
        for part, (type_, offset) in zip(parts, leaves, strict=True):
            place = self._patch.offset(out, address, offset)
            if type_.kind == "ptr":
                self._patch.call(out, "ca_forget", place, self._patch.words(8))
            else:
                self._plan_part(instruction, type_, part, out, place)

    def _plan_part(
        self, instruction: Instruction, type_: IrType, part: Labels, out: list[str], address: str
    ) -> None:
        """One scalar of a vector, an aggregate or a pair of words."""
        if not self._plan_copy(instruction, type_, part, out, address):
            labels = self._labels.clean_part(part, out)
            self._row(out, self._site(instruction, type_), address, self._words(type_), labels)

    def plan_masked(self, instruction: Instruction, block: str) -> None:
        """Plan ``llvm.masked.store`` or ``scatter`` (value, pointers, mask): lanes that are on are stores."""
        out = self._patch.after.setdefault(instruction.last_line, [])
        value, pointer, mask = (o for o in instruction.operands if o.type.text != "i32")
        type_ = value.type.elements[0]
        size = size_bytes(type_)
        parts = self._labels.parts(value.text, value.type.count, block)
        site = self._site(instruction, type_) if type_.kind != "ptr" else -1
        for lane, part in enumerate(parts):
            address = lane_address(self._patch, out, pointer, lane, size)
            bit = self._patch.value(out, f"extractelement {mask.type} {mask.text}, i64 {lane}")
            active = self._patch.value(out, f"zext i1 {bit} to i32")
            labels = part.names
            if part.exact is Exact.YES and size in self._patch.copied_sizes:
                labels = (self._labels.with_exact(part, out),)
            pointer_to_labels = self._patch.spill(out, labels) if labels else "null"
            words = self._words(type_)
            self._patch.call(out, "ca_store_if", active, site, address, words, len(labels), pointer_to_labels)

    def _plan_atomic(self, instruction: Instruction, block: str, out: list[str], address: str) -> None:
        operands = instruction.operands[1:]
        type_ = operands[-1].type
        words = self._words(type_)
        if not holds_value(type_):
            self._patch.call(out, "ca_forget", address, words)
            return
        own = self._labels.clean(instruction.name, block, out)
        others = self._labels.united([o.text for o in operands[-1:]], block, out)
        labels = tuple(dict.fromkeys((*own, *others)))
        fold = FOLDS.get(instruction.predicate, Fold.NONE)
        site = self._site(instruction, type_, fold, 0 if fold is not Fold.NONE and own else -1)
        self._row(out, site, address, words, labels)

    # ---- shared --------------------------------------------------------------------------------------------

    def _row(self, out: list[str], site: int, address: str, words: int, labels: Sequence[str]) -> None:
        if len(labels) > abi.MAX_LABELS:
            labels = (self._labels.name_value(out, site, labels),)
        self._patch.call_with(out, "ca_row", labels, site, address, words)

    def _site(
        self,
        instruction: Instruction,
        type_: IrType,
        fold: Fold = Fold.NONE,
        self_label: int = -1,
        kind: str = "store",
    ) -> int:
        width, result = value_width(type_, self._patch.word_bytes), instruction.operands[-1].text
        number = self._labels.add_site(result, kind, width, instruction, fold, self_label)
        self.site_of_store.setdefault(instruction.first_line, number)
        return number

    def _words(self, type_: IrType) -> int:
        return max(1, self._patch.words(size_bytes(type_)))
