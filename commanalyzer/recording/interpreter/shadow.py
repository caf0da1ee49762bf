"""Label rules of memory: what a load reads, what a store creates, what a copy replicates.

Paper Section 4.1, Algorithms 1 and 2, on aligned words of 4 bytes, or of 1:

* a load has the values that live in its words as sources;
* a store of an exact copy replicates: the words refer to the value, nothing flowed;
* any other store creates a new version at its home, with the register's labels as sources.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Set
from functools import lru_cache

from commanalyzer.foundation.flows import SourceRole
from commanalyzer.program.ir.model import IrType
from commanalyzer.program.ir.types import field_offset_bytes, size_bytes
from commanalyzer.recording.interpreter.memory import Memory
from commanalyzer.recording.interpreter.values import NO_LABELS, Chain, Home, Labels, Value, union

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
        self._memory, self._word_bytes = memory, memory.word_bytes
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
            self._memory.own(address, size := size_bytes(type_))
            self._refer(zip(range(address, address + size, self._word_bytes), value.exact, strict=False))
            return None
        chain: Chain | None = None
        for offset, member in leaves(type_):
            size = size_bytes(member)
            self._memory.own(address + offset, size)
            if member.kind != "ptr":
                chain = self.create(address + offset, value.labels)
                if chain.sink.kind == "temporary":  # the version of a workspace lives in the words touched
                    words = self._memory.touched_words(address + offset, size)
                    self._words_of[chain.sink] = len(words)
                    for word in words:
                        self._memory.set_value_at(word, chain.sink)
        return chain

    def create(self, address: int, labels: Labels) -> Chain:
        """Count a new version at the word of ``address``; its words are left to the caller."""
        home = self._memory.own_home(address)
        if home in self._workspace:
            home = Home("temporary", home.object, len(self.chains), 0)
        return self.finish(home, labels)

    def _value_at(self, address: int) -> Home:
        home = self._memory.value_at(address)
        return NOTHING_HOME if home in self._workspace else home

    def _refer(self, words: Iterable[tuple[int, Home]]) -> None:
        """Words refer to the values of homes.

        A version of a workspace that arrives elsewhere is a new version there; neighbouring words with the
        same version are one value, as many as it takes.
        """
        before, taken = None, 0
        for address, home in words:
            if home.kind == "temporary" and self._memory.own_home(address) not in self._workspace:
                self._memory.set_value_at(address, None)
                if home != before or taken == self._words_of.get(home):
                    taken = 0
                    self.create(address, {} if home == NOTHING_HOME else {home: SourceRole.DATA})
                taken += 1
            else:
                self._memory.set_value_at(address, home)
            before = home

    def finish(self, home: Home, labels: Labels) -> Chain:
        """Count a version of what is no memory: a value that leaves the program (Section 4.1), a register."""
        chain = Chain(home, frozenset(item for item in labels.items() if item[0].kind != "constant"))
        self.chains[chain] += 1
        return chain

    def fill(self, address: int, size: int) -> None:
        """Apply memset: every touched word gets a value without sources."""
        for word in self._memory.touched_words(address, size):
            self.create(max(word, address), NO_LABELS)
        self._memory.own(address, size)

    def copy(self, target: int, source: int, size: int) -> None:
        """Apply memcpy/memmove; call it before the bytes move.

        Whole words are replicated when both sides are equally aligned; words that are touched in part keep
        what they hold. Between differently aligned addresses nothing can be followed by words: those that
        are touched become values of their own, and no flow is known (the tool warns about such copies).
        """
        if (target - source) % self._word_bytes:
            if size:
                self._memory.own(target, size)
            return
        whole: dict[int, Home] = {}
        for word in self._memory.touched_words(target, size):
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
