"""The kernels of ``workloads/kernels``: what each is run with, and what its plain division sends.

Input: ``workloads/kernels/kernels.toml``. Formulas are Python expressions of the program's arguments, the
number of parts p, the grid p1 x p2 x p3 and the functions of ``formulas``.
"""

import itertools
import math
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.kernels import formulas

FOLDER = Path(__file__).resolve().parents[2] / "workloads" / "kernels"
NODES = (2, 4, 8, 16, 27, 64)
_SUFFIXES = (".c", ".cpp", ".f90")
_FUNCTIONS = {name: value for name, value in vars(formulas).items() if not name.startswith("_")}


@dataclass(frozen=True, slots=True)
class DeclaredArray:
    """An array as the source declares it.

    Attributes:
        name: Name of the variable, member or parameter that the user knows it by.
        shape: Formulas of its extents, slowest dimension first.
        owner: Formula of the part that owns element i, j, k, l; empty: it follows.
    """

    name: str
    at: str
    shape: tuple[str, ...]
    owner: str
    width: int


@dataclass(frozen=True, slots=True, eq=False)
class Kernel:
    """A program and what its plain division sends.

    Attributes:
        name: Name, and of its file without the suffix.
        sizes: Three lists of arguments, the smallest first.
        grid: Dimensions of the grid of nodes; the cheapest grid is the plain one.
        lower: Bytes that no division with equal work stays below, a formula; empty where none is known.
        missed: Why it misses a test today, by the test: ``volume``, ``names`` or ``budget``.
        unchecked: Why counting at the plain division does not give the formula; empty where it does.
        flang: Oldest flang that describes all its arrays; 0 for any.
    """

    name: str
    source: Path
    parameters: tuple[str, ...]
    sizes: tuple[tuple[int, ...], ...]
    grid: int
    formula: str
    lower: str
    arrays: tuple[DeclaredArray, ...]
    missed: Mapping[str, str]
    unchecked: str
    slow: bool
    flang: int

    def plain(self, size: int, nodes: int) -> tuple[int, tuple[int, ...]]:
        """Return the bytes of the plain division and its grid."""
        found = []
        for grid in _grids(nodes, self.grid):
            cost = evaluate(self.formula, self.scope(size, grid))
            if cost < math.inf:
                found.append((round(cost), grid))
        return min(found)

    def least(self, size: int, nodes: int) -> float:
        """Return the bytes that no division with equal work stays below, 0 where none are known."""
        return float(evaluate(self.lower, self.scope(size, (nodes,)))) if self.lower else 0.0

    def scope(self, size: int, grid: tuple[int, ...]) -> dict[str, Any]:
        """Return what a formula may name."""
        padded = (*grid, 1, 1)[:3]
        names = dict(zip(self.parameters, self.sizes[size], strict=True))
        return {**names, "p": math.prod(grid), "p1": padded[0], "p2": padded[1], "p3": padded[2]}

    def extents(self, array: DeclaredArray, size: int) -> tuple[int, ...]:
        return tuple(int(evaluate(extent, self.scope(size, (1,)))) for extent in array.shape)

    def owners(self, array: DeclaredArray, size: int, grid: tuple[int, ...]) -> NDArray[np.int64]:
        """Return int64[elements], the owner of each element in the plain division."""
        extents = self.extents(array, size)
        index = dict(zip("ijkl", np.indices(extents), strict=False))
        found = evaluate(array.owner, {**self.scope(size, grid), **index})
        return np.broadcast_to(np.asarray(found, np.int64), extents).ravel()

    def line(self, array: DeclaredArray) -> int:
        """Return the line of the source on which an array is made.

        Raises:
            ValueError: If its text is on no line or on several.
        """
        lines = self.source.read_text(encoding="utf-8").splitlines()
        found = [number for number, text in enumerate(lines, 1) if array.at in text]
        if len(found) != 1:
            raise ValueError(f"{self.source}: expected {array.at!r} on one line, found it on lines {found}")
        return found[0]


def evaluate(formula: str, names: Mapping[str, Any]) -> Any:
    """Value of a formula of the table (this project's own text)."""
    return eval(formula, {**_FUNCTIONS, **names})


def _grids(nodes: int, dims: int) -> Iterator[tuple[int, ...]]:
    divisors = [d for d in range(1, nodes + 1) if nodes % d == 0]
    return (g for g in itertools.product(divisors, repeat=dims) if math.prod(g) == nodes)


def bare_name(name: str) -> str:
    """Name of an array without those of the structures that it is a member of."""
    return name.replace("->", ".").replace("%", ".").rpartition(".")[2]


@cache
def kernels() -> tuple[Kernel, ...]:
    table = tomllib.loads((FOLDER / "kernels.toml").read_text(encoding="utf-8"))
    return tuple(_kernel(entry, table.get("missed", {})) for entry in table["kernel"])


def _kernel(entry: Mapping[str, Any], missed: Mapping[str, Mapping[str, str]]) -> Kernel:
    name = str(entry["name"])
    files = (FOLDER / (name + suffix) for suffix in _SUFFIXES)
    return Kernel(
        name,
        next(file for file in files if file.exists()),
        tuple(entry["parameters"].split()),
        tuple(tuple(map(int, size.split())) for size in entry["sizes"]),
        int(entry.get("grid", 1)),
        entry["bytes"],
        entry.get("least", ""),
        tuple(_array(key, value) for key, value in entry["arrays"].items()),
        {test: reasons[name] for test, reasons in missed.items() if name in reasons},
        entry.get("unchecked", ""),
        bool(entry.get("slow", False)),
        int(entry.get("flang", 0)),
    )


def _array(name: str, entry: Mapping[str, Any]) -> DeclaredArray:
    return DeclaredArray(
        name, entry["at"], tuple(entry["shape"].split()), entry.get("owner", ""), int(entry.get("width", 8))
    )
