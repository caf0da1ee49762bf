"""Communication overhead rho of pairs of range mappers: what ``machine measure --range-mappers`` writes.

rho is the share of a matrix addition's time that goes into moving what it reads: 0 where nothing moves,
nearly 1 where moving takes much longer than adding. So 1 - rho is the factor by which moving lowers the
speed-up.

Reference: Stawinoga et al., Section 4.3 and Table 2.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

from commanalyzer.foundation.documents import document_text, parse_json, reading, typed
from commanalyzer.foundation.errors import ConfigError
from commanalyzer.foundation.files import write_text
from commanalyzer.kernels.tasks.mappers import RangeMapper, parse_mapper

SCHEMA = "commanalyzer.range-mappers/1"
# Celerity forbids mappers for writing whose chunks overlap; all means here that every node wrote all.
WRITES = ("one-to-one", "slice(0)", "slice(1)", "all")
READS = ("one-to-one", "neighborhood(1,1)", "slice(0)", "slice(1)", "fixed(0:1,0:1)", "all")


@dataclass(frozen=True, slots=True)
class PairOverhead:
    """One combination."""

    write: str  # mapper of the last write
    read: str  # mapper of the read
    num_nodes: int
    moved_bytes: int  # between all nodes
    moving_s: float  # time of the exchange, seconds
    adding_s: float  # time of the addition on one of the nodes, seconds

    def __post_init__(self) -> None:
        if self.moving_s < 0 or not self.adding_s > 0:
            raise ValueError("a time that is negative")
        for name in ("write", "read"):
            object.__setattr__(self, name, str(parse_mapper(getattr(self, name))))

    @property
    def rho(self) -> float:
        """Communication overhead, in [0, 1)."""
        return self.moving_s / (self.moving_s + self.adding_s)


@dataclass(frozen=True, slots=True)
class OverheadTable:
    """Overheads of a machine."""

    machine: str
    elements: int  # side N of the N x N matrix of floats
    pairs: tuple[PairOverhead, ...]

    def rho(self, write: RangeMapper, read: RangeMapper, num_nodes: int) -> float:
        """Overhead of a pair at the nearest number of nodes; ``ConfigError`` if it was not measured."""
        wanted = (word_of(write), word_of(read))
        known = [
            p for p in self.pairs if (word_of(parse_mapper(p.write)), word_of(parse_mapper(p.read))) == wanted
        ]
        if not known:
            raise ConfigError(
                f"expected the overhead of {write} -> {read}, found none in the table of {self.machine}",
                hint="measure it with: commanalyzer machine measure --range-mappers",
            )
        return min(known, key=lambda p: abs(p.num_nodes - num_nodes)).rho


def word_of(mapper: RangeMapper) -> str:
    """What pairs are told apart by: the kind, and the dimension of a slice."""
    if mapper.kind == "irregular":
        return "all"  # what has to be declared for it
    return f"slice({mapper.dimension})" if mapper.kind == "slice" else mapper.kind


def overheads_json(table: OverheadTable) -> str:
    """JSON text of a table; ``rho`` beside what it is computed from."""
    pairs = [{**asdict(pair), "rho": pair.rho} for pair in table.pairs]
    content = {"schema": SCHEMA, "machine": table.machine, "elements": table.elements, "pairs": pairs}
    return document_text(content)


def save_overheads(table: OverheadTable, path: Path, *, force: bool = False) -> None:
    """Write a table; ``ArtifactError`` if the file exists (without ``force``) or cannot be written."""
    write_text(path, overheads_json(table), force=force)


def load_overheads(path: Path) -> OverheadTable:
    """Table of a file; ``ArtifactError`` if it is missing or no such table."""
    hint = "commanalyzer machine measure --range-mappers -o FILE writes them"
    with reading(path, "overheads of range mappers", hint=hint):
        content = parse_json(path.read_text(encoding="utf-8"), is_finite=True)
        if content["schema"] != SCHEMA:
            raise ValueError(f"schema {content['schema']}")
        return typed(content, OverheadTable)
