"""The loaded program: addresses of globals and functions, initial contents, constants."""

from __future__ import annotations

from collections.abc import Callable

from commanalyzer.foundation.errors import TargetRunError
from commanalyzer.program.ir.constants import ConstantReader
from commanalyzer.program.ir.model import GlobalVariable, IrType, Module, Operand
from commanalyzer.program.ir.parsing.lexer import Cursor
from commanalyzer.program.ir.types import TypeReader, alloc_size_bytes
from commanalyzer.recording.interpreter.instructions.codec import decode
from commanalyzer.recording.interpreter.memory import Memory
from commanalyzer.recording.interpreter.values import Value

_CODE_BASE = 0x40_0000
_CODE_STRIDE = 16
STREAMS = {"@stdin": 0x1000, "@stdout": 0x1010, "@stderr": 0x1020}


class Image:
    """Lays out a parsed module in an empty memory, which receives its globals."""

    def __init__(self, module: Module, memory: Memory) -> None:
        self.module = module
        self._memory = memory
        self._types = TypeReader(named=module.named_types)
        self._reader = ConstantReader(self._types, self.address)
        self._constants: dict[tuple[str, str], Value] = {}
        self._addresses: dict[str, int] = {}
        self._names: dict[int, str] = {}
        callables = [f.name for f in module.functions] + [d.name for d in module.declarations]
        for index, name in enumerate(callables):
            address = _CODE_BASE + index * _CODE_STRIDE
            self._addresses[name] = address
            self._names[address] = name
        for variable in module.globals:
            type_, is_literal = variable.type, variable.is_constant and not variable.is_external
            is_empty = type_.kind == "opaque" or (type_.kind == "struct" and not type_.elements)
            size = 1 if is_empty else max(alloc_size_bytes(type_), 1)
            segment = memory.add_global(variable.name, size, "constant" if is_literal else "global")
            self._addresses[variable.name] = segment.base
        for variable in module.globals:
            self._initialize(variable)

    def address(self, name: str) -> int:
        """Return the address of a global or function, aliases followed; TargetRunError if unknown."""
        alias = self.module.aliases.get(name)
        if alias is not None:
            return self._reader.to_int(Operand(IrType("ptr", "ptr", 64), alias))
        if name not in self._addresses:
            raise TargetRunError(f"expected a global or function {name}, found none")
        return self._addresses[name]

    def function_name(self, callee: str, register: Callable[[str], int]) -> str:
        """Return the name of the function that ``@name``, ``%register`` or a constant expression calls.

        ``register`` returns the contents of one. TargetRunError if the address is not that of a function.
        """
        if callee[0] == "@" and callee not in self.module.aliases:
            return callee
        if callee[0] == "%":
            address = register(callee)
        else:
            address = self._reader.to_int(Operand(IrType("ptr", "ptr", 64), callee))
        return self.function_at(address)

    def function_at(self, address: int) -> str:
        """Return the name of the function at ``address``; TargetRunError if there is none."""
        name = self._names.get(address)
        if name is None:
            raise TargetRunError(f"expected the address of a function, found {address:#x}")
        return name

    def constant(self, operand: Operand) -> Value:
        """Return a constant operand."""
        key = (operand.type.text, operand.text)
        known = self._constants.get(key)
        if known is None:
            if operand.type.kind in ("int", "ptr"):
                known = Value(self._reader.to_int(operand))
            else:
                known = Value(decode(operand.type, self._reader.to_bytes(operand)))
            self._constants[key] = known
        return known

    def type_of(self, text: str) -> IrType:
        """Return the type printed as ``text``."""
        return self._types.read(Cursor(text, 0))

    def listed(self, name: str) -> tuple[str, ...]:
        """Functions of ``@llvm.global_ctors`` or ``@llvm.global_dtors``, by priority."""
        table = next((g for g in self.module.globals if g.name == name), None)
        if table is None or table.is_external or table.initializer == "zeroinitializer":
            return ()
        stride = alloc_size_bytes(table.type.elements[0])
        base = self._addresses[table.name]
        entries: list[tuple[int, str]] = []
        for index in range(table.type.count):
            image = self._memory.read(base + index * stride, stride)
            function = self._names.get(int.from_bytes(image[8:16], "little"), "")
            entries.append((int.from_bytes(image[:4], "little"), function))
        return tuple(function for _, function in sorted(entries, key=lambda entry: entry[0]) if function)

    def _initialize(self, variable: GlobalVariable) -> None:
        segment = self._memory.segment(self._addresses[variable.name], 1)
        if variable.name in STREAMS:
            segment.data[:8] = STREAMS[variable.name].to_bytes(8, "little")
        if not variable.is_external:
            image = self._reader.to_bytes(Operand(variable.type, variable.initializer))
            segment.data[: len(image)] = image
