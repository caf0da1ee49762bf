"""Arrays of a result file: what each must be, written and read by the same table.

A file may come from anybody. What is read here has the type, shape and range that :class:`Stored` says before
any other code sees it, lies in the file itself (not in another one that the reader may read), and is what was
written: one digest is made of all arrays, by writing and by reading.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import h5py
import numpy as np

from commanalyzer.graph.storage.spill import machine_bytes
from commanalyzer.graph.storage.store import COLUMNS
from commanalyzer.graph.value_graph import Array

Arrays: TypeAlias = dict[str, Array]
Given: TypeAlias = Mapping[str, Array | None]
Group: TypeAlias = h5py.Group

_ANY = (np.iinfo(np.int64).min, 1 << 63)
# HDF5 filter numbers (H5Zpublic.h): deflate, shuffle, fletcher32. Others are loaded as plug-ins.
_FILTERS = frozenset({1, 2, 3})


@dataclass(frozen=True, slots=True)
class Stored:
    """What an array of a file is.

    Attributes:
        name: Its name in the group.
        dtype: Type that it is read as; that of the file may be narrower or wider, not of another kind.
        shape: Lengths; one that is a name is free, and the same in all arrays of the group that have it.
        least: Its least entry.
        below: What all entries are less than.
        is_optional: Files without it are complete.
    """

    name: str
    dtype: str
    shape: tuple[int | str, ...]
    least: int = _ANY[0]
    below: int = _ANY[1]
    is_optional: bool = False


_MATRIX = ("nodes", "nodes")
_BYTES = 1 << 53  # exact in floating-point numbers; 9 PB
HEADER = (Stored("header", "uint8", ("bytes",)),)
GRAPH = (
    Stored("pages", "int64", ("pages", 3), 0),
    Stored("tables", "int64", ("pieces", 4)),
    Stored("columns", "int64", (len(COLUMNS), 2), 0),
    *(Stored(f"data/{name}", "uint8", (name,), is_optional=True) for name in COLUMNS),
)
NAMES = (
    Stored("objects", "int64", ("objects", 8)),
    Stored("object_strides", "int64", ("objects",), -1, is_optional=True),
    Stored("sites", "int64", ("sites", 7)),
    Stored("site_operations", "int64", ("sites", 2), 0, is_optional=True),
    Stored("text", "uint8", ("text bytes",)),
)
DECOMPOSITION = (
    Stored("comm_bytes", "int64", _MATRIX, 0, _BYTES),
    Stored("messages", "int64", _MATRIX, 0, _BYTES),
    Stored("part", "int32", ("owned",), 0, 1 << 31),
    Stored("object_bytes", "int64", ("objects moved",), 0, _BYTES),
    # Only where there are collectives, and where phases are known.
    Stored("peer_bytes", "int64", _MATRIX, 0, _BYTES, is_optional=True),
    Stored("peer_messages", "int64", _MATRIX, 0, _BYTES, is_optional=True),
    Stored("phase_bytes", "int64", ("phases", *_MATRIX), 0, _BYTES, is_optional=True),
    Stored("phase_messages", "int64", ("phases", *_MATRIX), 0, _BYTES, is_optional=True),
)


@dataclass(slots=True)
class Digest:
    """SHA-256 of arrays with their names, types and shapes, in the order that they are written in."""

    _state: hashlib._Hash = field(default_factory=hashlib.sha256)

    def add(self, name: str, array: Array) -> None:
        """Add one array."""
        entries = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
        self._state.update(f"{name} {entries.dtype.str} {entries.shape} ".encode())
        self._state.update(entries.data)

    @property
    def text(self) -> str:
        """Hexadecimal digits."""
        return str(self._state.hexdigest())


def file_image(produce: Callable[[Group], None]) -> bytes:
    """Content of a file to whose root ``produce`` writes.

    Built in memory: HDF5 does not survive a full disk (it leaves objects behind that crash the process).
    """
    with h5py.File("result", "w", driver="core", backing_store=False) as file:
        produce(file)
        file.flush()
        return bytes(file.id.get_file_image())


@contextmanager
def open_file(path: Path) -> Iterator[Group]:
    """The root of a file."""
    with h5py.File(path, "r", locking="best-effort") as file:
        yield file


def write_arrays(group: Group, table: Sequence[Stored], arrays: Given, digest: Digest) -> None:
    """Write ``arrays`` that are as ``table`` says; those that are ``None`` or missing are left out.

    Raises:
        ValueError: If one is not.
    """
    sizes: dict[str, int] = {}
    for stored in table:
        if (array := arrays.get(stored.name)) is None:
            _require_optional(stored)
            continue
        _check(stored, array, sizes)
        digest.add(f"{group.name}/{stored.name}", array)
        options = {"compression": "gzip", "compression_opts": 4, "shuffle": True, "fletcher32": True}
        group.create_dataset(stored.name, data=array, **(options if array.size else {}))


def read_arrays(group: object, table: Sequence[Stored], digest: Digest) -> Arrays:
    """Arrays of a group, read as ``table`` says.

    Raises:
        ValueError: If one is missing, lies outside the file, or is not as the table says.
    """
    if not isinstance(group, h5py.Group):
        raise ValueError("expected a group, found another kind of entry")
    sizes: dict[str, int] = {}
    found: Arrays = {}
    for stored in table:
        dataset = member(group, stored.name)
        if dataset is None:
            _require_optional(stored)
            continue
        array = _loaded(dataset, stored)
        _check(stored, array, sizes)
        digest.add(f"{group.name}/{stored.name}", array)
        found[stored.name] = array.astype(stored.dtype, copy=False)
    return found


def member(group: object, name: str) -> object:
    """The entry of a group at a path, ``None`` if there is none.

    Raises:
        ValueError: If it, or a group on the way, is a link to another place or file.
    """
    place: object = group
    for piece in name.split("/"):
        if not isinstance(place, h5py.Group) or piece not in place:
            return None
        if place.get(piece, getclass=True, getlink=True) is not h5py.HardLink:
            raise ValueError(f"expected {name} in the file itself, found a link")
        place = place[piece]
    return place


def _require_optional(stored: Stored) -> None:
    if not stored.is_optional:
        raise ValueError(f"expected an array {stored.name}, found none")


def _loaded(dataset: object, stored: Stored) -> Array:
    """All entries of a dataset that lie in the file itself, and fit into memory."""
    if not isinstance(dataset, h5py.Dataset):
        raise ValueError(f"expected an array {stored.name}, found another kind of entry")
    if dataset.is_virtual or dataset.external is not None:
        raise ValueError(f"expected the entries of {stored.name} in the file itself, found them elsewhere")
    properties = dataset.id.get_create_plist()
    filters = {properties.get_filter(k)[0] for k in range(properties.get_nfilters())}
    if not filters <= _FILTERS:
        raise ValueError(f"expected {stored.name} in a known compression, found filters {sorted(filters)}")
    if dataset.dtype.kind != np.dtype(stored.dtype).kind or dataset.shape is None:
        raise ValueError(f"expected {stored.name} of type {stored.dtype}, found {dataset.dtype}")
    if dataset.nbytes > machine_bytes():
        raise ValueError(f"expected {stored.name} to fit into memory, found {dataset.nbytes:,} bytes")
    return np.asarray(dataset[...])


def _check(stored: Stored, array: Array, sizes: dict[str, int]) -> None:
    """Raise unless an array has the shape and range of the table."""
    expected = tuple(
        sizes.setdefault(n, array.shape[k]) if isinstance(n, str) and k < array.ndim else n
        for k, n in enumerate(stored.shape)
    )
    if array.shape != expected:
        raise ValueError(f"expected {stored.name} of shape {expected}, found {array.shape}")
    if array.size and array.dtype.kind in "iu" and (stored.least, stored.below) != _ANY:
        least, most = int(array.min()), int(array.max())
        if least < stored.least or most >= stored.below:
            raise ValueError(
                f"expected {stored.name} in [{stored.least}, {stored.below}), found {least} to {most}"
            )
