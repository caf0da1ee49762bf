"""Label code: for every wanted register, the instructions that compute its labels.

Input: :class:`FunctionValues` and the classified components. Output: lines in a :class:`FunctionPatch` and, per
register, a :class:`Labels` value. In straight-line code the sources of a register are a fixed tuple of label
registers, so nothing dynamic is needed; see :mod:`recurrences` for loops.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from commanalyzer.abi import hooks
from commanalyzer.instrument.code import FunctionPatch
from commanalyzer.instrument.recurrences import Accumulator, Component
from commanalyzer.instrument.sites import DebugInfo, SiteRecord, SiteTable
from commanalyzer.instrument.values import Flow, FunctionValues
from commanalyzer.ir.model import Instruction, IrType
from commanalyzer.ir.types import field_offset_bytes, size_bytes
from commanalyzer.vcg.graph import Fold

MAX_STATIC_LABELS = 32
_NOT_EXACT = (1 << 63) - 1


class Exact(Enum):
    """Whether a register is an unchanged copy of the value that its first label names."""

    NO = "no"
    YES = "yes"
    DYNAMIC = "dynamic"  # the EXACT bit of the first label tells


@dataclass(frozen=True, slots=True)
class Labels:
    """Labels of a register.

    Attributes:
        names: Label registers (i64).
        exact: Whether it is an exact copy.
        words: Words of the copied value.
        high: Register with the address it was loaded from, to find the label of the second word; empty if
            the second word belongs to the same value.
    """

    names: tuple[str, ...] = ()
    exact: Exact = Exact.NO
    words: int = 1
    high: str = ""


NOTHING = Labels()


def scalar_leaves(type_: IrType, offset: int = 0) -> list[tuple[IrType, int]]:
    """Scalars inside ``type_`` with their byte offsets."""
    if type_.kind in ("vector", "array"):
        inner = type_.elements[0]
        step = size_bytes(inner) if type_.kind == "vector" else field_offset_bytes(type_, 1)
        return [leaf for i in range(type_.count) for leaf in scalar_leaves(inner, offset + i * step)]
    if type_.kind == "struct":
        return [
            leaf
            for i, field in enumerate(type_.elements)
            for leaf in scalar_leaves(field, offset + field_offset_bytes(type_, i))
        ]
    return [(type_, offset)]


def value_width(type_: IrType) -> int:
    """Width in bytes of a value of scalar ``type_``: whole words, 16 for ``long double``."""
    size = size_bytes(type_)
    return 16 if type_.text == "x86_fp80" else max(4, (size + 3) // 4 * 4)


class LabelPlanner:
    """Writes label code for one function into a patch.

    Args:
        values: Facts of the function.
        patch: Receives the code.
        sites: Receives sites of register values.
        debug: Source places.
    """

    def __init__(
        self, values: FunctionValues, patch: FunctionPatch, sites: SiteTable, debug: DebugInfo
    ) -> None:
        self._values = values
        self._patch = patch
        self._sites = sites
        self._debug = debug
        self._labels: dict[str, Labels] = {}
        self._joined: dict[str, Labels] = {}
        self._closed: dict[tuple[str, int], str] = {}
        self._terminators = {b.label: b.terminator for b in values.function.blocks}
        self.site_of: dict[str, int] = {}  # register -> site that names it
        self.accumulators: list[str] = []  # storage of every accumulator of the function

    # ---- what other planners ask ---------------------------------------------------------------------------

    def labels(self, name: str, block: str) -> Labels:
        """Labels of ``name`` as read in ``block``.

        A value with several sources that is read in a loop it was not computed in is named once, instead of
        passing all its sources to every iteration.
        """
        found = self._labels.get(name, NOTHING)
        if len(found.names) > 1 and self._enters_loop(name, block):
            return self.joined(name)
        return found

    def clean(self, name: str, block: str, out: list[str]) -> tuple[str, ...]:
        """Label registers of ``name`` without EXACT bits; code that is needed goes to ``out``."""
        found = self.labels(name, block)
        if found.exact is not Exact.DYNAMIC:
            return found.names
        stripped = self._patch.value(out, f"and i64 {found.names[0]}, {_NOT_EXACT}")
        return (stripped, *found.names[1:])

    def united(self, names: Sequence[str], block: str, out: list[str]) -> tuple[str, ...]:
        """Clean labels of all registers together, each once; named first when there are too many."""
        everything = dict.fromkeys(label for n in names for label in self.clean(n, block, out))
        if len(everything) <= MAX_STATIC_LABELS:
            return tuple(everything)
        several = [n for n in names if len(self.labels(n, block).names) > 1]
        everything = dict.fromkeys(
            label
            for n in names
            for label in (self.joined(n).names if n in several else self.clean(n, block, out))
        )
        return tuple(everything)

    def passed(self, name: str, block: str, out: list[str]) -> str:
        """One label for a call or return: exactness in its EXACT bit; ``0`` for none."""
        found = self.labels(name, block)
        if not found.names:
            return "0"
        if len(found.names) > 1:
            found = self.joined(name)
        if found.exact is Exact.YES:
            return self._with_exact(found, out)
        return found.names[0]

    def joined(self, name: str) -> Labels:
        """The register as a value of its own (one label)."""
        if name not in self._joined:
            found = self._labels[name]
            out = self.anchor(name)
            site = self.register_site(name)
            if found.exact is Exact.DYNAMIC:
                pointer = self._patch.spill(out, found.names)
                label = self._patch.call(out, "ca_join", site, len(found.names), pointer)
                self._joined[name] = Labels((label,), Exact.DYNAMIC, found.words)
            else:
                self._joined[name] = Labels((self.name_value(out, site, found.names),))
        return self._joined[name]

    def name_value(self, out: list[str], site: int, labels: Sequence[str]) -> str:
        """Code that names a register value with these labels."""
        count = len(labels)
        if count <= hooks.MAX_INLINE_LABELS:
            return self._patch.call(out, f"ca_register_{count}", site, *labels)
        return self._patch.call(out, "ca_register_many", site, count, self._patch.spill(out, labels))

    def register_site(self, name: str, fold: Fold = Fold.NONE) -> int:
        """Site of a register that becomes a value."""
        if name not in self.site_of:
            definition = self._values.definitions.get(name)
            location = -1 if definition is None else definition.instruction.debug_location
            type_ = self._type_of(name)
            width = value_width(type_) if type_.kind in ("int", "float") else 8
            record = SiteRecord(
                self._values.function.name, name, "register", width, self._debug.place(location), fold
            )
            self.site_of[name] = self._sites.add_site(record)
        return self.site_of[name]

    def anchor(self, name: str) -> list[str]:
        """Lines right behind the definition of ``name``."""
        definition = self._values.definitions.get(name)
        if definition is None:
            return self._patch.tops.setdefault(self._values.cfg.entry, [])
        instruction = definition.instruction
        if instruction.opcode == "phi":
            return self._patch.tops.setdefault(definition.block, [])
        if instruction.opcode == "invoke":
            return self._patch.tops.setdefault(instruction.targets[0], [])
        return self._patch.after.setdefault(instruction.last_line, [])

    def edge(self, predecessor: str) -> list[str]:
        """Lines before the terminator of ``predecessor``."""
        return self._patch.before.setdefault(self._terminators[predecessor].first_line, [])

    # ---- components ----------------------------------------------------------------------------------------

    def emit(self, components: Sequence[Component]) -> None:
        """Write the label code of all components (in their order)."""
        for component in components:
            if component.accumulator is not None:
                self._emit_accumulator(component.accumulator)
            elif component.kind == "plain":
                name = component.members[0]
                if name not in self._labels:
                    self._labels[name] = self._single(name)
            else:
                self._emit_cycle(component)

    def _single(self, name: str) -> Labels:
        flow = self._values.flows[name]
        if flow is Flow.SOURCE:
            return self._source(name)
        instruction = self._values.definitions[name].instruction
        block = self._values.block_of(name)
        if flow is Flow.UNION:
            names = [o.text for o in instruction.operands]
            return Labels(self.united(names, block, self.anchor(name)))
        if flow is Flow.COPY:
            return self.labels(instruction.operands[0].text, block)
        if flow is Flow.SELECT:
            return self._select(name, instruction, block)
        if len(self._values.cfg.predecessors[block]) == 1:
            return self.labels(instruction.operands[0].text, instruction.incoming[0])
        return self._phi(name, instruction, block)

    def _source(self, name: str) -> Labels:
        definition = self._values.definitions.get(name)
        out = self.anchor(name)
        type_ = self._type_of(name)
        words = min(2, max(1, size_bytes(type_) // 4))
        if definition is None:
            slot = self._values.parameters[name]
            pointer = f"getelementptr inbounds (i64, ptr @ca_arguments, i64 {slot})"
            label = self._patch.value(out, f"load i64, ptr {pointer}, align 8")
            return Labels((label,), Exact.DYNAMIC, words)
        instruction = definition.instruction
        if instruction.opcode in ("call", "invoke"):
            label = self._patch.value(out, "load i64, ptr @ca_result, align 8")
            return Labels((label,), Exact.DYNAMIC, words)
        if instruction.opcode == "load":
            return self._load(instruction, out)
        # atomicrmw, cmpxchg: the old value, read before the instruction replaces it
        before = self._patch.before.setdefault(instruction.first_line, [])
        address = self._patch.value(before, f"ptrtoint ptr {instruction.operands[0].text} to i64")
        return Labels((self._patch.call(before, "ca_load", address),))

    def _load(self, instruction: Instruction, out: list[str]) -> Labels:
        type_ = instruction.type
        address = self._patch.value(out, f"ptrtoint ptr {instruction.operands[0].text} to i64")
        is_scalar = type_.kind in ("int", "float")
        size = size_bytes(type_)
        if is_scalar and size in (4, 8):
            label = self._patch.call(out, "ca_load", address)
            names: tuple[str, ...] = (label,)
            if self._is_unpacked(instruction):
                names = (label, self._patch.call(out, "ca_load_high", address))
            return Labels(names, Exact.YES, size // 4, address)
        if is_scalar and (size < 4 or type_.kind == "float"):
            return Labels((self._patch.call(out, "ca_load", address),))
        offsets = range(0, size, 4) if is_scalar else [o for t, o in scalar_leaves(type_) if t.kind != "ptr"]
        names = tuple(
            self._patch.call(out, "ca_load", self._patch.value(out, f"add i64 {address}, {offset}"))
            for offset in list(offsets)[: hooks.MAX_LABELS]
        )
        return Labels(names)

    def _is_unpacked(self, instruction: Instruction) -> bool:
        """A 64-bit integer load whose halves are used separately (a pair of 4-byte values)."""
        if instruction.type.bits != 64 or instruction.type.kind != "int":
            return False
        return any(
            use.user.opcode in ("lshr", "ashr") and use.user.operands[1].text == "32"
            for use in self._values.uses.get(instruction.name, ())
        )

    def _select(self, name: str, instruction: Instruction, block: str, result: str = "") -> Labels:
        condition, yes, no = instruction.operands
        out = self.anchor(name)
        control: tuple[str, ...] = ()
        if self._values.control_flows:
            control = self._control(condition.text, block, out)
        sides = [self.labels(o.text, block) for o in (yes, no)]
        exact, words = self._meet(sides, [o.text in self._values.carrying for o in (yes, no)], bool(control))
        texts = [self._side(s, exact, control, out) for o, s in zip((yes, no), sides, strict=True)]
        width = max(len(t) for t in texts)
        chosen = []
        for k in range(width):
            a, b = (t[k] if k < len(t) else "0" for t in texts)
            chosen.append(self._patch.value(out, f"select i1 {condition.text}, i64 {a}, i64 {b}"))
        names = tuple(dict.fromkeys((*chosen, *control)))
        return self._finish_choice(name, names, exact, words, out, result)

    def _phi(self, name: str, instruction: Instruction, block: str, result: str = "") -> Labels:
        edges = list(zip(instruction.operands, instruction.incoming, strict=True))
        controls = [self._edge_control(block, p) for _, p in edges]
        sides = [self.labels(o.text, p) for o, p in edges]
        carrying = [o.text in self._values.carrying for o, _ in edges]
        exact, words = self._meet(sides, carrying, any(controls))
        texts = [
            self._side(s, exact, c, self.edge(p)) for (_, p), s, c in zip(edges, sides, controls, strict=True)
        ]
        predecessors = [p for _, p in edges]
        names = self._label_phis(block, predecessors, texts) + self._label_phis(block, predecessors, controls)
        return self._finish_choice(name, names, exact, words, self.anchor(name), result)

    def _finish_choice(
        self, name: str, names: tuple[str, ...], exact: Exact, words: int, out: list[str], result: str
    ) -> Labels:
        """Labels of a phi or select; ``result`` forces a single label of that name."""
        if not result and len(names) <= MAX_STATIC_LABELS:
            return Labels(names, exact, words)
        pointer = self._patch.spill(out, names)
        site = self.register_site(name)
        label = self._patch.call(out, "ca_join", site, len(names), pointer, result=result)
        return Labels((label,), Exact.DYNAMIC if exact is Exact.DYNAMIC else Exact.NO, words)

    def _label_phis(
        self, block: str, predecessors: Sequence[str], texts: Sequence[Sequence[str]]
    ) -> tuple[str, ...]:
        lines = self._patch.phis.setdefault(block, [])
        names = []
        for k in range(max((len(t) for t in texts), default=0)):
            incoming = ", ".join(
                f"[ {t[k] if k < len(t) else '0'}, %{p} ]" for t, p in zip(texts, predecessors, strict=True)
            )
            names.append(self._patch.value(lines, f"phi i64 {incoming}"))
        return tuple(names)

    def _meet(self, sides: Sequence[Labels], carrying: Sequence[bool], controlled: bool) -> tuple[Exact, int]:
        """Exactness of a register that takes one of several operands."""
        kinds = {s.exact if c else Exact.NO for s, c in zip(sides, carrying, strict=True)}
        words = {s.words for s, c in zip(sides, carrying, strict=True) if c and s.exact is not Exact.NO}
        if kinds == {Exact.NO} or len(words) > 1:
            return Exact.NO, 1
        if kinds == {Exact.YES} and not controlled and all(len(s.names) == 1 for s in sides):
            return Exact.YES, words.pop()
        return Exact.DYNAMIC, words.pop()

    def _side(self, side: Labels, exact: Exact, control: tuple[str, ...], out: list[str]) -> tuple[str, ...]:
        """Labels of one alternative in the form that the choice's exactness asks for."""
        if not side.names or side.exact is Exact.NO or exact is Exact.YES:
            return side.names
        if exact is Exact.NO:
            if side.exact is Exact.YES:
                return side.names
            return (self._patch.value(out, f"and i64 {side.names[0]}, {_NOT_EXACT}"), *side.names[1:])
        first = self._with_exact(side, out) if side.exact is Exact.YES else side.names[0]
        if control:  # selected by a value: no plain copy any more
            joined = control[0]
            for other in control[1:]:
                joined = self._patch.value(out, f"or i64 {joined}, {other}")
            free = self._patch.value(out, f"icmp eq i64 {joined}, 0")
            stripped = self._patch.value(out, f"and i64 {first}, {_NOT_EXACT}")
            first = self._patch.value(out, f"select i1 {free}, i64 {first}, i64 {stripped}")
        return (first, *side.names[1:])

    def _with_exact(self, side: Labels, out: list[str]) -> str:
        return self._patch.value(out, f"or i64 {side.names[0]}, {hooks.EXACT - (1 << 64)}")

    def _control(self, condition: str, block: str, out: list[str]) -> tuple[str, ...]:
        """Labels of a condition in the role of selecting."""
        return tuple(
            self._patch.call(out, "ca_control", label) for label in self.clean(condition, block, out)
        )

    def _edge_control(self, block: str, predecessor: str) -> tuple[str, ...]:
        conditions = self._values.edge_conditions(block, predecessor)
        out = self.edge(predecessor)
        return tuple(label for c in conditions for label in self._control(c, predecessor, out))

    def _enters_loop(self, name: str, block: str) -> bool:
        loop = self._values.cfg.loop_of(block) if block else None
        return loop is not None and self._values.block_of(name) not in loop.blocks

    def _type_of(self, name: str) -> IrType:
        definition = self._values.definitions.get(name)
        if definition is not None:
            return definition.instruction.type
        return self._values.function.parameters[self._values.parameters[name]].type

    # ---- loops ---------------------------------------------------------------------------------------------

    def _emit_cycle(self, component: Component) -> None:
        """Rotating or chained registers: one label register each, named before they are written."""
        inside = set(component.members)
        exact = self._cycle_exactness(component, inside)
        names = {name: self._patch.fresh() for name in component.members}
        for name in component.members:
            self._labels[name] = Labels((names[name],), *exact[name])
        for name in component.members:
            self._emit_member(name, names[name], exact[name][0])

    def _cycle_exactness(self, component: Component, inside: set[str]) -> dict[str, tuple[Exact, int]]:
        """Fixed point over the component: which members can be copies, which cannot."""
        kinds: dict[str, set[Exact]] = {name: set() for name in component.members}
        words: set[int] = set()
        changed = True
        while changed:
            changed = False
            for name in component.members:
                before = len(kinds[name])
                kinds[name] |= self._member_kinds(name, inside, kinds, words)
                changed |= len(kinds[name]) != before
        if len(words) > 1:
            return dict.fromkeys(component.members, (Exact.NO, 1))
        width = words.pop() if words else 1
        return {
            name: (Exact.DYNAMIC if found - {Exact.NO} else Exact.NO, width) for name, found in kinds.items()
        }

    def _member_kinds(
        self, name: str, inside: set[str], kinds: dict[str, set[Exact]], words: set[int]
    ) -> set[Exact]:
        if self._values.flows[name] is Flow.UNION:
            return {Exact.NO}
        result: set[Exact] = set()
        instruction = self._values.definitions[name].instruction
        operands = instruction.operands[1:] if instruction.opcode == "select" else instruction.operands
        for operand in operands:
            if operand.text in inside:
                result |= kinds[operand.text]
            elif operand.text in self._values.carrying:
                side = self._single_label(operand.text)
                result.add(side.exact)
                if side.exact is not Exact.NO:
                    words.add(side.words)
            else:
                result.add(Exact.NO)
        return result

    def _single_label(self, name: str) -> Labels:
        found = self._labels[name]
        return self.joined(name) if len(found.names) > 1 else found

    def _emit_member(self, name: str, result: str, exact: Exact) -> None:
        instruction = self._values.definitions[name].instruction
        block = self._values.block_of(name)
        flow = self._values.flows[name]
        out = self.anchor(name)
        if flow is Flow.UNION:
            labels = self.united([o.text for o in instruction.operands], block, out)
            if len(labels) == 1:
                self._patch.value(out, f"add i64 {labels[0]}, 0", result=result)
            else:
                pointer = self._patch.spill(out, labels)
                self._patch.call(
                    out, "ca_join", self.register_site(name), len(labels), pointer, result=result
                )
        elif flow is Flow.COPY:
            source = self._labels[instruction.operands[0].text].names[0]
            self._patch.value(out, f"add i64 {source}, 0", result=result)
        elif flow is Flow.SELECT:
            self._chosen_member(name, self._select(name, instruction, block, result), result)
        elif self._values.control_inputs(name):
            self._chosen_member(name, self._phi(name, instruction, block, result), result)
        else:
            self._plain_phi(instruction, block, result, exact)

    def _chosen_member(self, name: str, found: Labels, result: str) -> None:
        assert found.names == (result,), f"{name}: {found.names} is not {result}"

    def _plain_phi(self, instruction: Instruction, block: str, result: str, exact: Exact) -> None:
        parts = []
        for operand, predecessor in zip(instruction.operands, instruction.incoming, strict=True):
            text = "0"
            if operand.text in self._values.carrying:
                side = self._single_label(operand.text)
                text = self._side(side, exact, (), self.edge(predecessor))[0]
            parts.append(f"[ {text}, %{predecessor} ]")
        lines = self._patch.phis.setdefault(block, [])
        lines.append(f"  {result} = phi i64 {', '.join(parts)}")

    def _emit_accumulator(self, accumulator: Accumulator) -> None:
        number = len(self.accumulators)
        storage = f"%ca.accumulator.{number}"
        self.accumulators.append(storage)
        self._patch.entry += [
            f"  {storage} = alloca [{hooks.ACCUMULATOR_BYTES} x i8], align 16",
            f"  store <8 x i64> zeroinitializer, ptr {storage}, align 16",
        ]
        for predecessor, operand in accumulator.resets:
            out = self.edge(predecessor)
            labels = self.clean(operand, predecessor, out)[: hooks.MAX_INITIAL_LABELS]
            pointer = self._patch.spill(out, labels) if labels else "null"
            self._patch.call(out, "ca_accumulator_reset", storage, len(labels), pointer)
        for name in accumulator.updates:
            self._emit_term(accumulator, name, storage)
        for phi in accumulator.exits:
            block = self._values.block_of(phi)
            if (block, number) not in self._closed:
                site = self.register_site(phi, accumulator.fold)
                out = self._patch.tops.setdefault(block, [])
                self._closed[block, number] = self._patch.call(out, "ca_accumulator_close", storage, site)
            self._labels[phi] = Labels((self._closed[block, number],))

    def _emit_term(self, accumulator: Accumulator, name: str, storage: str) -> None:
        instruction = self._values.definitions[name].instruction
        block = self._values.block_of(name)
        others = [o.text for o in instruction.operands if o.text not in accumulator.members]
        out = self.anchor(name)
        labels = self.united(others, block, out)
        if not labels:
            return
        if len(labels) > hooks.MAX_TERM_LABELS:
            record = SiteRecord(
                self._values.function.name,
                f"{name}.term",
                "register",
                value_width(instruction.type),
                self._debug.place(instruction.debug_location),
            )
            labels = (self.name_value(out, self._sites.add_site(record), labels),)
        if len(labels) <= hooks.MAX_INLINE_TERM_LABELS:
            self._patch.call(out, f"ca_term_{len(labels)}", storage, *labels)
        else:
            self._patch.call(out, "ca_term_many", storage, len(labels), self._patch.spill(out, labels))
