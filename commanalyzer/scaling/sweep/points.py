"""Points of a sweep: a grid of program parameters or a list of them, and texts with parameters filled in.

What is done at each point of a sweep: a request of its own, and a name by content for its result.

Two runs of a sweep that would give the same result have the same key, and nothing else has: a key covers the
canonical IR of the program (so also headers), compiler, arguments, options, the content of all files that are
named, and the version of this tool. What the program itself opens is not seen.
"""

from __future__ import annotations

import itertools
import math
import re
import string
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path

from commanalyzer.foundation.documents import read_csv, reading
from commanalyzer.foundation.errors import CommAnalyzerError, ConfigError
from commanalyzer.program.frontend.link import content_key
from commanalyzer.recording.record import compile_program
from commanalyzer.request import AnalysisRequest, CompilerOptions, PartitionRequest
from commanalyzer.result.provenance import collect_provenance, file_hash
from commanalyzer.scaling.sweep.table import RESERVED

MOST_POINTS = 10_000
_RANGE = re.compile(r"(\d+)\.\.(\d+)(?:([:x])(\d+))?")


@dataclass(frozen=True, slots=True)
class Point:
    """One choice of all program parameters: (name, value as text) in the order they were given."""

    values: tuple[tuple[str, str], ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters."""
        return tuple(name for name, _ in self.values)

    @property
    def label(self) -> str:
        """For people: ``n=64 kind=banded``."""
        return " ".join(f"{name}={value}" for name, value in self.values)

    def fill(self, text: str) -> str:
        """``text`` with ``{n}`` replaced by the value of n; ``{{`` and ``}}`` stand for braces.

        Raises ``ConfigError`` if another name stands in braces, or braces do not match.
        """
        values = dict(self.values)
        return "".join(literal + (values[name] if name else "") for literal, name in _pieces(text, values))


@dataclass(frozen=True, slots=True)
class Axis:
    """All values of one parameter of a grid."""

    name: str
    values: tuple[str, ...]


def parse_axis(text: str) -> Axis:
    """Axis of ``n=64,128``, ``n=64..1024x2`` (factor) or ``n=100..500:100`` (step), else ``ConfigError``."""
    name, sign, values = text.partition("=")
    if not sign or not values.strip():
        raise ConfigError(
            f"expected NAME=VALUES such as n=64,128 or n=64..512x2, found {text!r}", where="--param"
        )
    check_name(name.strip(), "--param")
    found = [value for item in values.split(",") for value in _expanded(item.strip(), text)]
    return Axis(name.strip(), tuple(dict.fromkeys(found)))


def grid(axes: Sequence[Axis]) -> tuple[Point, ...]:
    """All combinations of values, the last parameter changing fastest.

    Raises ``ConfigError`` if a parameter is given twice or there are too many points.
    """
    names = [axis.name for axis in axes]
    if len(set(names)) != len(names):
        raise ConfigError(f"expected each parameter once, found {', '.join(names)}", where="--param")
    _check_number(math.prod(len(axis.values) for axis in axes), "--param")
    combinations = itertools.product(*(axis.values for axis in axes))
    return tuple(Point(tuple(zip(names, values, strict=True))) for values in combinations)


def read_points(path: Path) -> tuple[Point, ...]:
    """Points of a CSV file: names of the parameters in its first line, one point per further line.

    Raises ``ConfigError`` if it cannot be read, a name is not usable, or lines differ in length.
    """
    with reading(path, "a CSV file of points", error=ConfigError):
        rows = [[cell.strip() for cell in row] for row in read_csv(path) if row]
    if len(rows) < 2:
        raise ConfigError("expected a line of names and at least one point, found less", where=str(path))
    names = rows[0]
    for name in names:
        check_name(name, str(path))
    wrong = [number for number, row in enumerate(rows, 1) if len(row) != len(names)]
    if wrong or len(set(names)) != len(names):
        found = f"line {wrong[0]}" if wrong else ", ".join(names)
        raise ConfigError(
            f"expected {len(names)} different names and as many values per line, found {found}",
            where=str(path),
        )
    _check_number(len(rows) - 1, str(path))
    points = (Point(tuple(zip(names, row, strict=True))) for row in rows[1:])
    return tuple(dict.fromkeys(points))


def check_name(name: str, where: str) -> None:
    """``ConfigError`` if a parameter's name is no identifier or means something else in the table."""
    if not name.isidentifier():
        raise ConfigError(f"expected a parameter named like a variable, found {name!r}", where=where)
    if name in RESERVED:
        raise ConfigError(
            f"expected a name of its own for a parameter, found {name!r}",
            where=where,
            hint="node counts are given with --nodes; choose another name",
        )


def _pieces(text: str, names: Iterable[str]) -> list[tuple[str, str]]:
    """(literal, name of the parameter after it or empty) of a template."""
    known = set(names)
    try:
        parsed = list(string.Formatter().parse(text))
    except ValueError as error:
        raise _bad_template(text, str(error)) from error
    pieces = []
    for literal, name, form, conversion in parsed:
        if name is not None and (name not in known or form or conversion):
            raise _bad_template(text, f"{{{name}}}, parameters are {', '.join(sorted(known))}")
        pieces.append((literal, name or ""))
    return pieces


def _bad_template(text: str, found: str) -> ConfigError:
    return ConfigError(
        f"expected parameters in braces, found {found}",
        where=text,
        hint="write {{ and }} where braces are meant",
    )


def _expanded(item: str, text: str) -> list[str]:
    match = _RANGE.fullmatch(item)
    if match is None:
        if not item:
            raise ConfigError(f"expected values between commas, found none in {text!r}", where="--param")
        return [item]
    low, high, kind = int(match[1]), int(match[2]), match[3]
    step = int(match[4] or 1)
    if low > high or (kind == "x" and (step < 2 or low < 1)) or step < 1:
        raise ConfigError(
            f"expected an increasing range such as 64..512x2 or 1..9:2, found {item!r}", where="--param"
        )
    if kind != "x":
        _check_number((high - low) // step + 1, "--param")
        return [str(value) for value in range(low, high + 1, step)]
    powers = itertools.takewhile(lambda value: value <= high, (low * step**k for k in itertools.count()))
    return [str(value) for value in powers]


def _check_number(number: int, where: str) -> None:
    if number > MOST_POINTS:
        raise ConfigError(f"expected at most {MOST_POINTS} points, found {number}", where=where)


# Options that do not change a result. Sources are in the key as IR.
_WITHOUT_EFFECT = {"sources", "program_output", "timeout_s", "plan_timeout_s", "check"}
_WITHOUT_EFFECT |= {"memory_limit_bytes", "disk_limit_bytes"}
# Options that only matter after the recording.
_COUNTING = frozenset(field.name for field in fields(PartitionRequest)) - _WITHOUT_EFFECT
_DIGITS = 20


@dataclass(frozen=True, slots=True)
class PointSpec:
    """Everything an executor needs to analyse one point; can be pickled."""

    index: int
    point: Point
    request: AnalysisRequest  # analysis, parameters filled in
    key: str  # name of the result: of the recording, ``-``, of what was counted
    directory: Path  # directory of the sweep, absolute

    @property
    def recording_key(self) -> str:
        """The same for points that differ in what is counted only."""
        return self.key.partition("-")[0]


def filled(base: AnalysisRequest, points: Sequence[Point]) -> tuple[AnalysisRequest, ...]:
    """Requests of all points: ``{name}`` in sources, arguments, flags and file names is the point's value.

    Raises ``ConfigError`` if a name in braces is no parameter, or a parameter is used nowhere.
    """
    texts = [*map(str, base.sources), *base.arguments, *base.compiler.flags, *base.compiler.link_flags]
    texts += [str(path) for path in (base.stdin, base.owner_map) if path is not None]
    names = points[0].names
    used = {name for text in texts for _, name in _pieces(text, names)}
    unused = [name for name in names if name not in used]
    if unused:
        raise ConfigError(
            f"expected every parameter in --args, --cflags or a file name, found {{{unused[0]}}} nowhere",
            where="--param",
            hint=f'for example --args "{{{unused[0]}}}"',
        )
    return tuple(_filled(base, point) for point in points)


def _filled(base: AnalysisRequest, point: Point) -> AnalysisRequest:
    flags, link_flags = (
        tuple(map(point.fill, texts)) for texts in (base.compiler.flags, base.compiler.link_flags)
    )
    return replace(
        base,
        sources=tuple(Path(point.fill(str(source))) for source in base.sources),
        arguments=tuple(map(point.fill, base.arguments)),
        compiler=replace(base.compiler, flags=flags, link_flags=link_flags),
        stdin=base.stdin and Path(point.fill(str(base.stdin))),
        owner_map=base.owner_map and Path(point.fill(str(base.owner_map))),
        program_output="discard",
    )


def specifications(
    points: Sequence[Point], requests: Sequence[AnalysisRequest], directory: Path
) -> tuple[PointSpec, ...]:
    """Specifications with keys; programs are compiled for that (and kept in the cache).

    Raises ``CommAnalyzerError`` if no point has a program that compiles: that of the first one.
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
