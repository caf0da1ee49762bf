"""Saves and loads an analysis result: one HDF5 file, ``*.cmz``.

Layout, schema 3 (2 had the plain arrays of the graph, 1 had no ``graph/is_temporary``)::

    /            attributes kind, schema
    /header      JSON text: all scalars, texts and small tuples of the result
    /graph/pages int64[P + 1, 3], rows, terms and flows before each place where the graph may be cut
    /graph/tables, /graph/literals/NAME
                 coded columns (:mod:`commanalyzer.vcg.packing`): tables of all, one after the other;
                 literals of those that have any
    /graph/columns
                 int64[columns, 2], bytes of the tables of each column; CRC-32 of its tables and literals
    /graph/text  uint8, UTF-8 of all distinct strings of objects and sites, separated by NUL
    /graph/objects, /graph/sites
                 int64 tables, one row per entry; strings are indices into text
    /graph/site_operations
                 int64[sites, 2], integer and memory operations; files of older versions have none
    /decompositions/0, 1, ...
                 comm_bytes, messages, part, object_bytes, and with collectives peer_bytes, peer_messages,
                 with phases phase_bytes, phase_messages;
                 scalars are in the header

Datasets carry checksums (fletcher32), so a damaged file is refused, never misread.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path

import h5py
import numpy as np
from numpy.typing import NDArray

from commanalyzer.artifact_header import header_of, result_from_header
from commanalyzer.errors import ArtifactError, GraphInvariantError
from commanalyzer.files import write_atomically
from commanalyzer.results import AnalysisResult
from commanalyzer.vcg.columns import COLUMNS
from commanalyzer.vcg.graph import Fold, HomeKind, HomeObject, Site, ValueGraph
from commanalyzer.vcg.packing import pack, unpack
from commanalyzer.vcg.store import GraphStore

KIND = "commanalyzer.analysis"
SCHEMA = 3
# Only where there are collectives, and where phases are known.
_OPTIONAL = ("peer_bytes", "peer_messages", "phase_bytes", "phase_messages")
_COLUMNS = tuple(column.name for column in COLUMNS)
_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_ARRAYS = tuple(f.name for f in fields(ValueGraph) if f.name not in ("objects", "sites"))


def save(result: AnalysisResult, path: Path, *, force: bool = False) -> None:
    """Write ``result`` to ``path``, completely or not at all.

    Args:
        result: Result to save.
        path: File to write, by convention ``*.cmz``.
        force: Replace an existing file.

    Raises:
        ArtifactError: If the file exists and ``force`` is false, or it cannot be written.
    """
    write_atomically(path, lambda draft: _write(result, draft), force=force)


def load(path: Path) -> AnalysisResult:
    """Result saved in ``path``.

    Raises:
        ArtifactError: If it is missing, of another kind, of a newer schema, truncated or damaged.
    """
    _require_hdf5(path)
    try:
        with h5py.File(path, "r", locking="best-effort") as file:
            _check_kind(file.attrs.get("kind"), file.attrs.get("schema"), path)
            return _read(file)
    except (OSError, KeyError, TypeError, ValueError, RuntimeError, GraphInvariantError) as error:
        raise ArtifactError(
            f"expected a complete result file, found a truncated or damaged one: {error}",
            where=str(path),
            hint="analyse again",
        ) from error


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


def _check_kind(kind: object, schema: object, path: Path) -> None:
    if kind != KIND:
        raise ArtifactError(f"expected an HDF5 file of kind {KIND}, found {kind!r}", where=str(path))
    if not isinstance(schema, np.integer) or schema > SCHEMA:
        raise ArtifactError(
            f"expected schema {SCHEMA} or older, found {schema}",
            where=str(path),
            hint="read it with the version of commanalyzer that wrote it, or a newer one",
        )


def _write(result: AnalysisResult, draft: Path) -> None:
    # Built in memory: HDF5 does not survive a full disk (it leaves objects behind that crash the process).
    with h5py.File("result", "w", driver="core", backing_store=False) as file:
        file.attrs["kind"] = KIND
        file.attrs["schema"] = SCHEMA
        header = json.dumps(header_of(result), sort_keys=True)
        _put(file, "header", np.frombuffer(header.encode(), dtype=np.uint8))
        _write_graph(file.create_group("graph"), result.store)
        for index, item in enumerate(result.decompositions):
            group = file.create_group(f"decompositions/{index}")
            _put(group, "comm_bytes", item.communication.comm_bytes)
            _put(group, "messages", item.communication.messages)
            _put(group, "part", item.part)
            _put(group, "object_bytes", item.object_bytes)
            for name in _OPTIONAL:
                if (peers := getattr(item.communication, name)) is not None:
                    _put(group, name, peers)
        file.flush()
        image = file.id.get_file_image()
    draft.write_bytes(image)


def _write_graph(group: h5py.Group, graph: GraphStore) -> None:
    _put(group, "pages", graph.pages)
    tables, columns = [], []
    for name in _COLUMNS:
        table, literal = pack(graph.columns[name])
        tables.append(table)
        columns.append((len(table), _checksum(table, literal)))
        if len(literal):
            _put(group, f"literals/{name}", literal)
    _put(group, "tables", np.concatenate(tables))
    _put(group, "columns", np.array(columns, dtype=np.int64))
    numbers: dict[str, int] = {}

    def number(text: str) -> int:
        # NUL separates the strings in the file.
        return numbers.setdefault(text.replace("\0", " "), len(numbers))

    objects = [
        (
            int(o.kind),
            number(o.name),
            number(o.function),
            number(o.file),
            o.line,
            o.size_bytes,
            number(o.key),
            o.depth,
        )
        for o in graph.objects
    ]
    sites = [
        (number(s.function), number(s.file), s.line, number(s.kind), s.width_bytes, int(s.fold), s.flops)
        for s in graph.sites
    ]
    _put(group, "objects", np.array(objects, dtype=np.int64).reshape(len(objects), 8))
    _put(group, "sites", np.array(sites, dtype=np.int64).reshape(len(sites), 7))
    done = [(s.integer_ops, s.memory_ops) for s in graph.sites]
    _put(group, "site_operations", np.array(done, dtype=np.int64).reshape(len(done), 2))
    strides = [number(" ".join(map(str, o.strides))) if o.strides else -1 for o in graph.objects]
    _put(group, "object_strides", np.array(strides, dtype=np.int64))
    _put(group, "text", np.frombuffer("\0".join(numbers).encode(), dtype=np.uint8))


def _put(group: h5py.Group, name: str, array: NDArray[np.generic]) -> None:
    if array.size:
        group.create_dataset(
            name, data=array, compression="gzip", compression_opts=4, shuffle=True, fletcher32=True
        )
    else:
        group.create_dataset(name, data=array)


def _read(file: h5py.File) -> AnalysisResult:
    header: Mapping[str, object] = json.loads(_bytes(file["header"]))
    graph = _read_store(file["graph"]) if "columns" in file["graph"] else _read_arrays_of(file["graph"])
    groups = file.get("decompositions", {})
    parts = [_read_arrays(groups[str(index)]) for index in range(len(groups))]
    return result_from_header(header, graph, parts)


def _read_arrays(group: h5py.Group) -> dict[str, NDArray[np.int64]]:
    names = ("comm_bytes", "messages", "part", "object_bytes", *(n for n in _OPTIONAL if n in group))
    return {name: np.asarray(group[name][...]) for name in names}


def _read_store(group: h5py.Group) -> GraphStore:
    tables, columns, begin = np.asarray(group["tables"][...]), {}, 0
    literals = group.get("literals", {})
    for name, (size, checksum) in zip(_COLUMNS, group["columns"][...].tolist(), strict=True):
        literal = np.asarray(literals[name][...]) if name in literals else np.zeros(0, np.uint8)
        table = tables[begin : begin + size]
        if _checksum(table, literal) != checksum:
            raise ValueError(f"column {name} was changed after it was written")
        columns[name] = unpack(table, literal)
        begin += size
    return GraphStore(columns, np.asarray(group["pages"][...]), *_read_names(group))


def _checksum(tables: NDArray[np.uint8], literal: NDArray[np.uint8]) -> int:
    return zlib.crc32(literal.data, zlib.crc32(tables.data))


def _read_arrays_of(group: h5py.Group) -> GraphStore:
    """Graph of a file of schema 2 or 1."""
    arrays = {name: np.asarray(group[name][...]) for name in _ARRAYS if name in group}
    arrays.setdefault("is_temporary", np.zeros(len(arrays["is_input"]), dtype=np.bool_))
    objects, sites = _read_names(group)
    return GraphStore.of(ValueGraph(**arrays, objects=objects, sites=sites))


def _read_names(group: h5py.Group) -> tuple[tuple[HomeObject, ...], tuple[Site, ...]]:
    text = _bytes(group["text"]).split("\0")
    entries = group["objects"][...].tolist()
    strides = group["object_strides"][...].tolist() if "object_strides" in group else [-1] * len(entries)
    objects = tuple(
        HomeObject(
            *(HomeKind(kind), text[name], text[function], text[file], line, size, text[key], depth),
            tuple(map(int, text[stride].split())) if stride >= 0 else (),
        )
        for (kind, name, function, file, line, size, key, depth), stride in zip(entries, strides, strict=True)
    )
    made = group["sites"][...].tolist()
    done = group["site_operations"][...].tolist() if "site_operations" in group else [(0, 0)] * len(made)
    sites = tuple(
        Site(text[function], text[file], line, text[kind], width, Fold(fold), flops, *others)
        for (function, file, line, kind, width, fold, flops), others in zip(made, done, strict=True)
    )
    return objects, sites


def _bytes(dataset: h5py.Dataset) -> str:
    return bytes(np.asarray(dataset[...], dtype=np.uint8)).decode()
