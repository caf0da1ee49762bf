"""Memory of the interpreted program: bytes, homes and shadow words.

Every object (global, local, arena of an allocation site) is a segment of its own, far enough from the next
one that an access out of bounds is noticed. A segment knows the home of its words and keeps, per
word, the home of the value that is replicated there; no entry means that the word is its own home.

Arena of an allocation site (bump allocated, of freed blocks of a rounded size the first one is used again):

    offset 0        16                 16 + size rounded up to 16
    | header | payload ...            | header | payload ...

The loaded program: addresses of globals and functions, initial contents, constants.

Label rules of memory: what a load reads, what a store creates, what a copy replicates.

Paper Section 4.1, Algorithms 1 and 2, on aligned words of 4 bytes, or of 1:

* a load has the values that live in its words as sources;
* a store of an exact copy replicates: the words refer to the value, nothing flowed;
* any other store creates a new version at its home, with the register's labels as sources.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Set
from dataclasses import dataclass, field
from functools import lru_cache
from heapq import heappop, heappush

from commanalyzer.foundation.errors import TargetRunError
from commanalyzer.foundation.flows import SourceRole
from commanalyzer.program.ir.constants import ConstantReader
from commanalyzer.program.ir.model import GlobalVariable, IrType, Module, Operand
from commanalyzer.program.ir.types import (
    Cursor,
    TypeReader,
    alloc_size_bytes,
    field_offset_bytes,
    round_up,
    size_bytes,
)
from commanalyzer.recording.interpreter.activation import Observer
from commanalyzer.recording.interpreter.values import NO_LABELS, Chain, Home, Labels, Value, decode, union

HEADER_BYTES = 16
_GLOBAL_BASE = 0x1000_0000
_STACK_BASE = 0x2000_0000_0000
_HEAP_BASE = 0x4000_0000_0000
_ARENA_STRIDE = 1 << 40
_GAP = 4096


@dataclass(slots=True)
class Segment:
    """One object.

    Its base is a multiple of 4096. Kind, name (the object) and depth are those of its homes; nothing may be
    stored to a ``constant``. The shadow has, by word index, the home of the value that is replicated there.
    """

    base: int
    kind: str
    name: str
    depth: int
    data: bytearray
    shadow: dict[int, Home] = field(default_factory=dict)


@dataclass(slots=True)
class Arena:
    """Allocation state of one allocation site; ``blocks`` maps payload offset to payload size."""

    segment: Segment
    blocks: dict[int, int] = field(default_factory=dict)
    free: dict[tuple[int, int], list[int]] = field(default_factory=dict)
    alignments: dict[int, int] = field(default_factory=dict)
    freed: set[int] = field(default_factory=set)


class Memory:
    """Byte-addressed memory with shadow words; heap, stack and globals together may not exceed the limit."""

    def __init__(self, limit_bytes: int, word_bytes: int = 4) -> None:
        self._limit = limit_bytes
        self.word_bytes = word_bytes
        self._used = 0
        self._globals: list[Segment] = []
        self._global_bases: list[int] = []
        self._stack: list[Segment] = []
        self._stack_bases: list[int] = []
        self._arenas: dict[str, Arena] = {}
        self._arena_list: list[Arena] = []
        self.observer: Observer | None = None

    def add_global(self, name: str, size: int, kind: str = "global") -> Segment:
        """Add a global variable of ``size`` zero bytes."""
        return self._placed(self._globals, self._global_bases, _GLOBAL_BASE, (kind, name, 0), size)

    def push_local(self, name: str, depth: int, size: int) -> Segment:
        """Add a local object on top of the stack."""
        return self._placed(self._stack, self._stack_bases, _STACK_BASE, ("stack", name, depth), size)

    def _placed(
        self, others: list[Segment], bases: list[int], base: int, home: tuple[str, str, int], size: int
    ) -> Segment:
        """Add an object behind the last one of its kind."""
        if others:
            base = round_up(others[-1].base + len(others[-1].data) + _GAP, _GAP)
        self._charge(size)
        others.append(segment := Segment(base, *home, bytearray(size)))
        bases.append(base)
        return segment

    @property
    def stack_height(self) -> int:
        """Number of live local objects."""
        return len(self._stack)

    def pop_locals(self, height: int) -> None:
        """Remove the local objects above ``height``."""
        for segment in self._stack[height:]:
            self._used -= len(segment.data)
        del self._stack[height:]
        del self._stack_bases[height:]

    def allocate(self, site: str, size: int, alignment: int = 16) -> int:
        """Allocate ``size`` bytes in the arena of ``site``; return the address.

        The words become their own homes; contents are those of the previous block, or zero.
        """
        rounded = round_up(max(size, 1), 16)
        arena = self._arena(site)
        data = arena.segment.data
        reusable = arena.free.get((rounded, alignment))
        if reusable:
            offset = heappop(reusable)
            arena.freed.discard(offset)
        else:
            offset = round_up(len(data) + HEADER_BYTES, alignment)
            self._charge(offset + rounded - len(data))
            data.extend(bytes(offset + rounded - len(data)))
            arena.alignments[offset] = alignment
        arena.blocks[offset] = size
        address = arena.segment.base + offset
        self.own(address, rounded)
        return address

    def release(self, address: int) -> None:
        """Free a block; null is allowed. TargetRunError if no live block starts at ``address``."""
        if address == 0:
            return
        arena, offset = self._block(address)
        rounded = round_up(max(arena.blocks[offset], 1), 16)
        arena.freed.add(offset)
        heappush(arena.free.setdefault((rounded, arena.alignments[offset]), []), offset)

    def block_size(self, address: int) -> int:
        """Return the requested size of the live block at ``address``."""
        arena, offset = self._block(address)
        return arena.blocks[offset]

    def blocks(self, segment: Segment) -> dict[int, int]:
        """Objects of a segment, offset to size: the blocks of an allocation site, or the whole segment."""
        for arena in self._arena_list:
            if arena.segment is segment:
                return dict(arena.blocks)
        return {0: len(segment.data)}

    def read(self, address: int, size: int) -> bytes:
        """Return ``size`` bytes at ``address``; TargetRunError if they do not lie in one live object."""
        if self.observer is not None:
            self.observer.accessed(address, size, is_write=False)
        segment = self.segment(address, size)
        start = address - segment.base
        return bytes(segment.data[start : start + size])

    def write(self, address: int, image: bytes) -> None:
        """Store ``image`` at ``address``; shadow words are not touched.

        Raises TargetRunError if the bytes do not lie in one live, writable object.
        """
        segment = self.segment(address, len(image))
        if segment.kind == "constant":
            raise TargetRunError(f"expected a writable address, found constant {segment.name}")
        if self.observer is not None:
            self.observer.accessed(address, len(image), is_write=True)
        start = address - segment.base
        segment.data[start : start + len(image)] = image

    def read_string(self, address: int) -> bytes:
        """Return the bytes up to the first zero byte."""
        segment = self.segment(address, 1)
        end = segment.data.find(0, address - segment.base)
        if end < 0:
            raise TargetRunError(f"expected a terminated string, found none in {segment.name}")
        return bytes(segment.data[address - segment.base : end])

    def own_home(self, address: int) -> Home:
        """Return the home of the word that contains ``address``."""
        segment = self.segment(address, 1)
        offset = (address - segment.base) // self.word_bytes * self.word_bytes
        return Home(segment.kind, segment.name, segment.depth, offset)

    def value_at(self, address: int) -> Home:
        """Return the home of the value that the word at ``address`` holds."""
        segment = self.segment(address, 1)
        word = (address - segment.base) // self.word_bytes
        known = segment.shadow.get(word)
        return known or Home(segment.kind, segment.name, segment.depth, word * self.word_bytes)

    def set_value_at(self, address: int, home: Home | None) -> None:
        """The word at ``address`` holds a replica of ``home``, or its own value."""
        segment = self.segment(address, 1)
        word = (address - segment.base) // self.word_bytes
        if home is None or home == self.own_home(address):
            segment.shadow.pop(word, None)
        else:
            segment.shadow[word] = home

    def own(self, address: int, size: int) -> None:
        """All words touched by the bytes become their own homes."""
        if size <= 0:
            return
        segment = self.segment(address, size)
        if not segment.shadow:
            return
        first = (address - segment.base) // self.word_bytes
        last = (address - segment.base + size - 1) // self.word_bytes
        for word in range(first, last + 1):
            segment.shadow.pop(word, None)

    def touched_words(self, address: int, size: int) -> range:
        """Return the addresses of all words that ``size`` bytes at ``address`` touch."""
        return range(address // self.word_bytes * self.word_bytes, address + size, self.word_bytes)

    def segment(self, address: int, size: int) -> Segment:
        """Return the object that contains ``size`` bytes at ``address``; TargetRunError if there is none."""
        found: Segment | None = None
        if address >= _HEAP_BASE:
            index = (address - _HEAP_BASE) // _ARENA_STRIDE
            found = self._arena_list[index].segment if index < len(self._arena_list) else None
        elif address >= _STACK_BASE:
            index = bisect_right(self._stack_bases, address) - 1
            found = self._stack[index] if index >= 0 else None
        else:
            index = bisect_right(self._global_bases, address) - 1
            found = self._globals[index] if index >= 0 else None
        if found is None or address - found.base + size > len(found.data):
            near = f", which is {address - found.base} bytes into {found.name}" if found else ""
            raise TargetRunError(
                f"expected {size} bytes of a live object, found address {address:#x}{near}",
                hint="the program reads or writes out of bounds, or uses an unsupported external variable",
            )
        return found

    def _arena(self, site: str) -> Arena:
        arena = self._arenas.get(site)
        if arena is None:
            base = _HEAP_BASE + len(self._arena_list) * _ARENA_STRIDE
            arena = Arena(Segment(base, "heap", site, 0, bytearray()))
            self._arenas[site] = arena
            self._arena_list.append(arena)
        return arena

    def _block(self, address: int) -> tuple[Arena, int]:
        index = (address - _HEAP_BASE) // _ARENA_STRIDE
        if 0 <= index < len(self._arena_list):
            arena = self._arena_list[index]
            offset = address - arena.segment.base
            if offset in arena.blocks and offset not in arena.freed:
                return arena, offset
        raise TargetRunError(f"expected the address of a live heap block, found {address:#x}")

    def _charge(self, size: int) -> None:
        self._used += size
        if self._used > self._limit:
            raise TargetRunError(
                f"expected at most {self._limit} bytes of memory, found {self._used}",
                hint="choose a smaller input or raise the memory limit",
            )


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


# Content of a workspace that has no source: nothing was stored there since it was reset.
NOTHING_HOME = Home("temporary", "nothing", -1, 0)
_EXACT_SIZES = frozenset({1, 2, 4, 8})  # of scalars
_AGGREGATES = frozenset({"vector", "array", "struct"})


class Shadow:
    """Applies the label rules to a memory and counts value-flow chains.

    A store to a word of a workspace makes a home of its own for every version: what lived there before
    belongs to another element. Copies inside workspaces replicate, a copy from there to another home is a
    version. ``workspace`` are the homes of their words; ``chains`` counts how often each chain happened.
    """

    def __init__(self, memory: Memory, workspace: Set[Home] = frozenset()) -> None:
        self.memory, self._word_bytes = memory, memory.word_bytes
        self._workspace = workspace
        self.chains: Counter[Chain] = Counter()
        self._words_of: dict[Home, int] = {}  # words that a version of a workspace takes

    def load(self, type_: IrType, address: int) -> tuple[Labels, tuple[Home, ...] | None]:
        """Return labels and exactness of a loaded register.

        ``float`` kinds are identified by their first word; integers have every fourth byte as a source.
        Scalars of 1, 2, 4 and 8 bytes are exact copies if these are whole words; others (``i24``) not.
        """
        if type_.kind not in _AGGREGATES:
            return self._load_scalar(type_, address)
        labels = NO_LABELS
        for offset, member in leaves(type_):
            labels = union(labels, self._load_scalar(member, address + offset)[0])
        return labels, None

    def _load_scalar(self, type_: IrType, address: int) -> tuple[Labels, tuple[Home, ...] | None]:
        if type_.kind == "ptr":
            return NO_LABELS, None
        size = size_bytes(type_)
        if size < self._word_bytes:
            return {self._value_at(address): SourceRole.DATA}, None
        words = tuple(self._value_at(address + k) for k in range(0, size, self._word_bytes))
        exact = words if size in _EXACT_SIZES and type_.bits == 8 * size else None
        sources = words[:1] if type_.kind == "float" else words[:: 4 // self._word_bytes]
        return dict.fromkeys(sources, SourceRole.DATA), exact

    def store(self, type_: IrType, address: int, value: Value) -> Chain | None:
        """Apply a store; return the (last) chain it made, ``None`` for pointers and replications."""
        is_scalar = type_.kind in ("int", "float")
        if is_scalar and value.exact is not None and self._word_bytes <= size_bytes(type_) in _EXACT_SIZES:
            self.memory.own(address, size := size_bytes(type_))
            self._refer(zip(range(address, address + size, self._word_bytes), value.exact, strict=False))
            return None
        chain: Chain | None = None
        for offset, member in leaves(type_):
            size = size_bytes(member)
            self.memory.own(address + offset, size)
            if member.kind != "ptr":
                chain = self.create(address + offset, value.labels)
                if chain.sink.kind == "temporary":  # the version of a workspace lives in the words touched
                    words = self.memory.touched_words(address + offset, size)
                    self._words_of[chain.sink] = len(words)
                    for word in words:
                        self.memory.set_value_at(word, chain.sink)
        return chain

    def create(self, address: int, labels: Labels) -> Chain:
        """Count a new version at the word of ``address``; its words are left to the caller."""
        home = self.memory.own_home(address)
        if home in self._workspace:
            home = Home("temporary", home.object, len(self.chains), 0)
        return self.finish(home, labels)

    def _value_at(self, address: int) -> Home:
        home = self.memory.value_at(address)
        return NOTHING_HOME if home in self._workspace else home

    def _refer(self, words: Iterable[tuple[int, Home]]) -> None:
        """Words refer to the values of homes.

        A version of a workspace that arrives elsewhere is a new version there; neighbouring words with the
        same version are one value, as many as it takes.
        """
        before, taken = None, 0
        for address, home in words:
            if home.kind == "temporary" and self.memory.own_home(address) not in self._workspace:
                self.memory.set_value_at(address, None)
                if home != before or taken == self._words_of.get(home):
                    taken = 0
                    self.create(address, {} if home == NOTHING_HOME else {home: SourceRole.DATA})
                taken += 1
            else:
                self.memory.set_value_at(address, home)
            before = home

    def finish(self, home: Home, labels: Labels) -> Chain:
        """Count a version of what is no memory: a value that leaves the program (Section 4.1), a register."""
        chain = Chain(home, frozenset(item for item in labels.items() if item[0].kind != "constant"))
        self.chains[chain] += 1
        return chain

    def fill(self, address: int, size: int) -> None:
        """Apply memset: every touched word gets a value without sources."""
        for word in self.memory.touched_words(address, size):
            self.create(max(word, address), NO_LABELS)
        self.memory.own(address, size)

    def copy(self, target: int, source: int, size: int) -> None:
        """Apply memcpy/memmove; call it before the bytes move.

        Whole words are replicated when both sides are equally aligned; words that are touched in part keep
        what they hold. Between differently aligned addresses nothing can be followed by words: those that
        are touched become values of their own, and no flow is known (the tool warns about such copies).
        """
        if (target - source) % self._word_bytes:
            if size:
                self.memory.own(target, size)
            return
        whole: dict[int, Home] = {}
        for word in self.memory.touched_words(target, size):
            if word >= target and word + self._word_bytes <= target + size:
                whole[word] = self._value_at(word - target + source)
        self._refer(whole.items())

    def replicate_words(self, target: int, source: int, size: int) -> None:
        """Make every word of a fresh object a replica of ``source`` (``byval`` arguments)."""
        self._refer([(target + k, self._value_at(source + k)) for k in range(0, size, self._word_bytes)])


@lru_cache(maxsize=4096)
def leaves(type_: IrType, offset: int = 0) -> tuple[tuple[int, IrType], ...]:
    """Return byte offset and type of every scalar of ``type_``; vectors of bits count as one scalar."""
    if type_.kind not in _AGGREGATES:
        return ((offset, type_),)
    if type_.kind == "vector" and type_.elements[0].bits == 1:
        return ((offset, IrType("int", f"i{type_.count}", type_.count)),)
    found: list[tuple[int, IrType]] = []
    members = type_.elements if type_.kind == "struct" else type_.elements * type_.count
    for index, member in enumerate(members):
        found.extend(leaves(member, offset + field_offset_bytes(type_, index)))
    return tuple(found)
