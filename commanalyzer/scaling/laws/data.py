"""Observations to fit laws to: of a sweep, of single results, or of any CSV table."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from commanalyzer.foundation.documents import read_csv, reading
from commanalyzer.foundation.errors import ArtifactError, ConfigError, FitError
from commanalyzer.machine.roofline.traffic import SUMMARY
from commanalyzer.result.results import AnalysisResult
from commanalyzer.scaling.laws.terms import NODES, Floats, most_cubic_grid, point_text
from commanalyzer.scaling.sweep.table import (
    COLUMNS,
    FIRST,
    NAMES,
    PER_POINT,
    Cell,
    SweepTable,
    load_table,
    parameter_values,
    table_from_lines,
    table_lines,
)

DEFAULT_METRICS = (
    *("regular_bytes", "regular_messages", "comm_bytes", "messages"),
    *("intensity", "work_flops", "vcg_words"),
)
# Laws of these are only needed for bounds and allocations on a machine.
MACHINE_METRICS = ("footprint_bytes", *(f"{which}{name}" for which in ("", "regular_") for name in SUMMARY))
ALIASES: Mapping[str, str] = {"work": "work_flops", "bytes": "comm_bytes", "vcg": "vcg_words"}


@dataclass(frozen=True, slots=True)
class Observations:
    """Points and what was seen there."""

    parameters: tuple[str, ...]  # names; the node count is ``p``
    points: Floats  # [N, K]
    metrics: Mapping[str, Floats]  # float64[N] by name; NaN where not known
    # Metrics that do not depend on the node count
    per_program: frozenset[str] = field(default_factory=frozenset)
    source: str = ""  # what they were read from
    left_out: tuple[str, ...] = ()  # points whose plain blocks form another grid than those of the others
    grid: int = 0  # dimensions of the most cubic grids that all plain blocks form; 0 where they do not

    def knows(self, metric: str) -> bool:
        """It has a value somewhere."""
        return metric in self.metrics and bool(np.isfinite(self.metrics[metric]).any())

    def of(self, metric: str) -> tuple[Floats, tuple[str, ...], Floats]:
        """Points float64[n, k], their parameters and the metric float64[n], where it is known.

        Raises ``FitError`` if there is no such metric, or it is known nowhere.
        """
        name = ALIASES.get(metric, metric)
        if name not in self.metrics:
            known = ", ".join(self.metrics)
            raise FitError(f"expected a metric of {known}, found {metric!r}", where=self.source)
        values = self.metrics[name]
        known_rows = np.isfinite(values)
        if not known_rows.any():
            raise FitError(f"expected values of {name}, found none", where=self.source)
        kept = [i for i, p in enumerate(self.parameters) if p != NODES or name not in self.per_program]
        return self.points[known_rows][:, kept], tuple(self.parameters[i] for i in kept), values[known_rows]


def read_observations(
    paths: Sequence[Path | AnalysisResult],
    *,
    model: str = "",
    parameters: Sequence[str] = (),
    arguments: Mapping[str, int] | None = None,
) -> Observations:
    """Observations of a sweep's directory or table, of a CSV file, or of results (``*.cmz``).

    ``paths``: one directory, ``sweep.json`` or CSV file, or results, loaded or not. ``model``: communication
    model; the first one of the table, the leading one of results, when empty. ``parameters``: columns of a
    CSV file that are parameters; in other tables only these are used. ``arguments``: number of the
    command-line argument, from 1, that is a parameter, for results. Raises ``ConfigError`` if a parameter is
    no number, or is missing; ``ArtifactError`` if a file cannot be read.
    """
    path = paths[0]
    if all(isinstance(path, AnalysisResult) or path.suffix == ".cmz" for path in paths):
        return _of_results(paths, model, arguments or {})
    if len(paths) != 1 or isinstance(path, AnalysisResult):
        raise ConfigError("expected one directory or table, or results (*.cmz) only, found several of them")
    if path.is_dir() or path.name == "sweep.json" or _is_sweep_table(path):
        return of_table(load_table(path), model, str(path), parameters)
    return _of_csv(path, parameters)


def of_table(
    table: SweepTable, model: str = "", source: str = "", parameters: Sequence[str] = ()
) -> Observations:
    """Observations of one model of a sweep.

    Raises ``ConfigError`` if the model is not there, or a parameter is text with several values.
    """
    if not len(table):
        raise ConfigError("expected finished points, found none", where=source)
    chosen = model or table.models[0]
    if chosen not in table.models:
        raise ConfigError(f"expected a model of {', '.join(table.models)}, found {chosen!r}", where=source)
    lines = table.of_model(chosen)
    names = [n for n in (parameters or table.parameters) if not _is_one_text(lines.column(n), n, source)]
    points = np.stack([lines.numbers(name) for name in (*names, FIRST)], axis=1)
    numeric = [n for n in NAMES if n != FIRST and lines.column(n).dtype.kind != "U"]
    metrics = {name: lines.numbers(name) for name in numeric}
    grid, other = _grids(lines.column("regular_method").tolist(), points[:, -1])
    metrics |= {n: np.where(other, np.nan, y) for n, y in metrics.items() if n.startswith("regular_")}
    left_out = tuple(
        f"{point_text((*names, NODES), points[i])} is left out: plain blocks on another grid, "
        f"{lines.column('regular_method')[i]}"
        for i in np.flatnonzero(other).tolist()
    )
    return Observations((*names, NODES), points, metrics, frozenset(PER_POINT), source, left_out, grid)


def _grids(methods: Sequence[str], nodes: Floats) -> tuple[int, NDArray[np.bool_]]:
    """Dimensions of the most cubic grids that all points name (else 0), and bool[N], few points on others.

    Another grid balances a small problem better; the formula of the other points does not hold for it.
    """
    found = [re.search(r"\d+(x\d+)*", method) for method in methods]
    grids = [tuple(sorted(map(int, m[0].split("x")), reverse=True)) if m else () for m in found]
    d = max(Counter(map(len, filter(None, grids))).most_common(1), default=(0, 0))[0]
    usual = [most_cubic_grid(int(p), d) for p in nodes.tolist()] if d > 1 else grids
    other = np.array([bool(g) and g != u for g, u in zip(grids, usual, strict=True)])
    if 2 * other.sum() >= len(other):
        return 0, np.zeros_like(other)
    return d if d > 1 and all(grids) else 0, other


def _is_one_text(column: NDArray[np.generic], name: str, source: str) -> bool:
    if column.dtype.kind != "U":
        return False
    if len(np.unique(column)) > 1:
        raise ConfigError(
            f"expected numbers as values of {name}, found texts such as {str(column[0])!r}",
            where=source,
            hint="sweep each of them by itself, or leave it out with --param",
        )
    return True


def _of_results(
    paths: Sequence[Path | AnalysisResult], model: str, arguments: Mapping[str, int]
) -> Observations:
    from commanalyzer.result.artifacts import load

    lines: list[Mapping[str, Cell]] = []
    for path in paths:
        result = path if isinstance(path, AnalysisResult) else load(path)
        own = {name: str(_argument(result, name, number, path)) for name, number in arguments.items()}
        lines += table_lines(result, own)
    source = str(paths[0]) if len(paths) == 1 else f"{len(paths)} results"
    return of_table(table_from_lines(tuple(arguments), lines), model, source)


def _argument(result: AnalysisResult, name: str, number: int, path: Path | AnalysisResult) -> float:
    words = result.command[1:]
    try:
        return float(words[number - 1])
    except (IndexError, ValueError) as error:
        raise ConfigError(
            f"expected argument {number} of the program to be the number {name}, found {' '.join(words)!r}",
            where=str(path),
        ) from error


def _is_sweep_table(path: Path) -> bool:
    try:
        header = next(iter(read_csv(path)), [])
    except (OSError, ValueError):
        return True  # the reader of sweep tables says what is wrong
    return {column.name for column in COLUMNS if column.kind != "number"} <= set(header)


def _of_csv(path: Path, parameters: Sequence[str]) -> Observations:
    with reading(path, "a CSV table with a header"):
        lines = read_csv(path)
    if not lines:
        raise ArtifactError("expected a CSV table with a header, found an empty file", where=str(path))
    header, *rows = lines
    if any(len(row) != len(header) for row in rows):
        raise ArtifactError("expected lines of one length, found others", where=str(path))
    columns = {name: parameter_values([row[i] or "nan" for row in rows]) for i, name in enumerate(header)}
    numbers = {name: np.asarray(c, np.float64) for name, c in columns.items() if c.dtype.kind == "f"}
    names = tuple(parameters) or tuple(n for n in header if n in (NODES, FIRST, "n"))
    missing = [name for name in names if name not in numbers]
    if missing or not names:
        raise ConfigError(
            f"expected columns of numbers named {', '.join(missing) or 'as the parameters'}, "
            f"found the columns {', '.join(header)}",
            where=str(path),
            hint="name the parameters of a table with --param p --param n",
        )
    points = np.stack([numbers[name] for name in names], axis=1)
    metrics = {name: column for name, column in numbers.items() if name not in names}
    renamed = tuple(NODES if name == FIRST else name for name in names)
    return Observations(renamed, points, metrics, source=str(path))
