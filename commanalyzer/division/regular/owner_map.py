"""Owner maps made by the user: file -> owner of each named array element.

CSV with a header line ``object,index,part``: name of the array, element number (from 0), part (from 0). With
``object,offset,part``, bytes instead of elements. Or a NumPy array (``.npy``) of whole numbers: its element i
is the part of element i of every array with that many elements. Arrays that a map does not name follow the
others; an array that it names must be complete.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from commanalyzer.division.owners import looked_up
from commanalyzer.division.regular.rules import arrays_called
from commanalyzer.division.regular.shapes import Array, find_arrays
from commanalyzer.foundation.documents import read_csv, whole_numbers
from commanalyzer.foundation.errors import ConfigError
from commanalyzer.graph.storage.store import AnyGraph
from commanalyzer.graph.value_graph import Int32, Int64

_HEADERS = (["object", "index", "part"], ["object", "offset", "part"])


@dataclass(frozen=True, slots=True)
class OwnerMap:
    """Owners by array element."""

    path: Path  # file it was read from
    place: Int64  # [N], element number or byte offset
    part: Int64  # [N]
    name: tuple[str, ...]  # of the array of each entry; empty for all arrays of N elements
    in_bytes: bool = False  # ``place`` is a byte offset

    @property
    def num_parts(self) -> int:
        """Number of parts that the map divides into."""
        return int(self.part.max()) + 1


def read_owner_map(path: Path) -> OwnerMap:
    """Owner map in ``path``; ``ConfigError`` if the file cannot be read or is not an owner map."""
    try:
        found = _read_npy(path) if path.suffix == ".npy" else _read_csv(path)
    except OSError as error:
        raise ConfigError(
            f"expected an owner map, found: {error.strerror or error}", where=str(path)
        ) from error
    except ValueError as error:
        raise ConfigError(f"expected an owner map, found: {error}", where=str(path)) from error
    if not len(found.part):
        raise ConfigError("expected at least one element in the owner map, found none", where=str(path))
    if found.part.min() < 0 or found.place.min() < 0:
        raise ConfigError("expected places and parts from 0, found negative ones", where=str(path))
    return found


def _read_npy(path: Path) -> OwnerMap:
    part = np.load(path, allow_pickle=False)
    if part.ndim != 1 or part.dtype.kind not in "iu":
        raise ValueError(f"an array of {part.ndim} dimensions and type {part.dtype}")
    return OwnerMap(path, np.arange(len(part), dtype=np.int64), part.astype(np.int64), ())


def _read_csv(path: Path) -> OwnerMap:
    lines = read_csv(path)
    if not lines or [cell.strip() for cell in lines[0]] not in _HEADERS:
        raise ValueError(f"a file that does not begin with {','.join(_HEADERS[0])}")
    body = [line for line in lines[1:] if line]
    wrong = next((i for i, line in enumerate(lines[1:], 2) if line and len(line) != 3), 0)
    if wrong:
        raise ValueError(f"line {wrong} has not three cells")
    name, place, part = zip(*body, strict=True) if body else ((), (), ())
    names, in_bytes = tuple(cell.strip() for cell in name), lines[0][1].strip() == "offset"
    return OwnerMap(path, whole_numbers(place), whole_numbers(part), names, in_bytes)


def map_owners(graph: AnyGraph, owner_map: OwnerMap) -> Int32:
    """Return int32[V], owner of each value that the map names, -1 for all others.

    Arrays that the map does not name follow the others. Raises ``ConfigError`` if it names an object or an
    element that the program has not, an element twice, only some elements of an array, or no value at all.
    """
    none = np.zeros(graph.num_vertices, dtype=np.bool_)
    owner = np.full(graph.num_vertices, -1, np.int32)
    arrays = find_arrays(graph, none)
    given: dict[int, str] = {}
    for wanted in dict.fromkeys(owner_map.name):  # one step per array
        named = arrays_called(graph.objects, arrays, wanted, str(owner_map.path))
        _check_entries(owner_map, wanted, named)
        given.update((array.number, wanted) for array in named)
    names = np.array(owner_map.name)
    for array in arrays:  # one step per array
        name = given.get(array.number, "")
        if owner_map.name:
            mine = names == name
        else:
            mine = np.full(len(owner_map.part), len(owner_map.part) in array.counts)
        if mine.any():
            at = graph.home_offset[array.vertex] if owner_map.in_bytes else array.index.astype(np.int64)
            found = looked_up(owner_map.place[mine], owner_map.part[mine], at)
            _check_complete(owner_map, name, at, found)
            owner[array.vertex] = found
    if not (owner >= 0).any():
        sizes = sorted({a.counts[0] for a in arrays})
        raise ConfigError(
            f"expected owners of values of this program, found no array of {len(owner_map.part)} elements",
            where=str(owner_map.path),
            hint=f"arrays of this run have {', '.join(map(str, sizes[:12]))} elements",
        )
    return owner


def _check_entries(owner_map: OwnerMap, name: str, arrays: Sequence[Array]) -> None:
    """Complain about elements that are given twice or lie behind the end of all arrays of that name."""
    place = np.sort(owner_map.place[np.array(owner_map.name) == name])
    unit = "byte" if owner_map.in_bytes else "element"
    twice = place[1:][place[1:] == place[:-1]]
    if len(twice):
        raise ConfigError(
            f"expected each {unit} of {name!r} once, found {unit} {twice[0]} again", where=str(owner_map.path)
        )
    most = max(a.counts[0] for a in arrays)
    if not owner_map.in_bytes and place[-1] >= most:
        raise ConfigError(
            f"expected elements 0 to {most - 1} of {name!r}, found {place[-1]}", where=str(owner_map.path)
        )


def _check_complete(owner_map: OwnerMap, name: str, place: Int64, found: Int32 | Int64) -> None:
    missing = place[found < 0]
    if len(missing):
        unit = "byte" if owner_map.in_bytes else "element"
        raise ConfigError(
            f"expected an owner for each of the {len(place)} used elements of {name!r}, "
            f"found none for {len(missing)}, the first at {unit} {missing.min()}",
            where=str(owner_map.path),
            hint="add them, or leave the array out: then it follows the others",
        )
