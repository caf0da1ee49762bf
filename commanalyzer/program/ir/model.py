"""Parsed LLVM IR: the value that instrumentation and interpretation read.

Only what the analysis needs is modelled, but every instruction keeps the exact lines it was printed on, so
that a rewriter can leave everything else of the module untouched.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

TERMINATORS = frozenset(
    (
        "br", "switch", "ret", "unreachable", "invoke", "callbr", "indirectbr", "resume", "catchswitch",
        "catchret", "cleanupret",
    )
)  # fmt: skip
BINARY = frozenset(
    (
        "add", "sub", "mul", "udiv", "sdiv", "urem", "srem", "shl", "lshr", "ashr", "and", "or", "xor",
        "fadd", "fsub", "fmul", "fdiv", "frem",
    )
)  # fmt: skip
CASTS = frozenset(
    (
        "trunc", "zext", "sext", "fptrunc", "fpext", "fptoui", "fptosi", "uitofp", "sitofp", "ptrtoint",
        "ptrtoaddr", "inttoptr", "bitcast", "addrspacecast",
    )
)  # fmt: skip
DESCRIPTOR = "descriptor"
"""Flag of loads and stores of a Fortran array's address, bounds and strides: like pointers, no values."""
ORDERINGS = frozenset({"unordered", "monotonic", "acquire", "release", "acq_rel", "seq_cst"})
TAIL_WORDS = frozenset({"tail", "musttail", "notail"})
FAST_MATH = frozenset({"fast", "nnan", "ninf", "nsz", "arcp", "contract", "afn", "reassoc"})


@dataclass(frozen=True, slots=True)
class IrType:
    """An LLVM type."""

    # ``int``, ``float``, ``ptr``, ``vector``, ``array``, ``struct``, ``void``, ``label``, ``metadata``,
    # ``token``, ``function`` or ``opaque``
    kind: str
    text: str  # as LLVM prints it (``i32``, ``double``, ``%struct.P``, ``[4 x double]``)
    bits: int = 0  # width for ``int`` and ``float`` (``x86_fp80`` is 80), 64 for ``ptr``, otherwise 0
    count: int = 0  # number of elements of ``vector`` and ``array``
    # element type of ``vector``/``array``, field types of ``struct`` (named ones resolved)
    elements: tuple[IrType, ...] = ()
    packed: bool = False

    def __str__(self) -> str:
        return self.text

    @property
    def lanes(self) -> int:
        """Elements of a vector, 1 for others."""
        return self.count if self.kind == "vector" else 1


@dataclass(frozen=True, slots=True)
class Operand:
    """A typed use: ``type`` and ``text`` such as ``%i12``, ``@u``, ``4``, ``0x3FF00...``, ``null``."""

    type: IrType
    text: str

    @property
    def is_local(self) -> bool:
        """The operand is an SSA register (argument or instruction result)."""
        return self.text.startswith("%")


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction."""

    # ``load``, ``fadd``, ``call`` (also ``tail call``), ``invoke`` ...; debug records (``#dbg_value``) are no
    # instructions, see :attr:`Function.debug_records`
    opcode: str
    name: str  # result register with its ``%``, empty if there is none
    type: IrType
    # value operands in printed order, without labels. ``store``: (value, pointer). ``call``/``invoke``: the
    # arguments only, the callee is ``callee``. ``phi``: incoming values. ``br``/``switch``: the condition.
    # ``select``: (condition, if true, if false). ``cmpxchg``: (pointer, expected, new). ``atomicrmw``:
    # (pointer, value).
    operands: tuple[Operand, ...]
    # successor labels of a terminator, without ``%`` (``switch``: default first, then cases; ``invoke``:
    # normal, unwind), in printed order
    targets: tuple[str, ...] = ()
    # ``phi`` only: predecessor labels without ``%``, aligned with ``operands``
    incoming: tuple[str, ...] = ()
    predicate: str = ""  # ``icmp``/``fcmp`` predicate, ``atomicrmw`` operation
    # source element type of ``getelementptr``, loaded type of ``load``, allocated type of ``alloca``;
    # ``None`` otherwise
    element_type: IrType | None = None
    callee: str = ""  # ``@name`` or ``%register`` (or ``asm``) of a call
    # type of the called function when it was printed in full (varargs), otherwise ``None``
    callee_type: IrType | None = None
    # constant indices of ``extractvalue``/``insertvalue``, mask of ``shufflevector`` (-1 poison), case values
    # of ``switch``
    indices: tuple[int, ...] = ()
    # words such as ``volatile``, ``inbounds``, ``nsw``, ``fast``, ``tail``, ``atomic``, and
    # :data:`DESCRIPTOR`
    flags: frozenset[str] = frozenset()
    debug_location: int = -1  # number of the ``!dbg`` node, -1 when absent
    first_line: int = -1  # index of its first line in the module's lines; ``last_line`` is inclusive
    last_line: int = -1
    # type of every argument that is a structure passed by value (``byval``), by its number
    copied: Mapping[int, IrType] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, slots=True)
class BasicBlock:
    """A basic block; ``label`` without ``%``. The last instruction is the terminator."""

    label: str
    instructions: tuple[Instruction, ...]
    first_line: int
    last_line: int

    @property
    def terminator(self) -> Instruction:
        """The last instruction."""
        return self.instructions[-1]


@dataclass(frozen=True, slots=True)
class DebugRecord:
    """``#dbg_value``/``#dbg_declare``: variable ``variable`` (metadata number) lives in ``value``.

    The kind is ``value``, ``declare`` or ``assign``, ``value`` an operand with its type, ``expression`` the
    operations of a ``!DIExpression``, ``location`` the metadata number of its place, -1 when absent.
    """

    kind: str
    value: str
    variable: int
    line: int
    expression: str = ""
    location: int = -1

    @property
    def register(self) -> str:
        """The operand without its type."""
        return self.value.split()[-1]


@dataclass(frozen=True, slots=True)
class Function:
    """A function definition."""

    name: str  # with its ``@`` (quoted names keep their quotes)
    return_type: IrType
    parameters: tuple[Operand, ...]
    # per parameter, attribute words (``byval``, ``sret``, ``noalias``)
    parameter_flags: tuple[frozenset[str], ...]
    is_vararg: bool
    blocks: tuple[BasicBlock, ...]  # in printed order; the first is the entry
    debug_records: tuple[DebugRecord, ...]
    debug_subprogram: int  # number of the ``!dbg`` node, -1 when absent
    first_line: int  # line of ``define``; ``last_line`` is that of the closing brace
    last_line: int

    @property
    def instructions(self) -> Iterator[Instruction]:
        """Those of all blocks, as printed."""
        return (instruction for block in self.blocks for instruction in block.instructions)


@dataclass(frozen=True, slots=True)
class Declaration:
    """An external function: ``declare``."""

    name: str
    return_type: IrType
    parameter_types: tuple[IrType, ...]
    is_vararg: bool
    first_line: int


@dataclass(frozen=True, slots=True)
class GlobalVariable:
    """A global variable; ``initializer`` is its printed text, empty for external ones."""

    name: str
    type: IrType
    is_constant: bool
    is_external: bool
    is_thread_local: bool
    initializer: str
    debug_expression: int
    first_line: int


@dataclass(frozen=True, slots=True)
class Module:
    """A parsed module together with the text it was parsed from, line by line (no newlines)."""

    lines: tuple[str, ...]
    functions: tuple[Function, ...]
    declarations: tuple[Declaration, ...]
    globals: tuple[GlobalVariable, ...]
    named_types: dict[str, IrType] = field(default_factory=dict)  # bodies of ``%name = type ...``
    data_layout: str = ""  # layout string, may be empty
    # text of every numbered node (``!12 = ...`` -> ``metadata[12]``, right-hand side)
    metadata: dict[int, str] = field(default_factory=dict)
    # aliasee (a constant as printed, usually ``@name``) of every ``@name = alias ...``
    aliases: dict[str, str] = field(default_factory=dict)
