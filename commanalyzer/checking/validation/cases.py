"""Validation cases: the data file -> workloads with their sizes, process grids, owners and excesses.

The file (``workloads/validation.toml``) describes its own keys.

Whole-number formulas of the data file of validation cases: ``8 * (p - 1)`` with named values.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from commanalyzer.foundation.documents import Fields, parse_toml, reading, typed
from commanalyzer.foundation.errors import ConfigError

_BINARY: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_FUNCTIONS: dict[str, Callable[..., int]] = {"min": min, "max": max}


def evaluate(formula: str | int, values: Mapping[str, int]) -> int:
    """Value of ``formula`` (+ - * // % **, min, max); a :class:`ConfigError` if it is none or names more."""
    try:
        return _value(ast.parse(str(formula), mode="eval").body, values)
    except (SyntaxError, KeyError, TypeError, ZeroDivisionError) as error:
        known = ", ".join(sorted(values))
        raise ConfigError(
            f"expected a formula of whole numbers and [{known}], found {formula!r} ({error})"
        ) from error


def _value(node: ast.expr, values: Mapping[str, int]) -> int:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.Name):
        return values[node.id]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand, values)
    if isinstance(node, ast.BinOp):
        return _BINARY[type(node.op)](_value(node.left, values), _value(node.right, values))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        return _FUNCTIONS[node.func.id](*(_value(argument, values) for argument in node.args))
    raise TypeError(f"no {type(node).__name__} here")


Side = Literal["counted", "predicted"]
Tasks = Literal["", "most", "highest"]


@dataclass(frozen=True, slots=True)
class ArrayBlocks:
    """Owners of the elements of all arrays with so many elements, as the MPI program divides them."""

    # formulas, elements per dimension, the slowest first; their product finds the arrays
    shape: tuple[str, ...]
    # formulas, points that the process grid divides, per divided dimension (the first ones of ``shape``).
    # With no formula, all elements belong to rank 0
    points: tuple[str, ...]
    # index of the first point; what lies before it or behind the last one belongs to its neighbour
    shift: int = 0
    leads: bool = False  # tasks go where these arrays are, if they use any of them


@dataclass(frozen=True, slots=True)
class Excess:
    """Bytes that one side has and the other has not, for a reason that is known."""

    name: str
    # ``counted``: the MPI program sends them without need. ``predicted``: the model charges what the program
    # has already received before its main loop, or what is no communication
    side: Side
    bytes: str  # formula; empty if ``counts`` has the numbers
    # bytes by ``ARGUMENTS on P``, where they depend on the data
    counts: Mapping[str, int] = field(hash=False)
    why: str  # a sentence


@dataclass(frozen=True, slots=True)
class CaseProgram:
    """A sequential program, its MPI counterpart and the runs to compare."""

    name: str  # name; several entries of one name are variants of one workload
    sources: tuple[Path, ...]  # files of the sequential program
    mpi_sources: tuple[Path, ...]  # files of the MPI program
    flags: tuple[str, ...]  # compiler flags of both
    region: str  # function that holds the sequential main loop
    counted_region: str  # marked region of the MPI program; empty if ``MPI_Pcontrol`` encloses its main loop
    # names of the leading whole-number arguments, empty for those that formulas cannot use
    parameters: tuple[str, ...]
    sizes: tuple[tuple[str, ...], ...]  # arguments of the runs, the smallest first
    mpi_arguments: int  # what of the arguments the MPI program takes (their number), -1 for all
    # process grid by number of processes, as the MPI program takes it; empty text if it takes none
    grids: Mapping[int, str] = field(hash=False)
    # (argument, replacement) to analyse the same problem in an order that blocks describe
    own_replaces: tuple[tuple[str, str], ...]
    arrays: tuple[ArrayBlocks, ...]  # owners in the MPI program
    # how connected values outside these arrays (the work on one element) are placed: where ``most`` of the
    # values are that they use, at the ``highest`` rank of them; empty: one by one
    tasks: Tasks
    excesses: tuple[Excess, ...]  # known differences at the MPI program's own decomposition
    note: str  # sentences about what the table shows

    def values(self, arguments: Sequence[str], nodes: int) -> dict[str, int]:
        """What formulas may name: parameters, p, extents g0, g1, g2 of the process grid."""
        grid = self.extents(nodes)
        named = zip(self.parameters, arguments, strict=False)
        return {
            **{name: int(text) for name, text in named if name},
            "p": nodes,
            **{f"g{d}": extent for d, extent in enumerate(grid)},
        }

    def extents(self, nodes: int) -> tuple[int, ...]:
        """Process grid, the slowest dimension first."""
        return tuple(map(int, self.grids[nodes].lstrip("=").split("x")))

    def mpi_words(self, arguments: Sequence[str], nodes: int) -> tuple[str, ...]:
        """Arguments of the MPI program; a grid that begins with ``=`` is not one of them."""
        taken = tuple(arguments if self.mpi_arguments < 0 else arguments[: self.mpi_arguments])
        grid = self.grids[nodes]
        return taken if grid.startswith("=") else (*taken, grid)

    def own_arguments(self, arguments: Sequence[str]) -> tuple[str, ...]:
        """Arguments of the sequential run that is counted at the MPI program's decomposition."""
        replaced = dict(self.own_replaces)
        return tuple(replaced.get(word, word) for word in arguments)

    def excess_bytes(self, arguments: Sequence[str], nodes: int) -> dict[Excess, int]:
        """Known differences of a run, bytes; a :class:`ConfigError` for a wrong formula or no count."""
        return {item: self._excess(item, arguments, nodes) for item in self.excesses}

    def _excess(self, item: Excess, arguments: Sequence[str], nodes: int) -> int:
        if item.bytes:
            return evaluate(item.bytes, self.values(arguments, nodes))
        run = f"{' '.join(arguments)} on {nodes}"
        if run not in item.counts:
            raise ConfigError(f"expected a count of {run!r}, found none", where=f"{self.name}: {item.name}")
        return item.counts[run]


def read_cases(path: Path) -> tuple[CaseProgram, ...]:
    """Workloads in ``path``, whose folder has their files; a :class:`ConfigError` if it is no such file."""
    hint = "run in a checkout of the tool, or name the file with --cases"
    with reading(path, "a file of validation cases", hint=hint, error=ConfigError):
        document = parse_toml(path.read_text(encoding="utf-8"))
        found = tuple(_workload(path.parent, entry) for entry in document["workload"])
    if not found:
        raise ConfigError("expected at least one workload, found none", where=str(path))
    return found


def _workload(folder: Path, entry: Fields) -> CaseProgram:
    """The workload of a table of the file, whose keys may be missing or have other names."""
    optional = {"flags": [], "counted_region": "", "parameters": [], "mpi_arguments": -1, "tasks": ""}
    grids = sorted((int(nodes), grid) for nodes, grid in entry["grids"].items())
    content = {
        **optional,
        **entry,
        "mpi_sources": entry["mpi"],
        "sizes": [text.split() for text in entry["sizes"]],
        "grids": dict(grids),
        "own_replaces": list(entry.get("own_replaces", {}).items()),
        "arrays": entry.get("array", []),
        "excesses": list(map(_excess, entry.get("excess", []))),
        "note": _one_line(entry.get("note", "")),
    }
    return typed(content, CaseProgram, {Path: folder.joinpath})


def _excess(item: Fields) -> Fields:
    counts = item.get("counts", {})
    return {**item, "bytes": "" if counts else item["bytes"], "counts": counts, "why": _one_line(item["why"])}


def _one_line(text: str) -> str:
    return " ".join(text.split())
