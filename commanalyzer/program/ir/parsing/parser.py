"""Reading a module from the text that LLVM prints.

The module is cut into lines once; top-level lines are told apart by how they begin, instructions are read
by :mod:`.instructions`. Values and blocks without a name get the number that LLVM would
give them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from commanalyzer.foundation.errors import IrError
from commanalyzer.program.ir.model import (
    DESCRIPTOR,
    TERMINATORS,
    BasicBlock,
    DebugRecord,
    Declaration,
    Function,
    GlobalVariable,
    Instruction,
    IrType,
    Module,
    Operand,
)
from commanalyzer.program.ir.parsing.instructions import (
    debug_node,
    read_attributes,
    read_instruction,
    read_value,
)
from commanalyzer.program.ir.types import END, Cursor, TypeReader

_LABEL = re.compile(r'\s*("[^"]*"|[-\w$.]+):\s*(?:;.*)?$')
_CONTINUATION = re.compile(r"\s*(?:to label\b|unwind label\b|catch \S|filter \S|cleanup\s*(?:$|[;,]))")
_METADATA = re.compile(r"!(\d+) = (.*)", re.DOTALL)
_QUOTED = re.compile(r'"[^"]*"')
_TAG = re.compile(r"!tbaa (!\d+)")
_DEBUG_TAIL = re.compile(r"!DIExpression\(([^)]*)\),.*?!(\d+)\)\s*$")
_IGNORED = (*";$%^", "source_filename", "attributes", "module asm", "uselistorder")
_DEBUG_RECORD = re.compile(r"\s*#dbg_(\w+)\((.*)\)\s*$")


def parse_module(text: str) -> Module:
    """Read a module from textual IR as printed by LLVM 16 or later (opaque pointers).

    ``lines`` is ``text`` split at newlines, which every ``first_line`` and ``last_line`` indexes. Raises
    IrError if the text is not IR (the message names the line), and UnsupportedIrError for typed pointers,
    scalable vectors, Windows exceptions, ``asm goto``.
    """
    return _ModuleReader(text).read()


class _ModuleReader:
    def __init__(self, text: str) -> None:
        self.lines = text.split("\n")
        self.types = TypeReader(_type_bodies(self.lines))
        self.descriptor_tags = _descriptor_tags(text)
        self.functions: list[Function] = []
        self.declarations: list[Declaration] = []
        self.globals: list[GlobalVariable] = []
        self.aliases: dict[str, str] = {}
        self.other_names: dict[str, str] = {}  # aliases only, no functions that are chosen at the start
        self.metadata: dict[int, str] = {}
        self.target = {"triple": "", "datalayout": ""}

    def read(self) -> Module:
        index = 0
        while index < len(self.lines):
            index = self._top_level(index)
        functions = tuple(_with_callees(function, self.other_names) for function in self.functions)
        known = tuple(self.lines), functions, tuple(self.declarations), tuple(self.globals)
        types, layout = self.types.named_types(), self.target["datalayout"]
        return Module(*known, types, layout, self.metadata, self.aliases)

    def _top_level(self, index: int) -> int:
        """Read what starts at line ``index``; return the line after it."""
        line = self.lines[index]
        if line.startswith("define "):
            function, index = _FunctionReader(self.lines, index, self.types, self.descriptor_tags).read()
            self.functions.append(function)
        elif line.startswith("declare "):
            name, returns, parameters, _, is_vararg = _read_signature(Cursor(line, index), self.types)
            types = tuple(p.type for p in parameters)
            self.declarations.append(Declaration(name, returns, types, is_vararg, index))
        elif line.startswith("@"):
            self._global(Cursor(line, index))
        elif line.startswith("!"):
            match = _METADATA.match(line)
            if match:
                self.metadata[int(match[1])] = match[2]
        elif line.startswith("target "):
            cursor = Cursor(line, index)
            cursor.next()
            key = cursor.next()
            cursor.expect("=")
            self.target[key] = cursor.next().strip('"')
        elif line.strip() and not line.strip().startswith(_IGNORED):
            Cursor(line, index).fail("expected a global, function or metadata")
        return index + 1

    def _global(self, cursor: Cursor) -> None:
        name = cursor.next()
        cursor.expect("=")
        words: set[str] = set()
        while True:
            words |= read_attributes(cursor, self.types)
            if words & {"alias", "ifunc", "global", "constant"}:
                break
            cursor.next()
        type_ = self.types.read(cursor)
        if words & {"alias", "ifunc"}:
            if cursor.peek() == "(":
                self.types.read_function(cursor, type_)
            cursor.expect(",")
            self.types.read(cursor)
            self.aliases[name] = read_value(cursor)
            if "alias" in words and self.aliases[name].startswith("@"):
                self.other_names[name] = self.aliases[name]
            return
        is_external = cursor.peek() in (",", END)
        initializer = "" if is_external else read_value(cursor)
        known = name, type_, "constant" in words, is_external, "thread_local" in words, initializer
        self.globals.append(GlobalVariable(*known, debug_node(cursor.tokens), cursor.line))


class _FunctionReader:
    """Reads one ``define``, which begins at ``first_line``: header, then block by block."""

    def __init__(
        self, lines: list[str], first_line: int, types: TypeReader, descriptor_tags: frozenset[str]
    ) -> None:
        self.lines = lines
        self.descriptor_tags = descriptor_tags
        self.first_line = first_line
        self.types = types
        self.counter = 0
        self.blocks: list[BasicBlock] = []
        self.records: list[DebugRecord] = []
        self.label = ""
        self.label_line = -1
        self.instructions: list[Instruction] = []

    def read(self) -> tuple[Function, int]:
        """Return the function and the index of its closing line."""
        header_end = self.first_line
        while not self.lines[header_end].split(";")[0].rstrip().endswith("{"):
            header_end += 1
            if header_end == len(self.lines):
                raise IrError("expected '{' after a function header", where=f"line {self.first_line + 1}")
        cursor = Cursor("\n".join(self.lines[self.first_line : header_end + 1]), self.first_line)
        name, returns, parameters, flags, is_vararg = _read_signature(cursor, self.types)
        parameters = [p if p.text else Operand(p.type, self._number()) for p in parameters]
        for parameter in parameters:
            self._see(parameter.text)
        last_line = self._body(header_end + 1)
        known = (
            name,
            returns,
            tuple(parameters),
            tuple(flags),
            is_vararg,
            tuple(self.blocks),
            tuple(self.records),
        )
        return Function(*known, debug_node(cursor.tokens), self.first_line, last_line), last_line

    def _body(self, index: int) -> int:
        while index < len(self.lines):
            line = self.lines[index]
            stripped = line.strip()
            if stripped == "}":
                self._finish_block()
                return index
            if not stripped or stripped[0] == ";":
                index += 1
            elif stripped[0] == "#":
                self._debug_record(line, index)
                index += 1
            elif stripped.split(";")[0].rstrip().endswith(":") and (match := _LABEL.match(line)):
                self._finish_block()
                self.label, self.label_line = match[1], index
                self._see("%" + self.label)
                index += 1
            else:
                index = self._instruction(index)
        raise IrError("expected '}' at the end of a function", where=f"line {self.first_line + 1}")

    def _instruction(self, index: int) -> int:
        """Read the instruction that starts at ``index``; return the line after it."""
        if self.label_line < 0:
            # Only an entry block, or a block after a terminator, may go without a label.
            self.label, self.label_line = self._number()[1:], index
        last = _last_line(self.lines, index)
        text = self.lines[index] if last == index else "\n".join(self.lines[index : last + 1])
        instruction = read_instruction(text, index, last, self.types)
        if self.descriptor_tags and (tag := _TAG.search(text)) and tag[1] in self.descriptor_tags:
            instruction = replace(instruction, flags=instruction.flags | {DESCRIPTOR})
        if instruction.name:
            self._see(instruction.name)
        elif instruction.type.kind != "void":
            instruction = replace(instruction, name=self._number())
        self.instructions.append(instruction)
        if instruction.opcode in TERMINATORS:
            self._finish_block()
        return last + 1

    def _finish_block(self) -> None:
        if self.label_line < 0:
            return
        if not self.instructions or self.instructions[-1].opcode not in TERMINATORS:
            raise IrError(
                f"expected block %{self.label} to end in a terminator", where=f"line {self.label_line + 1}"
            )
        last = self.instructions[-1].last_line
        self.blocks.append(BasicBlock(self.label, tuple(self.instructions), self.label_line, last))
        self.label, self.label_line, self.instructions = "", -1, []

    def _number(self) -> str:
        """Return the next implicit name."""
        self.counter += 1
        return f"%{self.counter - 1}"

    def _see(self, name: str) -> None:
        """An explicit number moves the implicit numbering on."""
        if name[1:].isdigit():
            self.counter = max(self.counter, int(name[1:]) + 1)

    def _debug_record(self, line: str, index: int) -> None:
        match = _DEBUG_RECORD.match(line)
        if match is None or match[1] not in ("value", "declare", "assign"):
            return
        cursor = Cursor(match[2], index)
        start = cursor.position
        while cursor.peek() not in (",", END):
            cursor.skip_balanced() if cursor.peek() in ("(", "[", "{", "<") else cursor.next()
        value = cursor.slice(start, cursor.position) if cursor.position > start else ""
        cursor.expect(",")
        variable = cursor.next()[1:]
        if variable.isdigit():
            tail = _DEBUG_TAIL.search(line)
            expression, location = (tail[1], int(tail[2])) if tail else ("", -1)
            self.records.append(DebugRecord(match[1], value, int(variable), index, expression, location))


def _descriptor_tags(text: str) -> frozenset[str]:
    """Return the ``!tbaa`` nodes of accesses to array descriptors, as flang names them."""
    types = re.findall(r'^(!\d+) = !\{!"descriptor member"', text, re.MULTILINE)
    tags = (re.findall(rf"^(!\d+) = !\{{{type_}, {type_}, ", text, re.MULTILINE) for type_ in types)
    return frozenset(tag for found in tags for tag in found)


def _read_signature(
    cursor: Cursor, types: TypeReader
) -> tuple[str, IrType, list[Operand], list[frozenset[str]], bool]:
    """Read a header up to its closing parenthesis: name, return type, parameters, flags, variadic."""
    cursor.next()
    while cursor.peek()[:1] == "!":
        cursor.next()
    read_attributes(cursor, types)
    returns = types.read(cursor)
    name = cursor.next()
    if name[0] != "@":
        cursor.fail(f"expected a function name, found '{name}'")
    parameters: list[Operand] = []
    flags: list[frozenset[str]] = []
    is_vararg = False
    cursor.expect("(")
    while not cursor.accept(")"):
        if cursor.accept("..."):
            is_vararg = True
            continue
        type_ = types.read(cursor)
        words: set[str] = set()
        while cursor.peek() not in (",", ")") and cursor.peek()[:1] != "%":
            before = cursor.position
            words |= read_attributes(cursor, types)
            if cursor.position == before:
                cursor.fail(f"expected a parameter, found '{cursor.peek()}'")
        text = cursor.next() if cursor.peek()[:1] == "%" else ""
        parameters.append(Operand(type_, text))
        flags.append(frozenset(words))
        cursor.accept(",")
    return name, returns, parameters, flags, is_vararg


def _with_callees(function: Function, other_names: Mapping[str, str]) -> Function:
    """The function with calls by another name as calls of what it names (constructors of C++)."""
    if not other_names:
        return function

    def named(instruction: Instruction) -> Instruction:
        callee = instruction.callee
        while callee in other_names:
            callee = other_names[callee]
        return instruction if callee == instruction.callee else replace(instruction, callee=callee)

    blocks = (replace(b, instructions=tuple(map(named, b.instructions))) for b in function.blocks)
    return replace(function, blocks=tuple(blocks))


def _last_line(lines: list[str], index: int) -> int:
    """Return the last line of the instruction that starts at ``index``."""
    depth = _open_brackets(lines[index])
    last = index
    while last + 1 < len(lines):
        following = lines[last + 1]
        if depth <= 0 and not _CONTINUATION.match(following):
            break
        last += 1
        depth += _open_brackets(following)
    return last


def _open_brackets(line: str) -> int:
    """Return how many ``[``, ``(`` and ``{`` of ``line`` stay open, strings and comments ignored."""
    if '"' in line:
        line = _QUOTED.sub("", line)
    line = line.split(";", 1)[0]
    opened = line.count("[") + line.count("(") + line.count("{")
    return opened - line.count("]") - line.count(")") - line.count("}")


def _type_bodies(lines: list[str]) -> dict[str, tuple[str, int]]:
    """Return right-hand side and line of every ``%name = type ...``."""
    bodies: dict[str, tuple[str, int]] = {}
    for index, line in enumerate(lines):
        if line.startswith("%"):
            name, separator, body = line.partition(" = type ")
            if separator:
                bodies[name.strip()] = (body, index)
    return bodies
