"""Labels of registers while one function is planned, and what other planners may ask about them.

A register's labels name the values it was computed from. In straight-line code they are a fixed tuple of
label registers, so nothing dynamic is needed. :mod:`label_code` fills the book; stores, calls and returns
read it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from enum import Enum
from itertools import chain, zip_longest

from commanalyzer.foundation.flows import Fold
from commanalyzer.graph.value_graph import NO_LOOP, LoopPlace
from commanalyzer.program.ir.model import Instruction, IrType, Module
from commanalyzer.program.ir.names.debug_info import DebugInfo, Spot, is_library
from commanalyzer.program.ir.names.source_text import loop_function, loop_place, user_spot, value_name
from commanalyzer.recording import abi
from commanalyzer.recording.instrument.code import FunctionPatch
from commanalyzer.recording.instrument.labelling.values import Flow, FunctionValues, value_width
from commanalyzer.recording.instrument.sites import SiteRecord, SiteTable

MAX_STATIC_LABELS = 32
# by bytes of the copied value
_EXACT = {8: abi.EXACT_8 - (1 << 64), 4: abi.EXACT_4, 2: abi.EXACT_4 | abi.EXACT_SMALL, 1: abi.EXACT_SMALL}
_NOT_EXACT = ~abi.EXACT & ((1 << 64) - 1)


@dataclass(frozen=True, slots=True)
class _Form:
    """What a label register holds: the same label as the register ``base``, or a role above it, of selecting.

    ``present`` are conditions, and how they turned out, under which it holds the label; else it holds 0.
    """

    base: str
    is_control: bool = False
    present: frozenset[tuple[str, bool]] = frozenset()

    def covers(self, other: _Form) -> bool:
        """Whether this form holds the label of ``other`` whenever that does, in no weaker role."""
        return (
            self.base == other.base and self.is_control <= other.is_control and self.present <= other.present
        )


class LabelForms:
    """What label registers of a function hold, to leave out what says nothing new; others hold themselves."""

    def __init__(self) -> None:
        self._forms: dict[str, _Form] = {}

    def control(self, result: str, label: str) -> None:
        """Note that ``result`` holds ``label`` in the role of selecting."""
        form = self._form(label)
        self._forms[result] = _Form(form.base, True, form.present)

    def same(self, result: str, label: str) -> None:
        """Note that ``result`` holds ``label``, perhaps with other EXACT bits."""
        self._forms[result] = self._form(label)

    def chosen(self, result: str, condition: str, yes: str, no: str) -> None:
        """Note that ``result`` holds ``yes`` where ``condition`` holds, else ``no``."""
        if "0" in (yes, no):
            form = self._form(yes if no == "0" else no)
            present = form.present | {(condition, no == "0")}
            self._forms[result] = _Form(form.base, form.is_control, present)
            return
        a, b = self._form(yes), self._form(no)
        if a == b:
            self._forms[result] = a
        elif a.base == b.base and a.is_control == b.is_control:
            # when it holds the label is a condition of its own
            present = (a.present & b.present) | {(result, True)}
            self._forms[result] = _Form(a.base, a.is_control, present)

    def distinct(self, labels: Sequence[str], needed: str = "") -> tuple[str, ...]:
        """The labels without those that others of them cover; ``needed`` stays."""
        kept: list[str] = []
        for label in labels:
            form = self._form(label)
            if label != needed and any(self._form(k).covers(form) for k in kept):
                continue
            kept = [k for k in kept if k == needed or not form.covers(self._form(k))]
            kept.append(label)
        return tuple(kept)

    def _form(self, label: str) -> _Form:
        return self._forms.get(label, _Form(label))


class Exact(Enum):
    """Whether a register is an unchanged copy of the value that its first label names."""

    NO = "no"
    YES = "yes"
    DYNAMIC = "dynamic"  # the EXACT bits of the first label tell


@dataclass(frozen=True, slots=True)
class Labels:
    """Label registers (i64) of a register."""

    names: tuple[str, ...] = ()
    exact: Exact = Exact.NO  # whether it is an exact copy, then of a value of ``size`` bytes
    size: int = 4
    # register that was loaded, to find the label of its second word; empty if the second word belongs to the
    # same value
    high: str = ""
    # labels of the scalars inside a vector or aggregate, or of the two words of 64 bits, where they are known
    # apart; else empty. ``names`` are those of all parts.
    parts: tuple[Labels, ...] = ()


NOTHING = Labels()


class LabelBook:
    """Labels of one function's registers; code that they need goes to the patch, sites to a table."""

    def __init__(
        self, values: FunctionValues, patch: FunctionPatch, sites: SiteTable, module: Module, debug: DebugInfo
    ) -> None:
        self.values = values
        self.patch = patch
        self.site_of: dict[str, int] = {}  # register -> site that names it
        self.accumulators: list[str] = []  # storage of every accumulator of the function
        self.homes: dict[str, str] = {}  # register that has a version per round -> where it is kept
        self.sites = sites
        self.module, self.debug = module, debug
        self.variables = debug.variables_of(values.function)
        self.forms = LabelForms()  # of label registers
        self._labels: dict[str, Labels] = {}
        self.loaded_from: dict[str, str] = {}  # loaded register -> register with its address
        self.read_by_library: dict[int, str] = {}  # line of a call -> label of the memory that it reads
        self._joined: dict[str, Labels] = {}
        self._high: dict[str, str] = {}  # loaded register -> label of its second word
        self._terminators = {b.label: b.terminator for b in values.function.blocks}
        self._block_of = {i.first_line: b for b in values.function.blocks for i in b.instructions}
        self._loops: dict[str, LoopPlace] = {"": NO_LOOP}  # by header

    def __contains__(self, name: str) -> bool:
        return name in self._labels

    def __setitem__(self, name: str, labels: Labels) -> None:
        self._labels[name] = labels

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
        return self.clean_part(self.labels(name, block), out)

    def parts(self, name: str, count: int, block: str) -> tuple[Labels, ...]:
        """Labels of the ``count`` scalars inside ``name`` as read in ``block``; constants have none."""
        if name not in self.values.carrying:
            return (NOTHING,) * count
        found = self._labels.get(name, NOTHING)
        if len(found.parts) != count:
            return (self.labels(name, block),) * count
        if any(len(part.names) > 1 for part in found.parts) and self._enters_loop(name, block):
            return tuple(self._joined_part(name, k, part) for k, part in enumerate(found.parts))
        return found.parts

    def clean_part(self, part: Labels, out: list[str]) -> tuple[str, ...]:
        """Label registers of a part without EXACT bits."""
        if part.exact is not Exact.DYNAMIC:
            return part.names
        return (self.without_exact(part.names[0], out), *part.names[1:])

    def united_parts(self, parts: Sequence[Labels], out: list[str]) -> Labels:
        """Labels of what is computed from ``parts``."""
        return Labels(tuple(dict.fromkeys(label for p in parts for label in self.clean_part(p, out))))

    def passed_part(self, name: str, number: int, part: Labels, out: list[str]) -> str:
        """One label for a part that goes through a call or return; ``0`` for none."""
        if not part.names:
            return "0"
        if len(part.names) > 1:
            site = self.site(name, f"{name}.{number}.passed")
            return self.name_value(out, site, self.clean_part(part, out))
        return self.with_exact(part, out) if part.exact is Exact.YES else part.names[0]

    def _joined_part(self, name: str, number: int, part: Labels) -> Labels:
        if len(part.names) < 2:
            return part
        if (key := f"{name}\0{number}") not in self._joined:
            out = self.anchor(name)
            label = self.name_value(out, self.site(name, f"{name}.{number}"), self.clean_part(part, out))
            self._joined[key] = Labels((label,))
        return self._joined[key]

    def united(self, names: Sequence[str], block: str, out: list[str]) -> tuple[str, ...]:
        """Clean labels of all registers together, each once; named first when there are too many."""
        everything = dict.fromkeys(label for n in names for label in self.clean(n, block, out))
        if len(everything) <= MAX_STATIC_LABELS:
            return tuple(everything)
        several = {n for n in names if len(self.labels(n, block).names) > 1}
        named = (self.joined(n).names if n in several else self.clean(n, block, out) for n in names)
        return tuple(dict.fromkeys(label for labels in named for label in labels))

    def passed(self, name: str, block: str, out: list[str]) -> str:
        """One label for a call or return: exactness in its EXACT bit; ``0`` for none."""
        found = self.labels(name, block)
        return self.passed_part(name, 0, self.single(name) if len(found.names) > 1 else found, out)

    def high_label(self, loaded: str) -> str:
        """Label of the second word of a loaded register (or of its part ``register NUL number``)."""
        if loaded not in self._high:
            anchor = self.anchor(loaded.partition("\0")[0])  # right behind the load
            self._high[loaded] = self.patch.call(anchor, "ca_load_high", self.loaded_from[loaded])
        return self._high[loaded]

    def joined(self, name: str) -> Labels:
        """The register as a value of its own (one label)."""
        if name not in self._joined:
            found, out, origin = self._labels[name], self.anchor(name), self._origin(name)
            if origin != name and found.exact is Exact.NO:
                self._joined[name] = Labels(self.clean_part(self.joined(origin), out))
            elif found.exact is Exact.DYNAMIC:
                self._joined[name] = Labels((self.join(out, name, found.names),), Exact.DYNAMIC)
            else:
                self._joined[name] = Labels((self.name_value(out, self.register_site(name), found.names),))
        return self._joined[name]

    def _origin(self, name: str) -> str:
        """Register that ``name`` has all its labels from: ``-alpha`` is no value beside ``alpha``."""
        while self.values.flows[name] in (Flow.UNION, Flow.COPY):
            inputs = self.values.data_inputs(name)
            if len(inputs) != 1 or self._labels[inputs[0]].names != self._labels[name].names:
                break
            name = inputs[0]
        return name

    def name_value(self, out: list[str], site: int, labels: Sequence[str]) -> str:
        """Code that names a register value with these labels."""
        labels = self.forms.distinct(self._at_most(abi.MAX_LABELS, site, labels, out))
        return self.patch.call_with(out, "ca_register", labels, site)

    def register_site(self, name: str, fold: Fold = Fold.NONE) -> int:
        """Site of a register that becomes a value."""
        if name not in self.site_of:
            self.site_of[name] = self.site(name, name, fold)
        return self.site_of[name]

    def site(self, name: str, result: str, fold: Fold = Fold.NONE) -> int:
        """A new site called ``result`` for values of the type and source place of register ``name``."""
        definition, uses = self.values.definitions.get(name), self.values.uses.get(name, ())
        known = [at.instruction for at in (definition, *uses) if at is not None]
        origin = next((i for i in known if user_spot(self.debug, i.debug_location).place.line), None)
        held = self.variables.get(name, -1)
        held = -1 if is_library(self.debug.file_of(held)) else held
        called = self.debug.variable(held)[0] or value_name(
            self.debug, origin.debug_location if origin else -1
        )
        made = definition.instruction if definition and held < 0 else None
        if called and made and origin and self._is_repeated(made, origin):
            called = f"temporary of {called}"  # it is not what the statement changes, element for element
        kind, width = "store" if name in self.homes else "register", self.width(self.values.type_of(name))
        return self.add_site(result, kind, width, origin, fold, variable=called, held=held)

    def _is_repeated(self, made: Instruction, used: Instruction) -> bool:
        """Whether the loop that uses a register is not around where it is made."""
        inner = self.values.cfg.loops_around(self._block_of[used.first_line].label)[:1]
        return bool(inner) and self._block_of[made.first_line].label not in inner[0].blocks

    def add_site(
        self,
        result: str,
        kind: str,
        width: int,
        origin: Instruction | None,
        fold: Fold = Fold.NONE,
        self_label: int = -1,
        variable: str = "",
        held: int = -1,
    ) -> int:
        """A new site of the function, in the place and loop of ``origin``, see :class:`SiteRecord`."""
        spot, function = self._spot(origin) if origin else user_spot(self.debug, -1), self.values.function
        loop, scope = self._loop(origin) if origin else NO_LOOP, self.debug.subprogram_of_variable(held)
        source = self.debug.owner(spot.subprogram if scope < 0 else scope, function)
        known = spot.place, fold, self_label, (), variable, loop, source
        return self.sites.add_site(SiteRecord(function.name, result, kind, width, *known))

    def _spot(self, instruction: Instruction) -> Spot:
        """Its place; of one that stands for several lines, the nearest one before it in its block."""
        block, own = self._block_of[instruction.first_line].instructions, instruction.debug_location
        before = (i.debug_location for i in reversed(block) if i.first_line < instruction.first_line)
        spots = (user_spot(self.debug, at) for at in chain((own,), before) if at >= 0)
        return next((spot for spot in spots if spot.place.line), user_spot(self.debug, own))

    def _loop(self, instruction: Instruction) -> LoopPlace:
        """The innermost loop around an instruction, or that a sum behind it is the result of."""
        cfg, blocks = self.values.cfg, (self._block_of[instruction.first_line].label, *instruction.incoming)
        headers = [cfg.innermost_loop.get(block, "") for block in blocks]
        header = max(headers, key=lambda name: cfg.loops[name].depth if name else 0)
        if header not in self._loops:
            where = self.module, self.debug, self.values.function, header
            self._loops[header] = LoopPlace(loop_function(*where), *astuple(loop_place(*where)))
        return self._loops[header]

    def call_site(self, instruction: Instruction, kind: str, width: int) -> int:
        """A new site for what a library call makes."""
        result = instruction.name or f"{instruction.callee[1:]} in line {instruction.first_line}"
        return self.add_site(result, kind, width, instruction)

    def anchor(self, name: str) -> list[str]:
        """Lines right behind the definition of ``name``."""
        definition = self.values.definitions.get(name)
        if definition is None:
            return self.patch.tops.setdefault(self.values.cfg.entry, [])
        instruction = definition.instruction
        if instruction.opcode == "phi":
            return self.patch.tops.setdefault(definition.block, [])
        return self.behind(instruction)

    def behind(self, instruction: Instruction) -> list[str]:
        """Lines right behind an instruction, where it has its result."""
        if instruction.opcode == "invoke":
            return self.patch.tops.setdefault(instruction.targets[0], [])
        return self.patch.after.setdefault(instruction.last_line, [])

    def edge(self, predecessor: str) -> list[str]:
        """Lines before the terminator of ``predecessor``."""
        return self.patch.before.setdefault(self._terminators[predecessor].first_line, [])

    def single(self, name: str) -> Labels:
        """The register's only label, or the register as a value of its own."""
        found = self._labels[name]
        return self.joined(name) if len(found.names) > 1 else found

    def join(self, out: list[str], name: str, labels: Sequence[str], result: str = "") -> str:
        """Code for one label in place of several, some of which may be absent at run time."""
        site = self.register_site(name)
        labels = self._at_most(abi.MAX_LABELS, site, labels, out)
        pointer = self.patch.spill(out, labels)
        if name not in self.homes:
            return self.patch.call(out, "ca_join", site, len(labels), pointer, result=result)
        address = self.patch.address(out, self.homes[name])
        words = self.patch.words(self.width(self.values.type_of(name)))
        self.patch.call(out, "ca_row_many", site, address, words, len(labels), pointer)
        return self.patch.call(out, "ca_load", address, result=result)

    def home_sizes(self) -> dict[str, tuple[str, int]]:
        """Variable and bytes of each register of :attr:`homes` that grows, by the pointer to its memory."""
        return {
            pointer: (self.sites.sites[self.site_of[n]].variable, self.width(self.values.type_of(n)))
            for n, pointer in self.homes.items()
            if n in self.site_of
        }

    def _at_most(self, count: int, site: int, labels: Sequence[str], out: list[str]) -> tuple[str, ...]:
        """The labels, as many of them joined as it takes to have no more than ``count``."""
        rest = list(labels)
        while len(rest) > count:
            pointer = self.patch.spill(out, rest[:count])
            rest[:count] = [self.patch.call(out, "ca_join", site, count, pointer)]
        return tuple(rest)

    def with_exact(self, labels: Labels, out: list[str]) -> str:
        """The first label, marked as an exact copy of as many bytes as the value has."""
        result = self.patch.compute(out, "or", labels.names[0], _EXACT[labels.size])
        self.forms.same(result, labels.names[0])
        return result

    def without_exact(self, label: str, out: list[str]) -> str:
        """The label without its EXACT bit."""
        result = self.patch.compute(out, "and", label, _NOT_EXACT)
        self.forms.same(result, label)
        return result

    def control(self, label: str, out: list[str]) -> str:
        """The label in the role of selecting."""
        result = self.patch.call(out, "ca_control", label)
        self.forms.control(result, label)
        return result

    def chosen(self, condition: str, yes: str, no: str, out: list[str]) -> str:
        """The label ``yes`` where the condition holds, else ``no``."""
        result = self.patch.choose(out, condition, yes, no)
        self.forms.chosen(result, condition, yes, no)
        return result

    def chosen_of(
        self, condition: str, yes: Sequence[str], no: Sequence[str], out: list[str]
    ) -> tuple[str, ...]:
        """The labels ``yes`` where the condition holds, else ``no``; 0 where one side has fewer."""
        return tuple(self.chosen(condition, a, b, out) for a, b in zip_longest(yes, no, fillvalue="0"))

    def _enters_loop(self, name: str, block: str) -> bool:
        loop = self.values.cfg.loop_of(block) if block else None
        return loop is not None and self.values.block_of(name) not in loop.blocks

    def width(self, type_: IrType) -> int:
        """Bytes of a value of a type, in whole words."""
        return value_width(type_, self.patch.word_bytes) if type_.kind in ("int", "float") else 8
