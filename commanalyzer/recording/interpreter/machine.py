"""The interpreter proper: frames, control transfer, memory instructions and calls.

The machine executes one instruction after the other; a frame is an activation of a function. Everything
that computes without side effects is in :mod:`.arithmetic`, label rules of memory in :mod:`.memory`,
external functions in :mod:`.external`. For reductions that select, see
:mod:`commanalyzer.program.ir.loops.selections`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set

from commanalyzer.foundation.errors import TargetRunError, UnsupportedIrError
from commanalyzer.foundation.flows import SourceRole
from commanalyzer.program.ir.allocators import Allocators, call_key, joined_key
from commanalyzer.program.ir.constants import signed
from commanalyzer.program.ir.libcalls import LibraryModel, default_library
from commanalyzer.program.ir.loops.combinations import ExtremumStore
from commanalyzer.program.ir.model import DESCRIPTOR, Instruction, IrType, Module, Operand
from commanalyzer.program.ir.types import alloc_size_bytes, size_bytes
from commanalyzer.recording.interpreter.activation import (
    Counts,
    Frame,
    FunctionPlan,
    Observer,
    Recorder,
    plan_function,
)
from commanalyzer.recording.interpreter.instructions.arithmetic import (
    FUNCTIONS,
    OPERATIONS,
    all_labels,
    binary,
    compute,
    flops,
    select_role,
    without_address_labels,
)
from commanalyzer.recording.interpreter.libc.external import Externals
from commanalyzer.recording.interpreter.memory import Image, Memory, Shadow
from commanalyzer.recording.interpreter.values import (
    EXIT_HOME,
    NO_LABELS,
    Data,
    Home,
    Labels,
    Value,
    as_float,
    as_int,
    decode,
    encode,
    union,
    with_role,
)


class Paths:
    """Paths of one program; ``current`` is that of the last call that may lead to where blocks come from."""

    def __init__(self, module: Module, library: LibraryModel) -> None:
        self._allocators = Allocators(module, library)
        self.current = ""

    def note(self, frame: Frame, call: Instruction) -> None:
        """A function of the program is about to be called."""
        if self._allocators.enters(call):
            is_longer = self._allocators.lengthens(frame.plan.function.name, call)
            self.current = self.path(frame, call) if is_longer else frame.path

    def path(self, frame: Frame, call: Instruction) -> str:
        """Path that ends with ``call``."""
        function = frame.plan.function.name
        own = call_key(function, call)
        is_nested = frame.path and self._allocators.hands_out(function)
        return joined_key(frame.path, own) if is_nested else own


def modify(operation: str, type_: IrType, old: Data, operand: Data) -> Data:
    """Return the new value of ``atomicrmw``."""
    if operation in ("add", "sub", "and", "or", "xor", "fadd", "fsub"):
        return binary(operation, type_, old, operand)
    if operation == "nand":
        return as_int(binary("and", type_, old, operand)) ^ ((1 << type_.bits) - 1)
    if operation in ("fmin", "fmax"):
        return FUNCTIONS[operation](as_float(old), as_float(operand))
    choose = max if operation in ("max", "umax") else min
    x, y = as_int(old), as_int(operand)
    if operation in ("max", "min"):
        x, y = signed(x, type_.bits), signed(y, type_.bits)
    return choose(x, y) & ((1 << type_.bits) - 1)


_MAX_MEMORY_BYTES = 1 << 28


class Machine:
    """Executes a module; more instructions or bytes of memory than the limits are refused.

    Args:
        control_flows: Conditions that select values are sources with role CONTROL.
        recorder: Records the slices of stores, if given.
        workspace: Homes of the words of workspaces.
        register_homes: Names of registers that are values with a version per assignment, as in memory, by the
            object that each of them is: ``@function/%object``.
        observer: Is told what happens, if given.
        word_bytes: Bytes of memory that have one home.
    """

    def __init__(
        self,
        module: Module,
        *,
        stdin: bytes = b"",
        control_flows: bool = True,
        max_instructions: int = 50_000_000,
        recorder: Recorder | None = None,
        workspace: Set[Home] = frozenset(),
        register_homes: Mapping[str, str] | None = None,
        observer: Observer | None = None,
        word_bytes: int = 4,
    ) -> None:
        self.memory = Memory(_MAX_MEMORY_BYTES, word_bytes)
        self.shadow = Shadow(self.memory, workspace)
        self.image = Image(module, self.memory)
        self.counts = Counts()
        model = default_library()
        self._observer = self.memory.observer = observer or Observer()  # after the image
        self.externals = Externals(self.shadow, self._site, self.run_address, stdin, model, self._observer)
        self._paths = Paths(module, model)
        self.frames: list[Frame] = []
        self._control_flows = control_flows
        self._register_homes = {(o.partition("/")[0], name): o for o, name in (register_homes or {}).items()}
        self._max_instructions = max_instructions
        self._recorder = recorder
        self._functions = {function.name: function for function in module.functions}
        self._plans: dict[str, FunctionPlan] = {}
        self._live: dict[str, int] = {}
        self._result = Value(0)

    def run(self, name: str, arguments: Sequence[Value]) -> Value:
        """Execute a defined function to its end and return its result."""
        base = len(self.frames)
        self.enter(name, arguments, is_root=True)
        while len(self.frames) > base:
            self._step(self.frames[-1])
        return self._result

    def enter(self, name: str, arguments: Sequence[Value], *, is_root: bool = False) -> None:
        """Start an activation of a defined function; a root does not return into the frame below."""
        if name not in self._plans:
            self._plans[name] = plan_function(self._functions[name])
        plan = self._plans[name]
        depth = self._live.get(name, 0)
        self._live[name] = depth + 1
        code = plan.blocks[plan.entry]
        path = self._paths.current
        frame = Frame(plan, depth, self.memory.stack_height, {}, code, plan.entry, is_root, path)
        parameters = zip(plan.function.parameters, plan.function.parameter_flags, arguments, strict=False)
        for parameter, flags, argument in parameters:
            if "byval" in flags:
                argument = self._byval_copy(frame, parameter, flags, argument)
            frame.registers[parameter.text] = argument
        self.frames.append(frame)
        self._observer.entered(frame)

    def run_address(self, address: int, arguments: Sequence[Value]) -> Value:
        """Execute the function at ``address`` if the module defines it, and return its result."""
        name = self.image.function_at(address)
        return self.run(name, arguments) if name in self._functions else Value(0)

    def is_defined(self, name: str) -> bool:
        """The module defines the function."""
        return name in self._functions

    def value(self, operand: Operand) -> Value:
        """Return a register of the current frame, or a constant."""
        if operand.text[0] == "%":
            try:
                return self.frames[-1].registers[operand.text]
            except KeyError:
                raise TargetRunError(f"expected a value in {operand.text}, found none") from None
        return self.image.constant(operand)

    def _byval_copy(self, frame: Frame, parameter: Operand, flags: frozenset[str], argument: Value) -> Value:
        printed = next(flag for flag in flags if flag.startswith("byval("))
        size = alloc_size_bytes(self.image.type_of(printed[len("byval(") : -1]))
        source = as_int(argument.data)
        name = f"{frame.plan.function.name}/{parameter.text}"
        copy = self.memory.push_local(name, frame.depth, size)
        copy.data[:] = self.memory.read(source, size)
        self.shadow.replicate_words(copy.base, source, size)
        return Value(copy.base)

    def _step(self, frame: Frame) -> None:
        instruction = frame.code[frame.index]
        counts = self.counts
        counts.instructions += 1
        if counts.instructions > self._max_instructions:
            raise TargetRunError(
                f"expected at most {self._max_instructions} instructions, the program executes more",
                hint="choose a smaller input, raise the limit, or run natively",
            )
        opcode = instruction.opcode
        if opcode in OPERATIONS or opcode == "select":
            counts.flops += flops(instruction)
            values = [self.value(operand) for operand in instruction.operands]
            result = compute(instruction, values, control_flows=self._control_flows)
            if opcode == "select":
                taken = instruction.operands[1 if values[0].data else 2]
                result = self._chosen(frame, instruction, taken, result, values[0].labels)
            self.finish(frame, instruction, result, values)
            return
        handler = _HANDLERS.get(opcode)
        if handler is None:
            raise UnsupportedIrError(
                f"expected an instruction that can be interpreted, found '{opcode}'",
                where=f"{frame.plan.function.name}, line {instruction.first_line + 1}",
            )
        handler(self, frame, instruction)

    def finish(
        self, frame: Frame, instruction: Instruction, result: Value, values: Sequence[Value] = ()
    ) -> None:
        """Assign the result of ``instruction`` and go on behind it."""
        if instruction.name:
            if self._recorder is not None:
                result = self._recorder.computed(frame.plan.function.name, instruction, result, values)
            frame.registers[instruction.name] = self._kept(frame, instruction.name, result)
        if instruction.opcode == "invoke":
            self._jump(frame, instruction.targets[0])
        else:
            frame.index += 1

    def _jump(self, frame: Frame, target: str) -> None:
        """Go to a block and evaluate its phis, all of them before any is assigned."""
        previous, frame.label = frame.label, target
        self._observer.jumped(frame, previous, target)
        frame.code = frame.plan.blocks[target]
        frame.index = 0
        conditions = NO_LABELS
        if self._control_flows:
            for operand in frame.plan.selectors.get((target, previous), ()):
                conditions = union(conditions, self.value(operand).labels)
        results: list[tuple[str, Value]] = []
        for instruction in frame.code:
            if instruction.opcode != "phi":
                break
            operand = instruction.operands[instruction.incoming.index(previous)]
            value = without_address_labels(instruction.type, select_role(self.value(operand), conditions))
            value = self._chosen(frame, instruction, operand, value, conditions, previous)
            results.append((instruction.name, self._kept(frame, instruction.name, value)))
        frame.registers.update(results)
        frame.index = len(results)
        self.counts.instructions += len(results)
        if target in frame.plan.instead:
            self._keep_extremum(frame.plan.instead[target])

    def _kept(self, frame: Frame, name: str, value: Value) -> Value:
        """The value of a register, which is a new version of a home if the register has one."""
        item = self._register_homes and self._register_homes.get((frame.plan.function.name, name))
        if not item:
            return value
        home = Home("stack", item, frame.depth, 0)
        self.shadow.finish(home, value.labels)
        return value._replace(labels={home: SourceRole.DATA}, exact=None)

    def _keep_extremum(self, found: ExtremumStore) -> None:
        """The value in memory was compared with another and kept: a version that depends on both."""
        address = as_int(self.value(found.pointer).data)
        type_ = found.value.type
        labels = union(self.shadow.load(type_, address)[0], self.value(found.value).labels)
        self.shadow.store(type_, address, Value(0, labels))

    def _chosen(
        self,
        frame: Frame,
        instruction: Instruction,
        taken: Operand,
        value: Value,
        conditions: Labels,
        previous: str = "",
    ) -> Value:
        """Return a chosen ``value`` with the labels that it has by what it does in its loop.

        What a selecting reduction keeps depends on everything compared and taken since the loop began; one of
        its members that begins anew, on all initial values.
        """
        name, plan = instruction.name, frame.plan
        combination = plan.combined.get(name)
        if combination is not None and instruction.type.kind in ("int", "float"):
            both = all_labels([self.value(operand) for operand in combination.operands])
            value, conditions = value._replace(labels=both, exact=None), NO_LABELS
        selection = plan.kept.get(name) or plan.kept.get(taken.text)
        if selection is None or not self._control_flows:
            return value
        key, is_choice = min(selection.members), name in selection.choices
        labels = frame.selected.get(key, NO_LABELS)
        fresh = value.labels if combination is not None else self.value(taken).labels
        begins_anew = name in selection.members and not is_choice
        if begins_anew:
            fresh = all_labels([self.value(o) for p, o in selection.initial if p == previous])
        if is_choice:
            labels = union(labels, with_role(conditions, SourceRole.CONTROL))
        if taken.text not in selection.members or (combination is not None and not begins_anew):
            labels = union(labels, fresh) if is_choice else fresh
        frame.selected[key] = labels
        return value._replace(labels=labels, exact=None)

    def _branch(self, frame: Frame, instruction: Instruction) -> None:
        is_first = len(instruction.targets) == 1 or self.value(instruction.operands[0]).data
        self._jump(frame, instruction.targets[0 if is_first else 1])

    def _switch(self, frame: Frame, instruction: Instruction) -> None:
        operand = instruction.operands[0]
        bits = operand.type.bits
        found = signed(as_int(self.value(operand).data), bits)
        for case, target in zip(instruction.indices, instruction.targets[1:], strict=True):
            if signed(case & ((1 << bits) - 1), bits) == found:
                self._jump(frame, target)
                return
        self._jump(frame, instruction.targets[0])

    def _return(self, frame: Frame, instruction: Instruction) -> None:
        function = frame.plan.function
        result = self.value(instruction.operands[0]) if instruction.operands else Value(0)
        self._observer.left(frame)
        self.frames.pop()
        self._live[function.name] -= 1
        self.memory.pop_locals(frame.stack_height)
        self._result = result
        if frame.is_root:
            is_exit = function.name == "@main" and function.return_type.kind == "int"
            if is_exit and result.labels:
                self.shadow.finish(EXIT_HOME, result.labels)
            return
        caller = self.frames[-1]
        call = caller.code[caller.index]
        if call.name:
            caller.registers[call.name] = without_address_labels(call.type, result)
        if call.opcode == "invoke":
            self._jump(caller, call.targets[0])
        else:
            caller.index += 1

    def _unreachable(self, frame: Frame, instruction: Instruction) -> None:
        raise TargetRunError(
            "expected the program to stop before 'unreachable'",
            where=f"{frame.plan.function.name}, line {instruction.first_line + 1}",
            hint="the program has undefined behaviour, or a function that should not return did",
        )

    def _alloca(self, frame: Frame, instruction: Instruction) -> None:
        assert instruction.element_type is not None
        count = as_int(self.value(instruction.operands[0]).data) if instruction.operands else 1
        size = max(count * alloc_size_bytes(instruction.element_type), 1)
        name = f"{frame.plan.function.name}/{instruction.name}"
        segment = self.memory.push_local(name, frame.depth, size)
        self.finish(frame, instruction, Value(segment.base))

    def load(self, type_: IrType, address: int) -> Value:
        """Return what a load of ``type_`` reads."""
        data = decode(type_, self.memory.read(address, size_bytes(type_)))
        labels, exact = self.shadow.load(type_, address)
        return Value(data, labels, exact)

    def _load(self, frame: Frame, instruction: Instruction) -> None:
        self.counts.loads += 1
        address = as_int(self.value(instruction.operands[0]).data)
        loaded = self.load(instruction.type, address)
        if DESCRIPTOR in instruction.flags:
            loaded = loaded._replace(labels=NO_LABELS, exact=None)
        self.finish(frame, instruction, loaded)

    def _store(self, frame: Frame, instruction: Instruction) -> None:
        self.counts.stores += 1
        value = self.value(instruction.operands[0])
        type_ = instruction.operands[0].type
        address = as_int(self.value(instruction.operands[1]).data)
        self.memory.write(address, encode(type_, value.data))
        if DESCRIPTOR in instruction.flags:
            self.memory.own(address, size_bytes(type_))
            frame.index += 1
            return
        for operand in frame.plan.count_indices.get(instruction.first_line, ()):
            indices = with_role(self.value(operand).labels, SourceRole.ADDRESS)
            value = value._replace(labels=union(value.labels, indices))
        if instruction.first_line in frame.plan.extremum_stores:
            own = self.shadow.load(type_, address)[0]
            value = value._replace(labels=union(own, value.labels), exact=None)
        home = self.memory.own_home(address)
        chain = self.shadow.store(type_, address, value)
        if self._recorder is not None:
            self._recorder.stored(frame.plan.function.name, instruction, value, home, chain)
        frame.index += 1

    def _atomicrmw(self, frame: Frame, instruction: Instruction) -> None:
        type_ = instruction.type
        address = as_int(self.value(instruction.operands[0]).data)
        operand = self.value(instruction.operands[1])
        old = self.load(type_, address)
        if instruction.predicate == "xchg":
            new = operand
        else:
            data = modify(instruction.predicate, type_, old.data, operand.data)
            new = Value(data, union(old.labels, operand.labels))
        self.memory.write(address, encode(type_, new.data))
        self.shadow.store(type_, address, new)
        self.finish(frame, instruction, old, [old])

    def _cmpxchg(self, frame: Frame, instruction: Instruction) -> None:
        pointer, expected, new = (self.value(operand) for operand in instruction.operands)
        type_ = instruction.operands[1].type
        address = as_int(pointer.data)
        old = self.load(type_, address)
        is_equal = old.data == expected.data
        if is_equal:
            self.memory.write(address, encode(type_, new.data))
            self.shadow.store(type_, address, new)
        labels = union(old.labels, expected.labels)
        self.finish(frame, instruction, Value((old.data, int(is_equal)), labels), [old, expected])

    def _call(self, frame: Frame, instruction: Instruction) -> None:
        if instruction.callee == "asm":
            self._assembly(frame, instruction)
            return
        name = self.image.function_name(instruction.callee, lambda text: as_int(frame.registers[text].data))
        # Metadata arguments (llvm.experimental.*) have no value.
        values = [self.value(o) for o in instruction.operands if o.type.kind != "metadata"]
        if name in self._functions:
            self._paths.note(frame, instruction)
            self.enter(name, values)
            return
        result = self.externals.call(name.removeprefix("@"), instruction, values)
        result = without_address_labels(instruction.type, result)
        self.finish(frame, instruction, result, values)

    def _assembly(self, frame: Frame, instruction: Instruction) -> None:
        """Accept compiler barriers (an empty template) only."""
        line = self.image.module.lines[instruction.first_line]
        if instruction.type.kind != "void" or ' "",' not in line:
            raise UnsupportedIrError(
                f"expected no inline assembly, found {line.strip()[:120]}",
                where=f"line {instruction.first_line + 1}",
            )
        frame.index += 1

    def _fence(self, frame: Frame, instruction: Instruction) -> None:
        frame.index += 1

    def _site(self) -> str:
        """Path of the call that is executed, an allocation."""
        frame = self.frames[-1]
        return self._paths.path(frame, frame.code[frame.index])


_HANDLERS: Mapping[str, Callable[[Machine, Frame, Instruction], None]] = {
    "br": Machine._branch,
    "switch": Machine._switch,
    "ret": Machine._return,
    "unreachable": Machine._unreachable,
    "alloca": Machine._alloca,
    "load": Machine._load,
    "store": Machine._store,
    "atomicrmw": Machine._atomicrmw,
    "cmpxchg": Machine._cmpxchg,
    "call": Machine._call,
    "invoke": Machine._call,
    "fence": Machine._fence,
}
