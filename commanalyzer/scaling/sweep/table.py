"""The table of a sweep: what laws are fitted to, as numpy columns and as CSV.

Columns left of ``nodes`` are the program parameters, by name; the others are those of
:data:`commanalyzer.scaling.sweep.table.COLUMNS`. ``table.csv`` is plain CSV for pandas, R or a spreadsheet;
kind, schema and provenance are in the ``sweep.json`` beside it.

Columns of the table of a sweep: one line per (point, nodes, model), for the best decomposition.

In front of them stand the program parameters, by their own names. An empty cell of a number is NaN.

Lines of the table from a result: the best decomposition of every node count and model.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from commanalyzer.foundation.documents import csv_text, plain, read_csv, reading
from commanalyzer.foundation.errors import ArtifactError, ConfigError
from commanalyzer.foundation.files import write_text
from commanalyzer.graph.value_graph import HomeKind
from commanalyzer.machine.roofline.traffic import SUMMARY, node_traffic
from commanalyzer.program.frontend.decisions import USES
from commanalyzer.result.results import AnalysisResult, Decomposition

Kind = Literal["integer", "number", "text"]


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its name, type and meaning."""

    name: str  # with its unit, where it has one
    kind: Kind  # ``integer`` is int64, ``number`` float64 (NaN where not known), ``text`` a string
    meaning: str


# What the bounds on a machine need of a division besides bytes and messages.
_MEANINGS = {
    "node_bytes": "The more of sent and received bytes of the busiest node",
    "node_messages": "The more of sent and received messages of that node",
    "node_rounds": "Rounds of that node that wait for each other",
    "mean_rounds": "Such rounds of the mean node",
    "handled_messages": "Most messages that a node sends and receives",
    "collective_rounds": "Rounds of collectives that wait for each other",
    "collective_partners": "Most partners in a collective",
    "collective_bytes": "Bytes of one round of collectives at one node",
}
_DIVISIONS = (("", "the best decomposition"), ("regular_", "what a programmer would write"))
COLUMNS = (
    Column("nodes", "integer", "Node count p."),
    Column("model", "text", "Communication model."),
    Column("method", "text", "What made the best decomposition."),
    Column("comm_bytes", "integer", "Bytes C sent between nodes in the whole analysed run."),
    Column("messages", "integer", "Messages if all values of a pair of nodes and a round travel together."),
    Column("intensity", "number", "I_c = C / W, bytes per operation of W."),
    Column("work_flops", "integer", "Work W: floating-point operations, and others by their weights."),
    Column("vcg_words", "integer", "Size of the value graph in the paper's unit (Table 2)."),
    Column("footprint_bytes", "number", "Memory that the analysed part reads or writes, each place once."),
    Column("vertices", "integer", "Values (homes) of the value graph."),
    Column("flows", "integer", "Sources of all distinct value-flow chains."),
    Column("imbalance", "number", "Work of the most loaded node over the mean."),
    Column("comm_bytes_low", "integer", "Lower end of the bytes where collapsed versions leave doubt."),
    Column("comm_bytes_high", "integer", "Upper end of these bytes."),
    Column("efficiency_bound", "number", "Best parallel efficiency, paper Eq. 4, where a machine is given."),
    Column("lower_bound_bytes", "number", "Provable minimum of the bytes, where one is known."),
    Column("regular_method", "text", "What a programmer would write: plain blocks, or one array by a table."),
    Column("regular_bytes", "number", "Bytes of that division."),
    Column("regular_messages", "number", "Messages of that division."),
    Column("regular_intensity", "number", "Its I_c."),
    Column("regular_imbalance", "number", "Its imbalance."),
    Column("regular_efficiency_bound", "number", "Its best parallel efficiency, where a machine is given."),
    *(
        Column(f"{which}{name}", "number", f"{_MEANINGS[name]} of {division}.")
        for which, division in _DIVISIONS
        for name in SUMMARY
    ),
    Column("native_s", "number", "CPU time of the plain program."),
    Column("record_s", "number", "CPU time of the recorded runs of the program."),
    Column("compile_s", "number", "CPU time of compiling and instrumenting; less when cached."),
    Column("graph_s", "number", "CPU time of building the value graph from the trace."),
    Column("partition_s", "number", "CPU time of finding all candidate decompositions of these nodes."),
    Column("count_s", "number", "CPU time of counting these candidates."),
    Column("peak_rss_bytes", "number", "Largest resident memory of a recorded run of the program."),
    Column("tool_rss_bytes", "integer", "Largest resident memory of the analysis around it."),
    Column("graph_bytes", "integer", "Memory of the value graph."),
    Column("result", "text", "File of the whole result, relative to the directory of the sweep."),
)
NAMES = tuple(column.name for column in COLUMNS)
FIRST = NAMES[0]
# What one recording has for all node counts alike; the rest of the numbers depends on nodes and model too.
PER_POINT = frozenset(
    [
        *("work_flops", "vcg_words", "footprint_bytes", "vertices", "flows", "native_s", "record_s"),
        *("compile_s", "graph_s", "peak_rss_bytes", "tool_rss_bytes", "graph_bytes"),
    ]
)
# Names that a program parameter cannot have: columns, and what laws and Extra-P call the node count.
RESERVED = frozenset(NAMES) | {"p"}


TABLE_FILE = "table.csv"
STATE_FILE = "sweep.json"

Cell: TypeAlias = int | float | str
Array: TypeAlias = NDArray[np.generic]
_KINDS: Mapping[str, Kind] = {column.name: column.kind for column in COLUMNS}


@dataclass(frozen=True, slots=True)
class SweepTable:
    """Results of a sweep, one line per (point, nodes, model).

    Attributes:
        parameters: Names of the program parameters, in the order they were given.
        columns: Array of every parameter and of every column of
            :data:`~commanalyzer.scaling.sweep.table.COLUMNS`, all of one length, read-only: int64, float64
            (NaN where not known) or str. A parameter is float64 if all its values are numbers, else str.

    Raises:
        ConfigError: If a column is missing or lengths differ.
    """

    parameters: tuple[str, ...]
    columns: Mapping[str, Array]

    def __repr__(self) -> str:
        return f"SweepTable({len(self)} rows, parameters {', '.join(self.parameters)})"

    def __post_init__(self) -> None:
        expected = (*self.parameters, *NAMES)
        if tuple(self.columns) != expected:
            raise ConfigError(f"expected the columns {list(expected)}, found {list(self.columns)}")
        lengths = {len(array) for array in self.columns.values()}
        if len(lengths) != 1:
            raise ConfigError(f"expected columns of one length, found {sorted(lengths)}")
        for array in self.columns.values():
            array.setflags(write=False)

    def __len__(self) -> int:
        return len(self.columns[FIRST])

    def column(self, name: str) -> Array:
        """A column as it is.

        Raises:
            ConfigError: If there is no such column.
        """
        if name not in self.columns:
            raise ConfigError(f"expected one of the columns {', '.join(self.columns)}, found {name!r}")
        return self.columns[name]

    def numbers(self, name: str) -> NDArray[np.float64]:
        """A column as float64.

        Raises:
            ConfigError: If there is no such column, or it is text.
        """
        array = self.column(name)
        if array.dtype.kind == "U":
            raise ConfigError(f"expected a column of numbers, found the text column {name!r}")
        return np.asarray(array, dtype=np.float64)

    def where(self, mask: NDArray[np.bool_]) -> SweepTable:
        """The lines where bool[len(self)] ``mask`` is true."""
        return SweepTable(self.parameters, {name: array[mask] for name, array in self.columns.items()})

    def of_model(self, model: str) -> SweepTable:
        """The lines of one communication model."""
        return self.where(np.asarray(self.columns["model"] == model))

    @property
    def models(self) -> tuple[str, ...]:
        """Communication models, in order of appearance."""
        return tuple(dict.fromkeys(self.columns["model"].tolist()))

    def to_csv(self) -> str:
        """CSV text with a header; numbers as short as they are exact, NaN as an empty cell."""
        lines = zip(*(_written(array) for array in self.columns.values()), strict=True)
        return csv_text([tuple(self.columns), *lines])

    def save(self, path: Path, *, force: bool = False) -> None:
        """Write CSV, completely or not at all.

        Raises:
            ArtifactError: If the file exists and ``force`` is false, or it cannot be written.
        """
        write_text(path, self.to_csv(), force=force)


def table_from_lines(parameters: Sequence[str], lines: Sequence[Mapping[str, Cell]]) -> SweepTable:
    """Table with one line per entry of ``lines``; what an entry does not have is not known.

    Raises ``ConfigError`` if an integer or a parameter is missing, or a name is no column.
    """
    for name in {name for line in lines for name in line} - {*parameters, *NAMES}:
        raise ConfigError(f"expected parameters {list(parameters)} and columns of a sweep, found {name!r}")
    texts = {name: [str(line.get(name, "")) for line in lines] for name in (*parameters, *NAMES)}
    return _typed(tuple(parameters), texts, "the table")


def load_table(path: Path) -> SweepTable:
    """Table of a sweep: of its directory, its ``sweep.json``, or a CSV file.

    Raises:
        ArtifactError: If it is missing, or no table of a sweep.
        ConfigError: If a column is missing.
    """
    if path.is_dir() or path.name == STATE_FILE:
        path = (path if path.is_dir() else path.parent) / TABLE_FILE
    hint = "commanalyzer sweep ... -o DIR makes one, commanalyzer sweep --gather DIR completes one"
    with reading(path, "the table of a sweep", hint=hint):
        rows = read_csv(path)
    header = rows[0] if rows else []
    if FIRST not in header or len({len(row) for row in rows}) != 1:
        raise ArtifactError(
            f"expected a CSV table with a column {FIRST!r} and lines of one length, found another file",
            where=str(path),
        )
    parameters = tuple(header[: header.index(FIRST)])
    cells = list(zip(*rows[1:], strict=True)) or [()] * len(header)
    # Tables of earlier versions have fewer columns: what is not there is not known.
    unknown = {name: [""] * (len(rows) - 1) for name in NAMES if _KINDS[name] == "number"}
    return _typed(parameters, unknown | dict(zip(header, map(list, cells), strict=True)), str(path))


def _typed(parameters: tuple[str, ...], texts: Mapping[str, list[str]], where: str) -> SweepTable:
    taken = [name for name in parameters if name in RESERVED]
    if taken:
        raise ConfigError(f"expected parameters with names of their own, found {taken}", where=where)
    columns: dict[str, Array] = {
        name: parameter_values(cells) for name, cells in texts.items() if name in parameters
    }
    try:
        columns |= {name: _array(_KINDS[name], texts[name]) for name in NAMES if name in texts}
    except ValueError as error:
        raise ConfigError(f"expected numbers, found: {error}", where=where) from error
    return SweepTable(parameters, columns)


def _array(kind: Kind, cells: list[str]) -> Array:
    if kind == "integer":  # exact beyond 2^53, and "" is refused
        return np.array(list(map(int, cells)), dtype=np.int64)
    if kind == "number":
        return np.array([cell or "nan" for cell in cells], dtype=np.str_).astype(np.float64)
    return np.array(cells, dtype=np.str_)


def parameter_values(cells: Sequence[str]) -> Array:
    """Values of a parameter: float64 if all are numbers, else str."""
    texts = np.array(cells, dtype=np.str_)
    try:
        return texts.astype(np.float64)
    except ValueError:
        return texts


def _written(array: Array) -> list[Cell]:
    if array.dtype.kind != "f":
        return list(array.tolist())
    return ["" if number != number else plain(number) for number in array.tolist()]


Costs = Mapping[tuple[int, str], tuple[float, float]]


def table_lines(
    result: AnalysisResult,
    parameters: Mapping[str, str],
    *,
    per_point: Mapping[str, Cell] | None = None,
    per_division: Costs | None = None,
    file: str = "",
) -> tuple[dict[str, Cell], ...]:
    """Lines of ``result``.

    ``per_point``: costs of the tool itself by column; ``per_division``: (``partition_s``, ``count_s``) by
    (nodes, model).
    """
    common = {**parameters, **_of_recording(result), **(per_point or {}), "result": file}
    lines = []
    for item in result.decompositions:
        if item.best:
            partition_s, count_s = (per_division or {}).get((item.nodes, item.model), (math.nan, math.nan))
            usual = result.decomposition(item.nodes, item.model)
            written = {f"regular_{name}": value for name, value in _of_division(usual).items()}
            costs = {"regular_bytes": float(usual.comm_bytes), "partition_s": partition_s, "count_s": count_s}
            lines.append({**common, **_of_division(item), **written, **costs})
    known = {*parameters, *NAMES}
    return tuple({name: _cell(value) for name, value in line.items() if name in known} for line in lines)


def _of_recording(result: AnalysisResult) -> dict[str, Cell]:
    recording, graph = result.recording, result.store
    return {
        "work_flops": result.work.amount,
        "vcg_words": result.vcg_words,
        "footprint_bytes": float(footprint_bytes(result)),
        "vertices": graph.num_vertices,
        "flows": graph.num_flows,
        "native_s": math.nan if recording.native_s is None else recording.native_s,
        "record_s": recording.instrumented_s,
        "peak_rss_bytes": recording.peak_rss_bytes,
        "tool_rss_bytes": 0,
        "graph_bytes": graph.nbytes,
    }


def footprint_bytes(result: AnalysisResult) -> int:
    """Memory that the analysed part reads or writes: every place once, as wide as its widest value.

    Lifetimes of a word of a workspace are one place. Registers have none, and what is never touched neither.
    """
    store = result.store
    home, width, temporary = map(store.vertex_column, ("home_object", "width_bytes", "is_temporary"))
    no_memory = [o.kind == HomeKind.REGISTER or o.name in USES for o in store.objects]
    is_memory = ~np.array(no_memory or [False])[home]
    is_shared = is_memory & (temporary == 1)
    shared = np.flatnonzero(is_shared)
    places = np.stack((home[shared], store.vertex_values("home_offset", shared)))
    found, place = np.unique(places, axis=1, return_inverse=True)
    widest = np.zeros(found.shape[1], dtype=np.int64)
    np.maximum.at(widest, place.ravel(), width[shared])
    return int(width[is_memory > is_shared].sum(dtype=np.int64) + widest.sum())


def _of_division(item: Decomposition) -> dict[str, Cell]:
    traffic = item.communication
    return {
        "nodes": item.nodes,
        "model": item.model,
        "method": item.method,
        "comm_bytes": traffic.total_bytes,
        "messages": traffic.total_messages,
        "intensity": item.intensity,
        "imbalance": item.imbalance,
        "comm_bytes_low": traffic.low_bytes,
        "comm_bytes_high": traffic.high_bytes,
        "efficiency_bound": math.nan if item.efficiency_bound is None else item.efficiency_bound,
        "lower_bound_bytes": float(item.lower_bound_bytes) if item.lower_bound_bytes else math.nan,
        **node_traffic(traffic).summary(),
    }


def _cell(value: Cell) -> Cell:
    """NaN as an empty text, which JSON can hold; infinity (communication without work) as text too."""
    if isinstance(value, float) and not math.isfinite(value):
        return "" if math.isnan(value) else str(value)
    return value
