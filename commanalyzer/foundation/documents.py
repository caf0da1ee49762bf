"""Text files from anybody: JSON, TOML and CSV. Whatever is wrong with one is a :class:`ValueError`.

The parsers of the standard library also end with a full stack, with numbers that fit into no variable, and
with errors of their own.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import math
import re
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeAlias, TypeVar, get_args, get_origin, get_type_hints

import msgspec
import numpy as np
from numpy.typing import NDArray

from commanalyzer.foundation.errors import ArtifactError, CommAnalyzerError

_MOST = (1 << 63) - 1
_T = TypeVar("_T")
Parsed: TypeAlias = Any  # what a parser returned: of any type until it is checked
Fields: TypeAlias = dict[str, Any]  # an object of a document
Positive = Annotated[float, msgspec.Meta(gt=0, le=sys.float_info.max)]
Count = Annotated[int, msgspec.Meta(ge=1)]
_STEP = re.compile(r"\.(\w+)|\[(\d+)\]")
_RUN = ("=", "+", "-", "@", "\t")  # with which what a spreadsheet runs begins
_NO_TEXTS: Mapping[type, Callable[[str], object]] = {}
# What reading something else than what is expected ends with.
_DAMAGED = (LookupError, TypeError, AttributeError, ValueError, ArithmeticError, EOFError, CommAnalyzerError)


def parse_json(text: str | bytes, *, is_finite: bool = False, schema: str = "") -> Parsed:
    """Content of a JSON document; with ``is_finite``, numbers that are infinite or none are refused, too.

    Raises:
        ValueError: If it is none, is nested too deeply, or has a whole number beyond 64 bits, or is of
            another ``schema`` than the one that is given.
    """
    content = _parsed(json.loads, text, "JSON", is_finite=is_finite)
    if schema and content["schema"] != schema:
        raise ValueError(f"schema {content['schema']}")
    return content


@contextlib.contextmanager
def reading(
    path: Path, what: str, *, hint: str = "", error: type[CommAnalyzerError] = ArtifactError
) -> Iterator[None]:
    """Whatever reading ``path`` stumbles over is an ``error``: expected ``what``, found something else."""
    try:
        yield
    except OSError as cause:
        found = cause.strerror or str(cause)
        raise error(f"expected {what}, found: {found}", where=str(path), hint=hint) from cause
    except _DAMAGED as cause:
        if isinstance(cause, CommAnalyzerError) and str(path) in cause.where:
            raise
        found = {KeyError: f"no {cause}", UnicodeDecodeError: "no text"}.get(type(cause), str(cause))
        raise error(f"expected {what}, found: {found}", where=str(path), hint=hint) from cause


def load_document(path: Path, kind: str, schema: int, *, what: str, hint: str = "") -> Fields:
    """Content of a JSON file of this tool; an :class:`ArtifactError` if it is missing or another.

    It must say that it is of this ``kind`` and of a ``schema`` that is understood: this one or an older one.
    ``what`` it is called in messages, the ``hint`` says how it is made.
    """
    with reading(path, what, hint=hint):
        content = parse_json(path.read_text(encoding="utf-8"), is_finite=True)
    if not isinstance(content, dict) or content.get("kind") != kind:
        raise ArtifactError(f"expected a file of kind {kind}, found another", where=str(path), hint=hint)
    if not isinstance(content.get("schema"), int) or content["schema"] > schema:
        raise ArtifactError(
            f"expected schema {schema} or older, found {content.get('schema')}",
            where=str(path),
            hint="read it with a newer version of commanalyzer",
        )
    return content


def typed(content: object, kind: type[_T], texts: Mapping[type, Callable[[str], object]] = _NO_TEXTS) -> _T:
    """Parsed JSON or TOML as a value of ``kind``; objects are data classes or :class:`msgspec.Struct`.

    Arrays of numpy may be in it. ``texts`` say how values are read that stand there as text. A
    :class:`ValueError` says what was expected, found and where (``$.tasks[0].name``).
    """

    def value(own: type, found: object) -> object:
        if own is object:
            return found
        if get_origin(own) is np.ndarray:
            return np.array(found, dtype=get_args(get_args(own)[1])[0])
        return texts[own](msgspec.convert(found, str))

    try:
        return msgspec.convert(content, kind, dec_hook=value)
    except msgspec.ValidationError as error:
        raise ValueError(_explained(str(error), content, kind)) from error


def _explained(text: str, content: Parsed, kind: object) -> str:
    """A message of msgspec with the wrong value, and the words that are known, where it says which it is."""
    said, _, place = text.replace("`", "").partition(" - at ")
    said, _, found = said.partition(", got ")
    if said.startswith(("Expected ", "Invalid enum")) and "..." not in place:
        for key, index in _STEP.findall(place):
            content = content[key or int(index)]
            kind = get_type_hints(kind).get(key) if key else get_args(kind)[0]
            kind = get_args(kind)[0] if type(None) in get_args(kind) else kind
        found = repr(content)
        said = said if said[0] == "E" else f"Expected {' or '.join(get_args(kind))}"
    return f"{said[0].lower()}{said[1:]}{found and f', found {found}'}{place and f' at {place}'}"


def document_text(content: object) -> str:
    """JSON text of builtin values and of what :func:`typed` makes."""
    return json.dumps(msgspec.to_builtins(content, enc_hook=_plain), indent=1) + "\n"


def _plain(value: object) -> object:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else str(value)


def parse_toml(text: str) -> Fields:
    """Content of a TOML document; a :class:`ValueError` as of :func:`parse_json`."""
    return dict(_parsed(tomllib.loads, text, "TOML", is_finite=False))


def csv_text(rows: Iterable[Iterable[object]]) -> str:
    """Lines of a CSV file, in which texts that a spreadsheet would run stand behind an apostrophe (OWASP)."""
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows(map(_safe, row) for row in rows)
    return stream.getvalue()


def _safe(cell: object) -> object:
    cell = cell.replace("\r", " ") if isinstance(cell, str) else cell  # csv writes it as it is
    if not isinstance(cell, str) or not cell.startswith(_RUN):
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell  # a number with a sign


def read_csv(path: Path) -> list[list[str]]:
    """Cells of the lines of a CSV file (else a :class:`ValueError`); no apostrophes of :func:`csv_text`."""
    with path.open(newline="", encoding="utf-8") as stream:
        try:
            lines = list(csv.reader(stream))
        except csv.Error as error:
            raise ValueError(str(error)) from error
    return [[cell[cell.startswith("'") and cell[1:].startswith(_RUN) :] for cell in line] for line in lines]


def whole_numbers(cells: Sequence[str]) -> NDArray[np.int64]:
    """int64, the numbers in these cells; a :class:`ValueError` if one is no whole number of 64 bits."""
    try:
        return np.array(cells, dtype=np.int64)
    except OverflowError as error:
        raise ValueError("a number beyond 64 bits") from error


def number(value: object) -> float:
    """A number of a document; a :class:`TypeError` if it is something else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"expected a number, found {type(value).__name__}")
    return float(value)


def plain(value: float) -> int | float:
    """The number as documents have it: whole ones that are exact (below 2^53) without a point."""
    value = float(value)
    return int(value) if value.is_integer() and abs(value) < 1 << 53 else value


def _parsed(parse: Callable[[Parsed], Parsed], text: str | bytes, name: str, *, is_finite: bool) -> Parsed:
    try:
        content = parse(text)
    except (RecursionError, ValueError) as error:
        raise ValueError(f"no {name}: {error}") from error
    waiting = [content]  # numbers that computing with them would stumble over
    while waiting:
        item = waiting.pop()
        if isinstance(item, int) and not -_MOST <= item <= _MOST:
            raise ValueError(f"a whole number of {item.bit_length()} bits, which is more than 64")
        if is_finite and isinstance(item, float) and not math.isfinite(item):
            raise ValueError(f"the number {item}")
        waiting.extend(item.values() if isinstance(item, dict) else item if isinstance(item, list) else ())
    return content
