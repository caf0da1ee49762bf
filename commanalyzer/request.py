"""What the user asks for: every option of one analysis, validated."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

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
        size = self.coarsen
        is_size = size in ("auto", "never") or (isinstance(size, int) and size >= 1)
        _require(is_size, f"expected auto, never or a number of vertices, found {size!r}", "--coarsen")


@dataclass(frozen=True, slots=True)
class AnalysisRequest(PartitionRequest):
    """Everything that determines the result of one analysis.

    It is as in :class:`commanalyzer.api.AnalyzeOptions`, beside:

    Attributes:
        sources: C, C++, Fortran and LLVM IR files of the program.
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
        _require(bool(self.sources), "expected at least one source file, found none", "SOURCES")
        PartitionRequest.__post_init__(self)
        _require_positive("time", timeout=self.timeout_s, plan_timeout=self.plan_timeout_s)
        _require_positive("size", memory_limit=self.memory_limit_bytes, disk_limit=self.disk_limit_bytes)


def _require(condition: bool, message: str, where: str) -> None:
    if not condition:
        raise ConfigError(message, where=where)


def _require_positive(what: str, **options: float | None) -> None:
    for name, value in options.items():
        where = f"--{name.replace('_', '-')}"
        _require(value is None or value > 0, f"expected a positive {what}, found {value}", where)
