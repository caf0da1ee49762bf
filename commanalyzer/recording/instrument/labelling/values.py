"""Which registers carry which labels: the data-flow view of one function that planning works on.

Input: a parsed function and its control flow. Output: :class:`FunctionValues`, pure facts without any hook.

A register *carries* labels when a value from memory (or from a caller) can reach it along data edges: thin
slices (paper Section 4.1, Figure 5), so addresses and pointers carry none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

from commanalyzer.foundation.flows import Fold
from commanalyzer.program.ir.cfg import ControlFlow, control_flow, reached
from commanalyzer.program.ir.libcalls import CallKind, LibraryCall, LibraryModel, default_library
from commanalyzer.program.ir.loops.selections import Selections, selections
from commanalyzer.program.ir.model import DESCRIPTOR, Function, Instruction, IrType, Module, Operand
from commanalyzer.program.ir.types import Cursor, TypeReader, alloc_size_bytes, field_offset_bytes, size_bytes
from commanalyzer.recording import abi


class Flow(Enum):
    """How a register gets its labels."""

    NONE = "none"
    SOURCE = "source"  # reads memory or comes through a call: has labels of its own
    UNION = "union"  # computed from its operands
    COPY = "copy"  # the same number in another type or register
    SELECT = "select"
    PHI = "phi"


_COPIES = frozenset({"bitcast", "freeze", "sext", "zext", "fpext", "sitofp", "uitofp"})
_NO_LABELS = frozenset(
    {"getelementptr", "ptrtoint", "inttoptr", "alloca", "landingpad", "va_arg", "catchpad"}
)
_FLOWS = {"load": Flow.SOURCE, "atomicrmw": Flow.SOURCE, "cmpxchg": Flow.SOURCE, "phi": Flow.PHI}
_CALLS = frozenset({"call", "invoke"})
ROTATIONS = frozenset({"@llvm.fshl.i64", "@llvm.fshr.i64"})
MASKED_STORES = ("@llvm.masked.store.", "@llvm.masked.scatter.")
MASKED_LOADS = ("@llvm.masked.load.", "@llvm.masked.gather.")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a register is defined or used; ``index`` is the position of the instruction in its block."""

    instruction: Instruction
    block: str
    index: int


@dataclass(frozen=True, slots=True)
class CallFacts:
    """What calls need to know about the functions of the module."""

    defined: frozenset[str]  # functions with bodies: their calls pass labels
    # per function, parameters that are structures passed by value (``byval``) with their bytes
    copied: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    # per function, 64-bit parameters of which both words are used
    split: Mapping[str, frozenset[int]] = field(default_factory=dict)
    library: LibraryModel = field(default_factory=default_library)

    def is_copied(self, callee: str, index: int, type_: IrType) -> bool:
        """The argument is (through a function pointer: may be) a structure passed by value."""
        if type_.kind != "ptr":
            return False
        if callee in self.defined:
            return index in self.copied.get(callee, {})
        return any(index in parameters for parameters in self.copied.values())

    def passes_labels(self, instruction: Instruction) -> bool:
        """The callee is (or may be) instrumented code."""
        return instruction.callee in self.defined or instruction.callee.startswith("%")

    def effect(self, instruction: Instruction) -> LibraryCall | None:
        """Effect of a call of library code, ``None`` for others, unknown ones, and calls that do not fit."""
        if self.passes_labels(instruction) or not instruction.callee.startswith("@"):
            return None
        return self.library.fitting(instruction.callee[1:], len(instruction.operands))


def call_facts(module: Module, library: LibraryModel) -> CallFacts:
    """Collect what calls need to know about ``module``."""
    types = TypeReader(named=module.named_types)
    copied: dict[str, dict[int, int]] = {}
    for function in module.functions:
        for index, flags in enumerate(function.parameter_flags[: abi.MAX_CALL_ARGUMENTS]):
            for flag in flags:
                if flag.startswith("byval("):
                    type_ = types.read(Cursor(flag[len("byval(") : -1], 0))
                    copied.setdefault(function.name, {})[index] = alloc_size_bytes(type_)
    split = {f.name: _split_parameters(f) for f in module.functions}
    return CallFacts(frozenset(f.name for f in module.functions), copied, split, library)


def splits_words(user: Instruction) -> bool:
    """The instruction takes the halves of a 64-bit integer apart."""
    if user.opcode in ("lshr", "ashr"):
        return user.operands[1].text == "32"
    if user.opcode == "bitcast":
        return user.type.kind == "vector"
    if user.callee in ROTATIONS:
        return user.operands[2].text == "32"
    return user.opcode == "and" and user.operands[1].text == str(-(1 << 32))


def _split_parameters(function: Function) -> frozenset[int]:
    wide = {p.text: i for i, p in enumerate(function.parameters) if p.type.text == "i64"}
    return frozenset(
        wide[operand.text]
        for instruction in function.instructions
        for operand in instruction.operands
        if operand.text in wide and (splits_words(instruction) or instruction.opcode == "store")
    )


def holds_value(type_: IrType) -> bool:
    """Registers of this type can hold program values (pointers and empty types cannot)."""
    if type_.kind in ("int", "float"):
        return True
    if type_.kind in ("vector", "array", "struct"):
        return any(holds_value(element) for element in type_.elements)
    return False


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


def value_width(type_: IrType, word_bytes: int) -> int:
    """Width in bytes of a value of scalar ``type_``: whole words, 16 for ``long double``."""
    return 16 if type_.text == "x86_fp80" else max(1, -(-size_bytes(type_) // word_bytes)) * word_bytes


def flow_of(instruction: Instruction, calls: CallFacts) -> Flow:
    """How the result of ``instruction`` gets its labels."""
    opcode = instruction.opcode
    if not instruction.name or not holds_value(instruction.type) or opcode in _NO_LABELS:
        return Flow.NONE
    if DESCRIPTOR in instruction.flags:
        return Flow.NONE
    if opcode in _FLOWS:
        return _FLOWS[opcode]
    if opcode == "select":
        scalar = instruction.operands[0].type.kind == "int"
        return Flow.SELECT if scalar else Flow.UNION
    if opcode in _COPIES:
        return Flow.COPY if instruction.type.kind in ("int", "float") else Flow.UNION
    if opcode in _CALLS:
        return _flow_of_call(instruction, calls)
    return Flow.UNION


def _flow_of_call(instruction: Instruction, calls: CallFacts) -> Flow:
    if calls.passes_labels(instruction) or instruction.callee.startswith(MASKED_LOADS):
        return Flow.SOURCE
    known = calls.effect(instruction)
    # an unknown function is taken as pure in its scalar arguments; it is counted and reported
    if known is None:
        return Flow.UNION
    if known.reads_memory:
        return Flow.SOURCE
    return Flow.UNION if known.kind is CallKind.PURE else Flow.NONE


def source_arguments(instruction: Instruction, known: LibraryCall) -> tuple[Operand, ...]:
    """Scalar arguments of a library call that are sources of what it makes."""
    return tuple(o for i, o in enumerate(instruction.operands) if known.is_source(i) and holds_value(o.type))


@dataclass(frozen=True, slots=True)
class FunctionValues:
    """Data-flow facts of one function."""

    function: Function
    cfg: ControlFlow
    definitions: Mapping[str, Place]  # instruction results by register
    parameters: Mapping[str, int]  # position of each parameter register that can hold a value
    uses: Mapping[str, tuple[Place, ...]]
    flows: Mapping[str, Flow]  # how each register gets labels (parameters are sources)
    carrying: frozenset[str]  # registers that can carry labels
    selected: Selections  # what the function selects, and by which conditions
    control_flows: bool  # whether selecting conditions count as sources
    calls: CallFacts
    results: Mapping[str, Fold] = field(default_factory=dict)  # numbers that loops make of constants alone

    def with_results(self, results: Mapping[str, Fold]) -> FunctionValues:
        """Return these facts where some registers are values of their own, made of nothing."""
        flows = {**self.flows, **dict.fromkeys(results, Flow.SOURCE)}
        deciding = self.selected.deciding if self.control_flows else {}
        carrying = _carrying(self.definitions, self.uses, flows, deciding)
        return replace(self, flows=flows, carrying=carrying, results=results)

    def type_of(self, name: str) -> IrType:
        """Type of a register or parameter."""
        if name in self.definitions:
            return self.definitions[name].instruction.type
        return next(p.type for p in self.function.parameters if p.text == name)

    def data_operands(self, name: str) -> tuple[Operand, ...]:
        """Operands of a computed register that enter it as data: conditions of selects do not."""
        if name in self.selected.combined:
            return self.selected.combined[name].operands
        instruction = self.definitions[name].instruction
        is_choice = instruction.opcode == "select" and instruction.operands[0].type.kind == "int"
        return instruction.operands[1:] if is_choice else instruction.operands

    def data_inputs(self, name: str) -> tuple[str, ...]:
        """Carrying registers whose labels flow into ``name`` as data (alternatives for phi and select)."""
        definition = self.definitions.get(name)
        if definition is None or self.flows[name] in (Flow.SOURCE, Flow.NONE):
            return ()
        if definition.instruction.opcode in _CALLS and name not in self.selected.combined:
            known = self.calls.effect(definition.instruction)
            if known is not None:
                operands = source_arguments(definition.instruction, known)
                return self._carrying_operands(o.text for o in operands)
        return self._carrying_operands(o.text for o in self.data_operands(name))

    def control_inputs(self, name: str) -> tuple[str, ...]:
        """Carrying conditions that select which operand ``name`` takes."""
        definition = self.definitions.get(name)
        if definition is None or not self.control_flows:
            return ()
        if name in self.selected.kept:
            return self._carrying_operands(self.selected.kept[name].inputs)
        if self.flows[name] is Flow.SELECT:
            return self._carrying_operands([definition.instruction.operands[0].text])
        edges = definition.instruction.incoming if self.flows[name] is Flow.PHI else ()
        return tuple(dict.fromkeys(c for p in edges for c in self.edge_conditions(definition.block, p)))

    def edge_conditions(self, block: str, predecessor: str) -> tuple[str, ...]:
        """Carrying conditions that select the edge ``predecessor -> block``."""
        if not self.control_flows:
            return ()
        return self._carrying_operands(self.selected.deciding.get((block, predecessor), ()))

    def inputs(self, name: str) -> tuple[str, ...]:
        """All carrying registers that ``name`` depends on."""
        return tuple(dict.fromkeys(self.data_inputs(name) + self.control_inputs(name)))

    def block_of(self, name: str) -> str:
        """Block in which a register is defined (parameters: the entry)."""
        definition = self.definitions.get(name)
        return self.cfg.entry if definition is None else definition.block

    def _carrying_operands(self, names: Iterable[str]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(n for n in names if n in self.carrying))


def function_values(function: Function, calls: CallFacts, *, control_flows: bool) -> FunctionValues:
    """Data-flow facts of ``function``; with ``control_flows``, selecting conditions are sources."""
    cfg = control_flow(function)
    definitions: dict[str, Place] = {}
    uses: dict[str, list[Place]] = {}
    for block in function.blocks:
        for index, instruction in enumerate(block.instructions):
            if instruction.name:
                definitions[instruction.name] = Place(instruction, block.label, index)
            for operand in instruction.operands:
                if operand.is_local:
                    uses.setdefault(operand.text, []).append(Place(instruction, block.label, index))
    is_main = function.name == "@main"
    passed = () if is_main else function.parameters[: abi.MAX_CALL_ARGUMENTS]
    parameters = {p.text: i for i, p in enumerate(passed) if holds_value(p.type)}
    flows = {name: flow_of(d.instruction, calls) for name, d in definitions.items()}
    flows.update(dict.fromkeys(parameters, Flow.SOURCE))
    selected = selections(function, cfg)
    flows.update((name, Flow.UNION) for name in selected.combined if flows[name] is not Flow.NONE)
    deciding = selected.deciding if control_flows else {}
    used = {name: tuple(found) for name, found in uses.items()}
    carrying = _carrying(definitions, uses, flows, deciding)
    known = function, cfg, definitions, parameters, used, flows, carrying
    return FunctionValues(*known, selected, control_flows, calls)


def _carrying(
    definitions: Mapping[str, Place],
    uses: Mapping[str, Sequence[Place]],
    flows: Mapping[str, Flow],
    deciding: Mapping[tuple[str, str], tuple[str, ...]],
) -> frozenset[str]:
    """Registers reachable from sources along data edges and selecting conditions."""
    selected: dict[str, list[str]] = {}
    for name, definition in definitions.items():
        if flows[name] is Flow.PHI:
            for predecessor in definition.instruction.incoming:
                for condition in deciding.get((definition.block, predecessor), ()):
                    selected.setdefault(condition, []).append(name)

    def readers(name: str) -> list[str]:
        found = [use.instruction.name for use in uses.get(name, ())] + selected.get(name, [])
        return [n for n in found if flows.get(n, Flow.NONE) not in (Flow.NONE, Flow.SOURCE)]

    return frozenset(reached((name for name, flow in flows.items() if flow is Flow.SOURCE), readers))
