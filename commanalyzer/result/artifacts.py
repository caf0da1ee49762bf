"""Saves and loads an analysis result: one HDF5 file, ``*.cmz``.

Layout, schema 5 (files of older ones held the graph in other forms; they are refused)::

    /            attributes kind, schema, digest (:class:`Digest` of all below)
    /header      JSON text: all scalars, texts and small tuples of the result
    /graph/pages int64[P + 1, 3], rows, terms and flows before each place where the graph may be cut
    /graph/tables, /graph/data/NAME
                 compressed columns (:mod:`commanalyzer.graph.storage.coding`): tables of all, one after the
                 other; data of those that have any
    /graph/columns
                 int64[columns, 2], pieces of each column; CRC-32 of its table and data
    /graph/text  uint8, UTF-8 of all distinct strings of objects and sites, separated by NUL
    /graph/objects, /graph/sites
                 int64 tables, one row per entry; strings are indices into text
    /graph/site_operations, /graph/site_loops
                 int64[sites, 2], integer and memory operations; int64[sites, 3], function, file and line of
                 the loop; files of older versions have none
    /decompositions/0, 1, ...
                 comm_bytes, messages, part, object_bytes, and with collectives peer_bytes, peer_messages,
                 with phases phase_bytes, phase_messages, and of replayed divisions transfers;
                 scalars are in the header

Datasets carry checksums (fletcher32) and all of them the digest, so a damaged file is refused, never misread.
Types, shapes and ranges are those of the tables below.

Scalars and texts are one JSON document, from which the result is rebuilt.
"""

from __future__ import annotations

import hashlib
import json
import os
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import TypeAlias, TypedDict, cast, get_type_hints

import h5py
import numpy as np

from commanalyzer.communication.matrix import Communication
from commanalyzer.division.owners import Owners
from commanalyzer.foundation.documents import Fields, Parsed, parse_json, typed
from commanalyzer.foundation.errors import ArtifactError, CommAnalyzerError
from commanalyzer.foundation.files import write_atomically
from commanalyzer.foundation.flows import Fold
from commanalyzer.graph.storage.coding import Coded
from commanalyzer.graph.storage.spill import machine_bytes
from commanalyzer.graph.storage.store import COLUMNS, GraphStore, require_sound
from commanalyzer.graph.value_graph import NO_LOOP, Array, HomeKind, HomeObject, LoopPlace, Site
from commanalyzer.machine.parameters import KINDS
from commanalyzer.result.results import AnalysisResult, Decomposition

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
_ARRAYS = ("object_bytes", "transfers")  # of a division, beside its owners
_APART = {"store", "decompositions", "communication", "owners", *_ARRAYS}  # arrays, or with such


def header_of(result: AnalysisResult) -> dict[str, Json]:
    """JSON document of everything in ``result`` that is not a large array."""
    # units and phase models belong to machine files
    known = {name: asdict(parameter) for name, parameter in result.machine.parameters.items()}
    machine = {"name": result.machine.name, **dict.fromkeys(KINDS), **known}
    divided = [_decomposition_header(d) for d in result.decompositions]
    return _entries(result) | cast("dict[str, Json]", {"machine": machine, "decompositions": divided})


def _decomposition_header(item: Decomposition) -> dict[str, Json]:
    traffic = item.communication
    return _entries(item) | {
        "low_bytes": traffic.low_bytes,
        "high_bytes": traffic.high_bytes,
        "singleton_bytes": traffic.singleton_bytes,
        "collectives": collectives_header(traffic),
    }


def _entries(item: AnalysisResult | Decomposition) -> dict[str, Json]:
    values = {f.name: getattr(item, f.name) for f in fields(item) if f.name not in _APART}
    return {name: asdict(v) if is_dataclass(v) else v for name, v in values.items()}  # type: ignore[arg-type]


def collectives_header(communication: Communication) -> Json:
    """JSON list of what belongs to hub values; ``None`` when it was not told apart."""
    if communication.collectives is None:
        return None
    return [cast(Json, asdict(item)) for item in communication.collectives]


def result_from_header(document: object, store: GraphStore, arrays: Sequence[Arrays]) -> AnalysisResult:
    """Result rebuilt from its header, coded graph and the arrays of each decomposition.

    Raises:
        KeyError: If there is no list of decompositions.
        TypeError: If another entry is missing, or an entry has the wrong type.
        ValueError: If the number of decompositions differs, or a number is too large.
    """
    known = _known(AnalysisResult, document)
    items = zip(cast("dict[str, list[object]]", document)["decompositions"], arrays, strict=True)
    divided = tuple(_divided(item, data) for item, data in items)
    return AnalysisResult(**known, store=store, decompositions=divided)


def _divided(item: object, arrays: Arrays) -> Decomposition:
    known = _known(Communication, item)
    known |= {name: array for name, array in arrays.items() if name not in ("part", *_ARRAYS)}
    return Decomposition(
        **_known(Decomposition, item),
        communication=Communication(**known),
        owners=Owners.of(arrays["part"].astype(np.int32)),
        object_bytes=arrays["object_bytes"],
        transfers=arrays.get("transfers"),
    )


def _known(kind: type, value: object) -> Fields:
    """Fields of a dataclass that a table has; others of its entries are another's, or of another version."""
    return typed(value, _fields(kind))


@cache
def _fields(kind: type) -> type[Fields]:
    hints = {name: hint for name, hint in get_type_hints(kind).items() if name not in _APART}
    return cast("type[Fields]", cast(Parsed, TypedDict)(kind.__name__, hints, total=False))


Arrays: TypeAlias = dict[str, Array]
Given: TypeAlias = Mapping[str, Array | None]
Group: TypeAlias = h5py.Group
_ANY = (np.iinfo(np.int64).min, 1 << 63)
# HDF5 filter numbers (H5Zpublic.h): deflate, shuffle, fletcher32. Others are loaded as plug-ins.
_FILTERS = frozenset({1, 2, 3})


@dataclass(frozen=True, slots=True)
class Stored:
    """What an array of a file is."""

    name: str  # its name in the group
    dtype: str  # type that it is read as; that of the file may be narrower or wider, not of another kind
    # lengths; one that is a name is free, and the same in all arrays of the group that have it
    shape: tuple[int | str, ...]
    least: int = _ANY[0]  # its least entry
    below: int = _ANY[1]  # what all entries are less than
    is_optional: bool = False  # files without it are complete


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
    Stored("object_records", "int64", ("objects",), 0, is_optional=True),
    Stored("sites", "int64", ("sites", 7)),
    Stored("site_operations", "int64", ("sites", 2), 0, is_optional=True),
    Stored("site_loops", "int64", ("sites", 3), 0, is_optional=True),
    Stored("text", "uint8", ("text bytes",)),
)
DECOMPOSITION = (
    Stored("comm_bytes", "int64", _MATRIX, 0, _BYTES),
    Stored("messages", "int64", _MATRIX, 0, _BYTES),
    Stored("part", "int32", ("owned",), 0, 1 << 31),
    Stored("object_bytes", "int64", ("objects moved",), 0, _BYTES),
    # Only where there are collectives, where phases are known, and of replayed divisions.
    Stored("peer_bytes", "int64", _MATRIX, 0, _BYTES, is_optional=True),
    Stored("peer_messages", "int64", _MATRIX, 0, _BYTES, is_optional=True),
    Stored("phase_bytes", "int64", ("phases", *_MATRIX), 0, _BYTES, is_optional=True),
    Stored("phase_messages", "int64", ("phases", *_MATRIX), 0, _BYTES, is_optional=True),
    Stored("transfers", "int64", ("transfers", 4), 0, _BYTES, is_optional=True),
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


def write_arrays(group: Group, table: Sequence[Stored], arrays: Given, digest: Digest) -> None:
    """Write ``arrays``, but for what is ``None``; a :class:`ValueError` if they are not as ``table`` says."""
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
    """Arrays of a group; a :class:`ValueError` if one is missing, outside the file, not as ``table`` says."""
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
    """The entry of a group at a path, or ``None``; a :class:`ValueError` for a link to another place."""
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
    sizes: list[int] = []
    if dataset.chunks:
        dataset.id.chunk_iter(lambda piece: sizes.append(piece.size))
    if min(sizes, default=5) <= 4:  # HDF5 dies of a piece that is no longer than its checksum
        raise ValueError(f"expected whole pieces of {stored.name}, found an empty one")
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


KIND = "commanalyzer.analysis"
SCHEMA = 5
_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_DAMAGE = (OSError, LookupError, TypeError, ValueError, ArithmeticError, RuntimeError, CommAnalyzerError)


def save(result: AnalysisResult, path: str | os.PathLike[str], *, force: bool = False) -> None:
    """Save ``result`` (``*.cmz``) completely, or not at all with an :class:`ArtifactError`."""
    write_atomically(Path(path), lambda p: p.write_bytes(file_image(lambda f: _put(result, f))), force=force)


def load(path: str | os.PathLike[str]) -> AnalysisResult:
    """Result saved in ``path``; an :class:`ArtifactError` if missing, damaged, of another kind or schema."""
    path = Path(path)
    _require_hdf5(path)
    try:
        with h5py.File(path, "r", locking="best-effort") as file:
            kind, schema = (file.attrs.get(name) for name in ("kind", "schema"))
            if kind != KIND:
                raise ArtifactError(f"expected an HDF5 file of kind {KIND}, found {kind!r}", where=str(path))
            if not isinstance(schema, np.integer) or schema != SCHEMA:
                hint = "read it with the version of commanalyzer that wrote it, or analyse again"
                raise ArtifactError(f"expected schema {SCHEMA}, found {schema}", where=str(path), hint=hint)
            return _read(file)
    except ArtifactError:
        raise
    except _DAMAGE as error:
        text = f"expected a complete result file, found a truncated or damaged one: {error}"
        raise ArtifactError(text, where=str(path), hint="analyse again") from error


def _require_hdf5(path: Path) -> None:
    try:
        with path.open("rb") as stream:
            start = stream.read(len(_SIGNATURE))
    except OSError as error:
        raise ArtifactError(f"expected a result file, found: {error.strerror}", where=str(path)) from error
    if start != _SIGNATURE:
        raise ArtifactError(
            "expected a result file (*.cmz), found another kind of file",
            where=str(path),
            hint="write one with: commanalyzer analyze ... -o result.cmz",
        )


def _put(result: AnalysisResult, file: Group) -> None:
    digest = Digest()
    file.attrs["kind"] = KIND
    file.attrs["schema"] = SCHEMA
    header = json.dumps(header_of(result), sort_keys=True)
    write_arrays(file, HEADER, {"header": np.frombuffer(header.encode(), dtype=np.uint8)}, digest)
    graph = file.create_group("graph")
    write_arrays(graph, GRAPH, _store_arrays(result.store), digest)
    write_arrays(graph, NAMES, _name_arrays(result.store), digest)
    for index, item in enumerate(result.decompositions):
        traffic = item.communication
        arrays = {s.name: getattr(traffic, s.name, None) for s in DECOMPOSITION}
        arrays |= {"part": item.part, "object_bytes": item.object_bytes, "transfers": item.transfers}
        write_arrays(file.create_group(f"decompositions/{index}"), DECOMPOSITION, arrays, digest)
    file.attrs["digest"] = digest.text


def _store_arrays(graph: GraphStore) -> Arrays:
    """What :data:`GRAPH` holds."""
    tables, columns, data = [], [], {}
    for name in COLUMNS:
        column = graph.columns[name]
        tables.append(column.table)
        columns.append((len(column.table), _checksum(column)))
        if len(column.data):
            data[f"data/{name}"] = column.data
    sizes = np.array(columns, dtype=np.int64)
    return {"pages": graph.pages, "tables": np.concatenate(tables), "columns": sizes, **data}


def _name_arrays(graph: GraphStore) -> Arrays:
    """What :data:`NAMES` holds."""
    numbers: dict[str, int] = {}

    def number(text: str) -> int:
        # NUL separates the strings in the file.
        return numbers.setdefault(text.replace("\0", " "), len(numbers))

    objects = [
        (
            *(int(o.kind), number(o.name), number(o.function), number(o.file)),
            *(o.line, o.size_bytes, number(o.key), o.depth),
        )
        for o in graph.objects
    ]
    sites = [
        (number(s.function), number(s.file), s.line, number(s.kind), s.width_bytes, int(s.fold), s.flops)
        for s in graph.sites
    ]
    done = [(s.integer_ops, s.memory_ops) for s in graph.sites]
    loops = [(number(s.loop.function), number(s.loop.file), s.loop.line) for s in graph.sites]
    strides = [number(" ".join(map(str, o.strides))) if o.strides else -1 for o in graph.objects]
    return {
        "objects": np.array(objects, dtype=np.int64).reshape(len(objects), 8),
        "sites": np.array(sites, dtype=np.int64).reshape(len(sites), 7),
        "site_operations": np.array(done, dtype=np.int64).reshape(len(done), 2),
        "site_loops": np.array(loops, dtype=np.int64).reshape(len(loops), 3),
        "object_strides": np.array(strides, dtype=np.int64),
        "object_records": np.array([o.record_bytes for o in graph.objects], dtype=np.int64),
        "text": np.frombuffer("\0".join(numbers).encode(), dtype=np.uint8),
    }


def _read(file: Group) -> AnalysisResult:
    digest = Digest()
    header = parse_json(read_arrays(file, HEADER, digest)["header"].tobytes())
    group = member(file, "graph")
    arrays = read_arrays(group, GRAPH, digest)
    names = _names(read_arrays(group, NAMES, digest))
    parts: list[Arrays] = []
    groups = member(file, "decompositions")
    while (part := member(groups, str(len(parts)))) is not None:
        parts.append(read_arrays(part, DECOMPOSITION, digest))
    if file.attrs.get("digest") != digest.text:
        raise ValueError("it was changed after it was written")
    graph = _store(arrays, *names)
    require_sound(graph)
    result = result_from_header(header, graph, parts)
    _require_sizes(result)
    return result


def _require_sizes(result: AnalysisResult) -> None:
    """Raise unless every decomposition is one of this graph."""
    for item in result.decompositions:
        if item.model == "volume" and item.owners.coded.length != result.store.num_vertices:
            raise ValueError(
                f"expected an owner for each of {result.store.num_vertices} values, "
                f"found {item.owners.coded.length}"
            )
        if len(item.object_bytes) not in (0, len(result.store.objects)):
            raise ValueError(
                f"expected bytes of {len(result.store.objects)} objects, found {len(item.object_bytes)}"
            )


def _store(arrays: Arrays, objects: tuple[HomeObject, ...], sites: tuple[Site, ...]) -> GraphStore:
    columns, begin = {}, 0
    for name, (size, checksum) in zip(COLUMNS, arrays["columns"].tolist(), strict=True):
        table = arrays["tables"][begin : begin + size]
        columns[name] = Coded(table, arrays.get(f"data/{name}", np.zeros(0, np.uint8)))
        if _checksum(columns[name]) != checksum:
            raise ValueError(f"column {name} was changed after it was written")
        begin += size
    return GraphStore(columns, arrays["pages"], objects, sites)


def _checksum(column: Coded) -> int:
    return zlib.crc32(column.data.data, zlib.crc32(np.ascontiguousarray(column.table, "<i8").data))


def _names(arrays: Arrays) -> tuple[tuple[HomeObject, ...], tuple[Site, ...]]:
    texts = arrays["text"].tobytes().decode().split("\0")

    def text(number: int) -> str:
        if number < 0:
            raise IndexError(f"expected the number of a text, found {number}")
        return texts[number]

    rows = arrays["objects"].tolist()
    strides = arrays["object_strides"].tolist() if "object_strides" in arrays else [-1] * len(rows)
    records = arrays["object_records"].tolist() if "object_records" in arrays else [0] * len(rows)
    objects = tuple(
        HomeObject(
            *(HomeKind(kind), text(name), text(function), text(file), line, size, text(key), depth),
            tuple(map(int, text(stride).split())) if stride >= 0 else (),
            record,
        )
        for (kind, name, function, file, line, size, key, depth), stride, record in zip(
            rows, strides, records, strict=True
        )
    )
    entries = arrays["sites"].tolist()
    done = arrays["site_operations"].tolist() if "site_operations" in arrays else [(0, 0)] * len(entries)
    places = arrays["site_loops"].tolist() if "site_loops" in arrays else []
    loops = [LoopPlace(text(function), text(file), line) for function, file, line in places]
    known = zip(entries, done, loops or [NO_LOOP] * len(entries), strict=True)
    sites = tuple(
        Site(text(function), text(file), line, text(kind), width, Fold(fold), flops, whole, memory, loop)
        for (function, file, line, kind, width, fold, flops), (whole, memory), loop in known
    )
    return objects, sites
