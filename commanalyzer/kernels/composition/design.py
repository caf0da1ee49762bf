"""Designs: a system, models of its blocks and the machine, in one TOML file.

::

    kind = "commanalyzer.design"
    schema = 1
    system = "pipe(tpool(T, sort), inc)"
    at = { n = 262144 }        # sizes that are asked about
    cores = 12                 # threads that may run
    elements = 100000          # elements of the stream; optional
    divided = "n"              # parameter that map, reduction and stencil divide

    [counts]                   # numbers for names in the system; the others are found
    T = 4

    [blocks.sort]
    formula = "0.03899 * n * log2(n)"
    unit = "us"

    [blocks.inc]
    laws = "inc.json"          # of measure-block or fit: a law of time_s; metric = "..." for another one

    [blocks.filter]
    table = "inc.json"         # the measured times themselves, of measure-block

    [blocks.send]              # an element that goes to another node
    bytes = "8 * n"
    machine = "cluster.toml"   # latency + bytes / bandwidth; or latency = "1.5us", bandwidth = "12GB/s"
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from commanalyzer.foundation.documents import Count, Positive, parse_toml, reading, typed
from commanalyzer.foundation.errors import CommAnalyzerError, ConfigError
from commanalyzer.foundation.quantities import parse_bandwidth, parse_seconds
from commanalyzer.kernels.composition.measurement import BLOCK_METRIC, load_block
from commanalyzer.kernels.composition.models import BlockModel
from commanalyzer.kernels.composition.systems import (
    System,
    block_names,
    count_names,
    parse_system,
    with_counts,
)
from commanalyzer.machine.parameters import read_machine
from commanalyzer.scaling.laws.document import load_laws
from commanalyzer.scaling.laws.formula_reader import read_formula
from commanalyzer.scaling.laws.law import Law, law_of


class _DesignBlock(msgspec.Struct):
    formula: str = ""
    unit: str = "s"
    laws: str = ""
    metric: str = BLOCK_METRIC
    table: str = ""
    bytes: str = ""
    machine: str = ""
    latency: str = ""
    bandwidth: str = ""


class _DesignFile(msgspec.Struct, forbid_unknown_fields=True):
    """Keys of a design; see the module."""

    system: Annotated[str, msgspec.Meta(min_length=1)]
    kind: Literal["commanalyzer.design"] = "commanalyzer.design"
    schema: Literal[1] = 1
    name: str = ""
    at: dict[str, Positive] = {}
    cores: Count = 1
    elements: Count = 0
    divided: str = "n"
    counts: dict[str, Count] = {}
    blocks: dict[str, _DesignBlock] = {}


@dataclass(frozen=True, slots=True)
class Design:
    """A system that is to be built."""

    name: str  # for headings
    system: System  # expression; counts that are not given are names
    models: Mapping[str, BlockModel]  # of the blocks, seconds
    values: Mapping[str, float] = field(default_factory=dict)  # parameters that are asked about
    cores: int = 1  # threads that may run
    elements: int = 0  # elements of the stream; 0 when not given
    divided: str = "n"  # parameter that ``map`` and its like divide

    @property
    def open_counts(self) -> tuple[str, ...]:
        """Counts that are to be found."""
        return count_names(self.system)


def load_design(path: Path, system: System | None = None, counts: Mapping[str, int] | None = None) -> Design:
    """Design of a file, or of another ``system`` of its blocks, with ``counts`` before those of the file.

    Files that it names are looked for beside it.

    Raises ``ArtifactError`` if it is missing or no design; ``ConfigError`` if an entry is not usable.
    """
    with reading(path, "a design"):
        content = parse_toml(path.read_text(encoding="utf-8"))
    with reading(path, "a design", error=ConfigError):
        file = typed(content, _DesignFile)
    try:
        written = system or parse_system(file.system)
        known = count_names(written)
        if unknown := [name for name in counts or () if name not in known]:
            raise ConfigError(
                f"expected a count of the system ({', '.join(known) or 'it has none'}), found {unknown[0]}"
            )
        system = with_counts(written, {**file.counts, **(counts or {})})
        if missing := [name for name in block_names(system) if name not in file.blocks]:
            raise ConfigError(
                f"expected a model of every block, found none of {', '.join(missing)}",
                hint=f'add: [blocks.{missing[0]}] formula = "..." unit = "us"',
            )
        models = {name: _model(name, file.blocks[name], path.parent) for name in block_names(system)}
        name = file.name or path.stem
        return Design(name, system, models, file.at, file.cores, file.elements, file.divided)
    except CommAnalyzerError as error:
        if error.where and str(path) in error.where:
            raise
        where = f"{path}: {error.where}" if error.where else str(path)
        raise ConfigError(error.message, where=where, hint=error.hint) from error


def _model(name: str, block: _DesignBlock, folder: Path) -> BlockModel:
    sources = ("formula", "laws", "table", "bytes")
    given = [source for source in sources if getattr(block, source)]
    if len(given) != 1:
        raise ConfigError(
            f"expected one of {', '.join(sources)}, found {', '.join(given) or 'none'}",
            where=f"blocks.{name}",
        )
    if block.bytes:
        return _transfer(name, block, folder)
    if block.formula:
        return read_formula(block.formula, factor=parse_seconds(f"1{block.unit}"))
    if block.table:
        return load_block(folder / block.table).table
    return law_of(load_laws(folder / block.laws).laws, block.metric)


def _transfer(name: str, block: _DesignBlock, folder: Path) -> Law:
    """Latency + bytes / bandwidth."""
    where = f"blocks.{name}"
    if block.machine:
        machine = read_machine(folder / block.machine)
        if machine.bandwidth is None or machine.latency is None:
            raise ConfigError("expected a machine with latency and bandwidth, found one without", where=where)
        latency_s, bytes_per_s = machine.latency.value, machine.bandwidth.value
    elif block.bandwidth and block.latency:
        latency_s, bytes_per_s = parse_seconds(block.latency), parse_bandwidth(block.bandwidth)
    else:
        raise ConfigError("expected a machine, or latency and bandwidth, found neither", where=where)
    if not bytes_per_s > 0:
        raise ConfigError("expected a bandwidth above 0", where=where)
    return read_formula(f"({block.bytes}) / {bytes_per_s!r} + {latency_s!r}")
