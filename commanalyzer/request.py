"""What the user asks for: every option of one analysis, validated."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count, takewhile
from operator import index
from pathlib import Path
from typing import Literal, TypeAlias, TypeVar, cast

from commanalyzer.foundation.errors import ConfigError
from commanalyzer.foundation.work import WorkWeights
from commanalyzer.machine.parameters import MachineParameters

Model = Literal["volume", "hpdc18"]
ProgramOutput = Literal["inherit", "stderr", "discard"]
Coarsen = Literal["auto", "never"] | int
Effort = Literal["quick", "normal", "thorough"]
EFFORTS: tuple[Effort, ...] = ("quick", "normal", "thorough")
MODELS: tuple[Model, ...] = ("volume", "hpdc18")
MAX_NODES = 1_000_000
DEFAULT_NODES = (2, 4, 8, 16)
DEFAULT_IMBALANCE = 0.03
ONE_DIVISION = "all rules make one division; commanalyzer partition RESULT --decompose RULE counts another"
_T = TypeVar("_T")
Nodes: TypeAlias = int | str | Iterable[int]
_ITEM = re.compile(r"(\d+)(?:(-|\.\.)(\d+)(?:([:x])(\d+))?)?")
_MOST_COUNTS = 1000


def node_counts(given: Nodes) -> tuple[int, ...]:
    """Increasing distinct node counts: of ``16``, ``[4, 16]``, or a text with commas between items.

    An item is a count (``4``), a range (``4-8``), a range with a step (``4-16:4``), a geometric sequence
    (``2..64x2``), or the powers of two up to a count (``..64``).

    Raises:
        ConfigError: If an item has another form, is 0, runs backwards or yields too many counts.
    """
    try:
        if not isinstance(given, str):
            whole = sorted(set(map(index, given if isinstance(given, Iterable) else (given,))))
            _require(min(whole, default=1) >= 1, f"expected node counts of at least 1, found {whole}")
            return tuple(whole)
    except TypeError as error:
        raise ConfigError(f"expected node counts such as 16, '4,16' or [4, 16], found {given!r}") from error
    counts = {nodes for item in given.split(",") for nodes in _item_counts(item.strip())}
    _require(len(counts) <= _MOST_COUNTS, f"expected at most {_MOST_COUNTS} node counts, found {len(counts)}")
    return tuple(sorted(counts))


def _item_counts(item: str) -> Iterator[int]:
    match = _ITEM.fullmatch(f"1{item}x2" if item.startswith("..") else item)
    if match is None:
        raise ConfigError(f"expected counts such as 2,4,8-16 or 4-64:4 or 2..64x2, found {item!r}")
    first, _, last, kind, step_text = match.groups()
    low, high, step = int(first), int(last or first), int(step_text or 1)
    _require(
        1 <= low <= high <= MAX_NODES,
        f"expected increasing node counts from 1 to {MAX_NODES}, found {item!r}",
    )
    _require(
        step >= (2 if kind == "x" else 1),
        f"expected a positive step, or a factor of at least 2, found {item!r}",
    )
    found = (low * step**k for k in count()) if kind == "x" else count(low, step)
    return takewhile(lambda nodes: nodes <= high, found)


@dataclass(frozen=True, slots=True)
class CompilerOptions:
    """How the user's sources are compiled and linked.

    Attributes:
        command: The user's compiler command; empty for ``$CC`` or the bundled clang.
        flags: Compiler flags.
        link_flags: Linker flags.
        fortran: The user's flang; empty for ``$COMMANALYZER_FC`` or one on the search path.
    """

    command: str = ""
    flags: tuple[str, ...] = ()
    link_flags: tuple[str, ...] = ()
    fortran: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionRequest:
    """How a recorded graph is divided and counted, as in :class:`commanalyzer.api.AnalyzeOptions`.

    Node counts increase. Of a result, an empty ``machine`` keeps the machine, no weights keep the weights.

    Raises:
        ConfigError: If a value is out of range.
    """

    nodes: tuple[int, ...] = field(default=DEFAULT_NODES, kw_only=False)
    models: tuple[Model, ...] = ("volume",)
    high: float = 0.9
    machine: MachineParameters = field(default_factory=MachineParameters)
    seed: int = 1
    imbalance: float = DEFAULT_IMBALANCE
    check: bool = False
    decompose: tuple[str, ...] = ()
    owner_map: Path | None = None
    coarsen: Coarsen = "auto"
    work_weights: WorkWeights | None = None
    effort: Effort = "normal"
    time_limit_s: float | None = None

    def __post_init__(self) -> None:
        nodes = self.nodes
        _require(bool(nodes), "expected at least one node count, found none", "--nodes")
        low, high = min(nodes), max(nodes)
        _require(low >= 1, f"expected node counts of at least 1, found {low}", "--nodes")
        _require(high <= MAX_NODES, f"expected node counts up to {MAX_NODES}, found {high}", "--nodes")
        is_ordered = list(nodes) == sorted(set(nodes))
        _require(is_ordered, f"expected increasing node counts, found {nodes}", "--nodes")
        _require(bool(self.models), "expected at least one model, found none", "--model")
        for model in self.models:
            _require(model in MODELS, f"expected one of {', '.join(MODELS)}, found {model!r}", "--model")
        for name in ("high", "imbalance"):
            share = getattr(self, name)
            _require(0.0 < share < 1.0, f"expected a value between 0 and 1, found {share}", f"--{name}")
        _require(0 <= self.seed < 2**31, f"expected a seed from 0 to 2^31 - 1, found {self.seed}", "--seed")
        known = f"expected one of {', '.join(EFFORTS)}, found {self.effort!r}"
        _require(self.effort in EFFORTS, known, "--effort")
        _require_positive("time", time_limit=self.time_limit_s)
        names = [re.split(r"[=\[]", rule)[0].strip() for rule in self.decompose if rule.strip()[:1] != "*"]
        text = f"expected one rule for each array, found {', '.join(self.decompose)}"
        _require(len(set(names)) == len(names), text, "--decompose", ONE_DIVISION)
        size = self.coarsen
        is_size = size in ("auto", "never") or (isinstance(size, int) and size >= 1)
        _require(is_size, f"expected auto, never or a number of vertices, found {size!r}", "--coarsen")


@dataclass(frozen=True, slots=True)
class AnalysisRequest(PartitionRequest):
    """Everything that determines the result of one analysis.

    It is as in :class:`commanalyzer.api.AnalyzeOptions`, beside:

    Attributes:
        sources: C, C++, Fortran and LLVM IR files of the program; here and elsewhere, a text is a path, too.
        arguments: Arguments of the program.
        compiler: Compiler options.

    Raises:
        ConfigError: If a value is out of range.
    """

    nodes: tuple[int, ...] = field(default=DEFAULT_NODES, kw_only=True)
    sources: tuple[Path, ...]
    arguments: tuple[str, ...] = ()
    regions: tuple[str, ...] = ()
    control_flows: bool = True
    private_temporaries: bool = True
    private: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()
    library_models: tuple[Path, ...] = ()
    compiler: CompilerOptions = field(default_factory=CompilerOptions)
    stdin: Path | None = None
    program_output: ProgramOutput = "inherit"
    timeout_s: float | None = None
    plan_timeout_s: float = 120.0  # some 100,000 hooks, a hundred times what most programs have
    memory_limit_bytes: int | None = None
    disk_limit_bytes: int | None = None
    allow_failure: bool = False
    exact: bool | None = None

    def __post_init__(self) -> None:
        for name in ("sources", "library_models"):
            object.__setattr__(self, name, tuple(map(Path, several(getattr(self, name)))))
        for name in ("stdin", "owner_map"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, Path(getattr(self, name)))
        _require(bool(self.sources), "expected at least one source file, found none", "SOURCES")
        PartitionRequest.__post_init__(self)
        _require_positive("time", timeout=self.timeout_s, plan_timeout=self.plan_timeout_s)
        _require_positive("size", memory_limit=self.memory_limit_bytes, disk_limit=self.disk_limit_bytes)


def several(given: _T | Iterable[_T]) -> tuple[_T, ...]:
    """One text or path, or several of them, as a tuple."""
    return (cast(_T, given),) if isinstance(given, str | os.PathLike) else tuple(cast(Iterable[_T], given))


def _require(condition: bool, message: str, where: str = "", hint: str = "") -> None:
    if not condition:
        raise ConfigError(message, where=where, hint=hint)


def _require_positive(what: str, **options: float | None) -> None:
    for name, value in options.items():
        where = f"--{name.replace('_', '-')}"
        _require(value is None or value > 0, f"expected a positive {what}, found {value}", where)
