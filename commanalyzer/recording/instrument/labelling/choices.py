"""Labels of registers that hold several values, and of those that take one of several operands.

Each scalar inside a vector, an aggregate or a pair of words in 64 bits has labels of its own (its *part*), so
that ``<4 x double>`` code has the flows of the scalar loop it was made from. Where an operation does not say
which part goes where, nothing is returned and the register's labels are the union of its operands'.

For ``select`` and ``phi`` the label registers are chosen exactly as the program chooses. Conditions that
select are sources in the role of selecting (control), and what they select is no plain copy any more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from itertools import zip_longest

from commanalyzer.program.ir.model import BINARY, CASTS, Instruction, IrType, Operand
from commanalyzer.program.ir.types import size_bytes
from commanalyzer.recording.instrument.labelling.labels import (
    MAX_STATIC_LABELS,
    NOTHING,
    Exact,
    LabelBook,
    Labels,
)
from commanalyzer.recording.instrument.labelling.recurrences import Component
from commanalyzer.recording.instrument.labelling.values import ROTATIONS, Flow, scalar_leaves

MAX_PARTS = 32
Parts = tuple[Labels, ...]
_UNLIKE_LANES = ("@llvm.vector.", "@llvm.masked.", "@llvm.experimental.", "@llvm.matrix.", "@llvm.vp.")
# which word of an operand becomes the low one and the high one
_KEPT_WORDS = {
    ("shl", "32"): (None, 0),
    ("lshr", "32"): (1, None),
    ("ashr", "32"): (1, None),
    ("and", str((1 << 32) - 1)): (0, None),
    ("and", str(-(1 << 32))): (None, 1),
}


def part_types(type_: IrType) -> tuple[IrType, ...]:
    """Scalars inside a vector or aggregate with labels of their own; empty if it has none (or too many)."""
    if type_.kind not in ("vector", "array", "struct"):
        return ()
    if type_.kind != "struct" and type_.count > MAX_PARTS:
        return ()
    leaves = tuple(leaf for leaf, _ in scalar_leaves(type_))
    return leaves if len(leaves) <= MAX_PARTS else ()


def combined(book: LabelBook, parts: Sequence[Labels], out: list[str]) -> Labels:
    """Labels of a register with these parts."""
    names = dict.fromkeys(label for part in parts for label in book.clean_part(part, out))
    return Labels(tuple(names), parts=tuple(parts))


class LaneWriter:
    """Writes the label code of registers with parts."""

    def __init__(self, book: LabelBook) -> None:
        self._book = book

    def write(self, instruction: Instruction, block: str) -> Labels | None:
        """Labels of the result with a part per scalar, ``None`` if the operation has no such rule."""
        handler = _HANDLERS.get(instruction.opcode)
        parts = handler(self, instruction, block) if handler else None
        if parts is None:
            return None
        if part_types(instruction.type):
            return combined(self._book, parts, self._out(instruction))
        return self._scalar(instruction, parts)

    def _scalar(self, instruction: Instruction, parts: Parts) -> Labels:
        """A scalar result: one part is the scalar itself, two are the words of 64 bits."""
        if len(parts) == 1:
            return parts[0]
        found = combined(self._book, parts, self._out(instruction))
        low = parts[0]
        if instruction.opcode == "zext":  # a widened copy
            return Labels(low.names, low.exact, low.size, low.high, found.parts)
        return found

    def _out(self, instruction: Instruction) -> list[str]:
        return self._book.anchor(instruction.name)

    def parts(self, operand: Operand, block: str) -> Parts:
        """Labels of every scalar inside an operand."""
        return self._book.parts(operand.text, len(part_types(operand.type)) or 1, block)

    def words(self, operand: Operand, block: str) -> Parts | None:
        """Labels of both words of a 64-bit integer, if they are known apart."""
        name = operand.text
        if name not in self._book.values.carrying:
            return (NOTHING, NOTHING)
        found = self._book.labels(name, block)
        if len(found.parts) == 2:
            return found.parts
        if found.exact is Exact.YES and found.size <= 4:
            return (found, NOTHING)
        return None

    # ---- vectors and aggregates ----------------------------------------------------------------------------

    def _lanewise(self, instruction: Instruction, block: str) -> Parts | None:
        count = len(part_types(instruction.type))
        operands = [o for o in instruction.operands if o.text in self._book.values.carrying]
        if not count or any(_lanes(o.type) not in (0, count) for o in operands):
            return None
        out = self._out(instruction)
        columns = [self.parts(o, block) * (1 if _lanes(o.type) else count) for o in operands]
        if instruction.opcode in ("freeze", "bitcast", "sext", "zext", "fpext", "sitofp", "uitofp"):
            return columns[0]
        rows = zip(*columns, strict=True)
        return tuple(self._book.united_parts(row, out) for row in rows)

    def _call(self, instruction: Instruction, block: str) -> Parts | None:
        if instruction.callee in ROTATIONS and instruction.operands[2].text == "32":
            high, low = (self.words(o, block) for o in instruction.operands[:2])
            return None if high is None or low is None else (low[1], high[0])
        if not instruction.callee.startswith("@llvm.") or instruction.callee.startswith(_UNLIKE_LANES):
            return None
        return self._lanewise(instruction, block) if instruction.type.kind == "vector" else None

    def _cast(self, instruction: Instruction, block: str) -> Parts | None:
        source = instruction.operands[0]
        if instruction.opcode == "bitcast" and _lanes(source.type) != _lanes(instruction.type):
            return self._regrouped(instruction, block)
        if instruction.opcode == "trunc" and source.type.bits == 64 and instruction.type.bits <= 32:
            words = self.words(source, block)
            if words is None:
                return None
            whole = instruction.type.bits == 32
            return (words[0] if whole else Labels(self._book.clean_part(words[0], self._out(instruction))),)
        if instruction.opcode == "zext" and source.type.kind == "int" and instruction.type.bits == 64:
            return (self._book.labels(source.text, block), NOTHING)
        return self._lanewise(instruction, block)

    def _regrouped(self, instruction: Instruction, block: str) -> Parts | None:
        """A bit cast that divides 64-bit values into words, or the other way round."""
        source, result = instruction.operands[0], instruction.type
        sizes = [{size_bytes(leaf) for leaf in part_types(t) or (t,)} for t in (source.type, result)]
        if sizes == [{8}, {4}]:
            is_one = not part_types(source.type)
            wide = (self._book.labels(source.text, block),) if is_one else self.parts(source, block)
            halves = [self._halves(part) for part in wide]
            return None if None in halves else tuple(p for pair in halves if pair for p in pair)
        if sizes == [{4}, {8}]:
            parts = self.parts(source, block)
            if result.kind in ("int", "float"):
                return parts
            out = self._out(instruction)
            pairs = zip(parts[::2], parts[1::2], strict=True)
            return tuple(self._book.united_parts(pair, out) for pair in pairs)
        return None

    def _halves(self, part: Labels) -> Parts | None:
        if not part.names:
            return (NOTHING, NOTHING)
        if len(part.parts) == 2:
            return part.parts
        if part.exact is not Exact.YES or part.size != 8 or not part.high:
            return None
        high = self._book.high_label(part.high)
        return (Labels(part.names[:1], Exact.YES), Labels((high,), Exact.YES))

    def _element(self, instruction: Instruction, block: str) -> Parts | None:
        """``extractelement`` (vector, index) and ``insertelement`` (vector, element, index)."""
        vector, *elements, index = instruction.operands
        parts = self.parts(vector, block)
        if not index.text.isdigit() or int(index.text) >= len(parts) or len(parts) != vector.type.count:
            return None
        at = int(index.text)
        return _replaced(parts, at, self.parts(elements[0], block)) if elements else (parts[at],)

    def _shufflevector(self, instruction: Instruction, block: str) -> Parts | None:
        left, right = (self.parts(o, block) for o in instruction.operands)
        if len(left) != instruction.operands[0].type.count or len(instruction.indices) > MAX_PARTS:
            return None
        pool = left + right
        return tuple(NOTHING if lane < 0 else pool[lane] for lane in instruction.indices)

    def _member(self, instruction: Instruction, block: str) -> Parts | None:
        """``extractvalue`` (aggregate) and ``insertvalue`` (aggregate, member)."""
        aggregate, *members = instruction.operands
        if not part_types(aggregate.type):
            return None
        first, count = _leaf_range(aggregate.type, instruction.indices)
        parts = self.parts(aggregate, block)
        return _replaced(parts, first, self.parts(members[0], block)) if members else parts[first:][:count]

    # ---- choices -------------------------------------------------------------------------------------------

    def _select(self, instruction: Instruction, block: str) -> Parts | None:
        count = len(part_types(instruction.type))
        condition, yes, no = instruction.operands
        if not count or (condition.type.kind == "vector" and condition.type.count != count):
            return None
        out = self._out(instruction)
        sides = zip(self.parts(yes, block), self.parts(no, block), strict=True)
        return tuple(self.chosen(condition, lane, a, b, block, out) for lane, (a, b) in enumerate(sides))

    def chosen(
        self, condition: Operand, lane: int, yes: Labels, no: Labels, block: str, out: list[str]
    ) -> Labels:
        """Labels of one lane that is ``yes`` or ``no``; the lane's condition selects."""
        patch = self._book.patch
        control: tuple[str, ...] = ()
        if self._book.values.control_flows and condition.text in self._book.values.carrying:
            parts = self.parts(condition, block)
            part = parts[lane] if len(parts) > 1 else parts[0]
            control = tuple(self._book.control(n, out) for n in self._book.clean_part(part, out))
        bit = condition.text
        if condition.type.kind == "vector":
            bit = patch.value(out, f"extractelement {condition.type} {bit}, i64 {lane}")
        is_copy = not control and yes.exact is no.exact is Exact.YES and yes.size == no.size <= 4
        ways = [side.names if is_copy else self._book.clean_part(side, out) for side in (yes, no)]
        names = self._book.chosen_of(bit, ways[0], ways[1], out)
        exact, size = (Exact.YES, yes.size) if is_copy else (Exact.NO, 4)
        return Labels(tuple(dict.fromkeys((*names, *control))), exact, size)

    # ---- words of 64-bit integers --------------------------------------------------------------------------

    def _one_word(self, instruction: Instruction, block: str) -> Parts | None:
        """A shift by a word, or a mask that leaves one."""
        value, by = instruction.operands
        kept = _KEPT_WORDS.get((instruction.opcode, by.text)) if instruction.type.bits == 64 else None
        if kept is None:
            return self._lanewise(instruction, block)
        words = self.words(value, block)
        return None if words is None else tuple(NOTHING if k is None else words[k] for k in kept)

    def _or(self, instruction: Instruction, block: str) -> Parts | None:
        """Two words that are put together: each side has one of them."""
        if instruction.type.bits != 64:
            return self._lanewise(instruction, block)
        sides = [self.words(o, block) for o in instruction.operands]
        low = [s for s in sides if s is not None and s[0].names and not s[1].names]
        high = [s for s in sides if s is not None and s[1].names and not s[0].names]
        if len(low) != 1 or len(high) != 1:
            return None
        return (low[0][0], high[0][1])


def _lanes(type_: IrType) -> int:
    return len(part_types(type_))


def _replaced(parts: Parts, first: int, new: Parts) -> Parts:
    return parts[:first] + new + parts[first + len(new) :]


def _leaf_range(type_: IrType, indices: Sequence[int]) -> tuple[int, int]:
    """First leaf and number of leaves of the member at ``indices``."""
    first = 0
    for index in indices:
        members = type_.elements if type_.kind == "struct" else type_.elements * type_.count
        first += sum(len(scalar_leaves(m)) for m in members[:index])
        type_ = members[index]
    return first, len(scalar_leaves(type_))


_Handler = Callable[[LaneWriter, Instruction, str], "Parts | None"]
_HANDLERS: dict[str, _Handler] = {
    **dict.fromkeys((*BINARY, "fneg", "freeze", "icmp", "fcmp"), LaneWriter._lanewise),
    **dict.fromkeys(CASTS, LaneWriter._cast),
    **dict.fromkeys(("shl", "lshr", "ashr", "and"), LaneWriter._one_word),
    "or": LaneWriter._or,
    "call": LaneWriter._call,
    "select": LaneWriter._select,
    **dict.fromkeys(("extractelement", "insertelement"), LaneWriter._element),
    "shufflevector": LaneWriter._shufflevector,
    **dict.fromkeys(("extractvalue", "insertvalue"), LaneWriter._member),
}


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
        exact, size = _meet(sides, carrying, bool(control))
        yes_labels, no_labels = (self.side(side, exact, control, out) for side in sides)
        chosen = self._book.chosen_of(condition.text, yes_labels, no_labels, out)
        names = tuple(dict.fromkeys((*chosen, *control)))
        return self._finish(instruction.name, Labels(names, exact, size), result)

    def phi(self, instruction: Instruction, block: str, result: str = "") -> Labels:
        """Labels of a ``phi`` with several predecessors."""
        predecessors = instruction.incoming
        controls = [self.edge_control(block, p) for p in predecessors]
        edges = list(zip(instruction.operands, predecessors, strict=True))
        sides = [self._book.labels(o.text, p) for o, p in edges]
        carrying = [o.text in self._values.carrying for o, _ in edges]
        exact, size = _meet(sides, carrying, any(controls))
        texts = [
            self.side(side, exact, control, self._book.edge(p))
            for p, side, control in zip(predecessors, sides, controls, strict=True)
        ]
        names = self._label_phis(block, predecessors, texts) + self._label_phis(block, predecessors, controls)
        return self._finish(instruction.name, Labels(names, exact, size), result)

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
                text = self.side(side, exact, (), self._book.edge(predecessor))[0]
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
        edges = [f"%{p}" for p in predecessors]
        rows = zip_longest(*texts, fillvalue="0")
        return tuple(
            self._patch.join(lines, list(zip(row, edges, strict=True)), result=result) for row in rows
        )

    def side(self, side: Labels, exact: Exact, control: tuple[str, ...], out: list[str]) -> tuple[str, ...]:
        """Labels of one alternative in the form that the choice's exactness asks for."""
        if not side.names or side.exact is Exact.NO or exact is Exact.YES:
            return side.names
        if exact is Exact.NO:
            return self._book.clean_part(side, out)
        first = self._book.with_exact(side, out) if side.exact is Exact.YES else side.names[0]
        if control:  # selected by a value, a register is no plain copy any more
            joined = reduce(lambda a, b: self._patch.compute(out, "or", a, b), control)
            free = self._patch.compute(out, "icmp eq", joined, "0")
            first = self._book.chosen(free, first, self._book.without_exact(first, out), out)
        return (first, *side.names[1:])

    def control(self, names: Sequence[str], block: str, out: list[str]) -> tuple[str, ...]:
        """Labels of all registers ``names`` in the role of selecting, each once."""
        labels = dict.fromkeys(label for name in names for label in self._book.clean(name, block, out))
        return tuple(self._book.control(label, out) for label in labels)

    def edge_control(self, block: str, predecessor: str) -> tuple[str, ...]:
        """Labels of the conditions that select the edge ``predecessor -> block``."""
        conditions = self._values.edge_conditions(block, predecessor)
        return self.control(conditions, predecessor, self._book.edge(predecessor))


def _meet(sides: Sequence[Labels], carrying: Sequence[bool], controlled: bool) -> tuple[Exact, int]:
    """Exactness and bytes of a register that takes one of several operands."""
    kinds = {s.exact if c else Exact.NO for s, c in zip(sides, carrying, strict=True)}
    if kinds == {Exact.NO}:
        return Exact.NO, 4
    sizes = {s.size for s in sides}
    if kinds == {Exact.YES} and not controlled and len(sizes) == 1 and all(len(s.names) == 1 for s in sides):
        return Exact.YES, sizes.pop()
    return Exact.DYNAMIC, 4


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
        while fresh := [n for n, kind in kinds.items() if kind is Exact.NO and self._can_be_copy(n, kinds)]:
            kinds.update(dict.fromkeys(fresh, Exact.DYNAMIC))
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
