"""Measures the run time of a sequential block over a range of sizes.

A block is a C function ``void f(T *data, size_t n)`` of the user's sources, or a command with ``{n}`` in it.
A function is called on fresh data of a fixed random sequence each time; between two readings of the clock lie
so many calls that the clock's own resolution is below a hundredth.

Reference:
    Calotoiu et al. 2019, Section IV: 256 repetitions of every size. Hoefler, Belli, SC 2015: medians with
    nonparametric confidence intervals, fresh inputs, the clock's resolution stated.

Measured run times of a block: statistics per size, fitted law, and their file.

The file is a document of laws (kind ``commanalyzer.laws``), so that ``compose``, ``fit`` and reports read it;
the times per size stand beside the law.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from commanalyzer.foundation.documents import parse_json, reading, typed
from commanalyzer.foundation.errors import CompileError, ConfigError, TargetRunError
from commanalyzer.foundation.files import scratch_directory, write_text
from commanalyzer.kernels.composition.models import TimeTable
from commanalyzer.machine.statistics import MedianInterval, median_interval
from commanalyzer.program.frontend.toolchain import find_toolchain, run_tool, shell_words
from commanalyzer.result.provenance import collect_provenance, file_hash
from commanalyzer.scaling.laws.document import LawsDocument, laws_json, load_laws
from commanalyzer.scaling.laws.fit import fit_law
from commanalyzer.scaling.laws.law import Law, law_of
from commanalyzer.scaling.laws.terms import Floats

BLOCK_METRIC = "time_s"
_TIMES = "block_times"


@dataclass(frozen=True, slots=True)
class SizeTimes:
    """Times of one size."""

    size: float  # value of the parameter
    seconds: MedianInterval  # median of one call and its confidence interval, seconds
    mean_s: float  # mean of one call, seconds: what a stream of many elements takes
    calls_per_sample: int  # calls between two readings of the clock


@dataclass(frozen=True, slots=True)
class MeasuredBlock:
    """Run time of a block over its sizes."""

    name: str
    parameter: str
    times: tuple[SizeTimes, ...]  # of every size, sizes increasing
    law: Law  # fitted to the medians
    provenance: Mapping[str, object]  # how and where it was measured

    @property
    def table(self) -> TimeTable:
        """Medians over the sizes."""
        return TimeTable(self.parameter, self._column("size"), self._column("median"))

    def _column(self, name: str) -> NDArray[np.float64]:
        values = [t.size if name == "size" else t.seconds.median for t in self.times]
        return np.array(values, dtype=np.float64)


def save_block(block: MeasuredBlock, path: Path, *, force: bool = False) -> None:
    """Write all or nothing; ``ArtifactError`` if the file exists (without ``force``) or is not writable."""
    write_text(path, block_json(block), force=force)


def block_json(block: MeasuredBlock) -> str:
    """JSON text of a measured block."""
    times = {"parameter": block.parameter, "sizes": list(map(_Size.of, block.times))}
    return laws_json(LawsDocument(block.name, (block.law,), block.provenance), **{_TIMES: times})


def load_block(path: Path) -> MeasuredBlock:
    """Block saved in ``path``; ``ArtifactError`` if it is missing, of another kind or damaged."""
    document = load_laws(path)
    hint = "write them with: commanalyzer measure-block ... -o FILE"
    with reading(path, "measured times of a block", hint=hint):
        entry = parse_json(path.read_text(encoding="utf-8"))[_TIMES]
        times = tuple(size.times for size in typed(entry["sizes"], list[_Size]))
        law = law_of(document.laws, BLOCK_METRIC)
        parameter = typed(entry["parameter"], str)
        found = MeasuredBlock(document.program, parameter, times, law, document.provenance)
        _ = found.table
        return found


@dataclass(frozen=True, slots=True)
class _Size:
    """Times of a size as the file has them."""

    size: float
    median_s: float
    low_s: float
    high_s: float
    confidence: float
    samples: int
    mean_s: float
    calls_per_sample: int

    @classmethod
    def of(cls, t: SizeTimes) -> _Size:
        s = t.seconds
        ends = (s.median, s.low, s.high, s.confidence, s.num_values)
        return cls(t.size, *ends, t.mean_s, t.calls_per_sample)

    @property
    def times(self) -> SizeTimes:
        seconds = MedianInterval(self.median_s, self.low_s, self.high_s, self.confidence, self.samples)
        return SizeTimes(self.size, seconds, self.mean_s, self.calls_per_sample)


REPETITIONS = 256  # Section IV of the paper
# Fresh inputs between two readings of the clock. Half as many: more readings, each nearer to the clock's
# resolution; twice as many: nothing but memory.
_BATCH_BYTES = 1 << 24
_MOST_CALLS = 1024
_COMPILE_TIMEOUT_S = 300.0
_HARNESS = Path(__file__).with_name("block_harness.c")


@dataclass(frozen=True, slots=True)
class BlockRequest:
    """What to measure."""

    sources: tuple[Path, ...] = ()  # C files with the function; empty for a command
    function: str = ""
    element: str = "int"  # type of the data, ``int`` or ``double`` and the like
    command: str = ""  # shell-like words with ``{n}``; empty for a function
    sizes: tuple[int, ...] = ()  # increasing
    repetitions: int = REPETITIONS  # samples of every size
    flags: tuple[str, ...] = ("-O2",)  # of the compiler
    timeout_s: float = 600.0  # of the whole measurement, seconds
    seed: int = 1  # of the data

    def __post_init__(self) -> None:
        if bool(self.command) == bool(self.sources):
            raise ConfigError("expected sources and a function, or a command, found both or neither")
        if self.command and "{n}" not in self.command:
            raise ConfigError(
                "expected {n} in the command, where the size goes, found none", where=self.command
            )
        if self.sources and not self.function.isidentifier():
            raise ConfigError(
                f"expected the name of a function, found {self.function!r}",
                hint='--function NAME, a function void NAME(int *data, size_t n); in C++ extern "C"',
            )
        if len(self.sizes) < 2 or min(self.sizes) < 1:
            raise ConfigError("expected two or more sizes, found fewer", hint="--sizes 1024..262144x2")


def measure_block(request: BlockRequest, advance: Callable[[int], None] = lambda size: None) -> MeasuredBlock:
    """Times of every size and the law fitted to their medians.

    ``advance`` is called with every size when it is done.

    Raises:
        CompileError: If the function does not compile or link.
        TargetRunError: If the program fails or takes too long.
    """
    times: list[SizeTimes] = []
    compiler, flags = "", tuple[str, ...]()
    with scratch_directory() as scratch:
        folder = Path(scratch)
        if request.command:
            sample: Callable[[int], tuple[Floats, int]] = _of_command(request)
        else:
            toolchain = find_toolchain()
            compiler, flags = toolchain.version, request.flags
            program = _built(request, folder, [*toolchain.driver("c"), *toolchain.target_flags])
            sample = _of_function(request, program, folder)
        for size in request.sizes:
            seconds, calls = sample(size)
            times.append(SizeTimes(float(size), median_interval(seconds), float(seconds.mean()), calls))
            advance(size)
    made = collect_provenance(
        compiler=compiler,
        flags=flags,
        input_hashes=[(str(p), file_hash(p)) for p in request.sources],
        seed=request.seed,
    )
    how = {"command": request.command, "function": request.function, "element": request.element}
    medians = np.array([t.seconds.median for t in times])
    points = np.array([[t.size] for t in times])
    law = fit_law(points, ["n"], medians, metric=BLOCK_METRIC, families=("pmnf",))
    name = request.function or shell_words(request.command, "--command")[0]
    return MeasuredBlock(name, "n", tuple(times), law, asdict(made) | how)


def _built(request: BlockRequest, folder: Path, driver: Sequence[str]) -> Path:
    program = folder / "block"
    defined = [f"-DBLOCK={request.function}", f"-DELEMENT={request.element}"]
    command = [*driver, *request.flags, *defined, str(_HARNESS), *map(str, request.sources)]
    done = run_tool([*command, "-lm", "-o", str(program)], timeout_s=_COMPILE_TIMEOUT_S)
    if not done.ok:
        raise CompileError(
            f"expected a function void {request.function}({request.element} *data, size_t n), "
            f"found:\n{done.last_lines()}",
            where=" ".join(map(str, request.sources)),
            hint='the sources have no main of their own; in C++ declare the function extern "C"',
        )
    return program


def _of_function(request: BlockRequest, program: Path, folder: Path) -> Callable[[int], tuple[Floats, int]]:
    deadline = time.monotonic() + request.timeout_s

    def sample(size: int) -> tuple[Floats, int]:
        output = folder / "seconds"
        limits = [str(_BATCH_BYTES), str(_MOST_CALLS)]
        words = [str(program), str(output), str(size), str(request.repetitions), str(request.seed), *limits]
        _run(words, deadline, f"{request.function}, size {size}")
        values = np.fromfile(output, dtype=np.float64)
        return values[1:], int(values[0])

    return sample


def _of_command(request: BlockRequest) -> Callable[[int], tuple[Floats, int]]:
    """Wall-clock time of a command, its start included."""
    deadline = time.monotonic() + request.timeout_s

    def sample(size: int) -> tuple[Floats, int]:
        words = [word.replace("{n}", str(size)) for word in shell_words(request.command, "--command")]
        seconds = np.empty(request.repetitions)
        for index in range(request.repetitions):
            start = time.perf_counter()
            _run(words, deadline, " ".join(words))
            seconds[index] = time.perf_counter() - start
        return seconds, 1

    return sample


def _run(words: Sequence[str], deadline: float, where: str) -> None:
    """Run until ``deadline``, seconds of the monotonic clock."""
    try:
        done = run_tool(words, timeout_s=max(deadline - time.monotonic(), 0.1))
    except OSError as error:
        raise ConfigError(f"expected a command, found: {error.strerror}", where=words[0]) from error
    if not done.ok:
        raise TargetRunError(
            "the measurement took too long"
            if done.exit_status is None
            else f"the block ended with status {done.exit_status}: {done.last_lines(3) or 'no message'}",
            where=where,
            hint="--timeout, fewer --repetitions or smaller --sizes; functions are void NAME(int *, size_t)",
        )
