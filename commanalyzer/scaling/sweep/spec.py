"""What is done at each point of a sweep: a request of its own, and a name by content for its result.

Two runs of a sweep that would give the same result have the same key, and nothing else has: a key covers the
canonical IR of the program (so also headers), compiler, arguments, options, the content of all files that are
named, and the version of this tool. What the program itself opens is not seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path

from commanalyzer.foundation.errors import CommAnalyzerError, ConfigError
from commanalyzer.program.frontend.cache import content_key
from commanalyzer.recording.record import compile_program
from commanalyzer.request import AnalysisRequest, CompilerOptions, PartitionRequest
from commanalyzer.result.provenance import collect_provenance, file_hash
from commanalyzer.scaling.sweep.points import Point, names_in

# Options that do not change a result. Sources are in the key as IR.
_WITHOUT_EFFECT = {"sources", "program_output", "timeout_s", "plan_timeout_s", "check"}
_WITHOUT_EFFECT |= {"memory_limit_bytes", "disk_limit_bytes"}
# Options that only matter after the recording.
_COUNTING = frozenset(field.name for field in fields(PartitionRequest)) - _WITHOUT_EFFECT
_DIGITS = 20


@dataclass(frozen=True, slots=True)
class PointSpec:
    """Everything an executor needs to analyse one point; can be pickled.

    Attributes:
        index: Place in the sweep.
        point: Program parameters.
        request: Analysis, parameters filled in.
        key: Name of the result: of the recording, ``-``, of what was counted.
        directory: Directory of the sweep, absolute.
    """

    index: int
    point: Point
    request: AnalysisRequest
    key: str
    directory: Path

    @property
    def recording_key(self) -> str:
        """The same for points that differ in what is counted only."""
        return self.key.partition("-")[0]


def filled(base: AnalysisRequest, points: Sequence[Point]) -> tuple[AnalysisRequest, ...]:
    """Requests of all points: ``{name}`` in sources, arguments, flags and file names is the point's value.

    Raises:
        ConfigError: If a name in braces is no parameter, or a parameter is used nowhere.
    """
    compiler = base.compiler
    texts = [*map(str, base.sources), *base.arguments, *compiler.flags, *compiler.link_flags]
    texts += [str(path) for path in (base.stdin, base.owner_map) if path is not None]
    names = points[0].names
    unused = [name for name in names if name not in names_in(texts, names)]
    if unused:
        raise ConfigError(
            f"expected every parameter in --args, --cflags or a file name, found {{{unused[0]}}} nowhere",
            where="--param",
            hint=f'for example --args "{{{unused[0]}}}"',
        )
    return tuple(_filled(base, point) for point in points)


def _filled(base: AnalysisRequest, point: Point) -> AnalysisRequest:
    compiler = base.compiler

    def path(given: Path | None) -> Path | None:
        return None if given is None else Path(point.fill(str(given)))

    return replace(
        base,
        sources=tuple(Path(point.fill(str(source))) for source in base.sources),
        arguments=tuple(map(point.fill, base.arguments)),
        compiler=replace(
            compiler,
            flags=tuple(map(point.fill, compiler.flags)),
            link_flags=tuple(map(point.fill, compiler.link_flags)),
        ),
        stdin=path(base.stdin),
        owner_map=path(base.owner_map),
        program_output="discard",
    )


def specifications(
    points: Sequence[Point], requests: Sequence[AnalysisRequest], directory: Path
) -> tuple[PointSpec, ...]:
    """Specifications with keys; programs are compiled for that (and kept in the cache).

    Raises:
        CommAnalyzerError: If no point has a program that compiles: that of the first one.
    """
    _program.cache_clear()  # sources may have changed since the last sweep of this process
    errors = [_program(r.sources, r.compiler, r.regions).error for r in requests]
    if errors[0] is not None and all(error is not None for error in errors):
        raise errors[0]
    pairs = enumerate(zip(points, requests, strict=True))
    return tuple(PointSpec(i, p, r, key_of(p, r), directory.absolute()) for i, (p, r) in pairs)


def key_of(point: Point, request: AnalysisRequest) -> str:
    """Key of a point; where the program does not compile, the key says so and analysing it will fail."""
    program = _program(request.sources, request.compiler, request.regions)
    recording = [repr(point.values), *_tool(), *program.content]
    counting: list[str] = []
    for field in fields(request):
        if field.name not in _WITHOUT_EFFECT:
            entry = f"{field.name}={_content(getattr(request, field.name))}"
            (counting if field.name in _COUNTING else recording).append(entry)
    return f"{content_key(recording)[:_DIGITS]}-{content_key(counting)[:_DIGITS]}"


@cache
def _tool() -> tuple[str, str]:
    here = collect_provenance(compiler="", flags=(), input_hashes=(), seed=0)
    return here.tool_version, here.git_revision


@dataclass(frozen=True, slots=True)
class _Program:
    """What a key needs to know of a program, and why it does not compile."""

    content: tuple[str, ...]
    error: CommAnalyzerError | None = None


@cache
def _program(sources: tuple[Path, ...], compiler: CompilerOptions, regions: tuple[str, ...]) -> _Program:
    try:
        frontend = compile_program(AnalysisRequest(sources, compiler=compiler, regions=regions))
    except CommAnalyzerError as error:
        return _Program((str(error), *(_content(source) for source in sources)), error)
    inputs = [_content(path) for path in frontend.link_inputs]
    parts = (content_key([frontend.ir_text]), frontend.toolchain.version, *inputs, *frontend.link_flags)
    return _Program(parts)


def _content(value: object) -> str:
    """A file by its content, everything else as it is written."""
    if isinstance(value, Path):
        return file_hash(value) if value.is_file() else f"no file {value}"
    if isinstance(value, tuple):
        return repr([_content(item) for item in value])
    return repr(value)
