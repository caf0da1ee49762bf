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
from typing import Any

from commanalyzer.foundation.documents import parse_toml
from commanalyzer.foundation.errors import ArtifactError, CommAnalyzerError, ConfigError
from commanalyzer.foundation.quantities import parse_bandwidth, parse_seconds
from commanalyzer.kernels.composition.measured import BLOCK_METRIC, load_block
from commanalyzer.kernels.composition.models import BlockModel
from commanalyzer.kernels.composition.systems import (
    System,
    block_names,
    count_names,
    parse_system,
    with_counts,
)
from commanalyzer.machine.parameters import load_machine
from commanalyzer.scaling.laws.document import load_laws
from commanalyzer.scaling.laws.formula_reader import read_formula
from commanalyzer.scaling.laws.law import Law, law_of

KIND = "commanalyzer.design"
SCHEMA = 1
_KEYS = frozenset(
    {"kind", "schema", "name", "system", "at", "cores", "elements", "divided", "counts", "blocks"}
)
_SOURCES = ("formula", "laws", "table", "bytes")


@dataclass(frozen=True, slots=True)
class Design:
    """A system that is to be built.

    Attributes:
        name: For headings.
        system: Expression; counts that are not given are names.
        models: Of the blocks, seconds.
        values: Parameters that are asked about.
        cores: Threads that may run.
        elements: Elements of the stream; 0 when not given.
        divided: Parameter that ``map`` and its like divide.
    """

    name: str
    system: System
    models: Mapping[str, BlockModel]
    values: Mapping[str, float] = field(default_factory=dict)
    cores: int = 1
    elements: int = 0
    divided: str = "n"

    @property
    def open_counts(self) -> tuple[str, ...]:
        """Counts that are to be found."""
        return count_names(self.system)


def load_design(path: Path) -> Design:
    """Design of a file; files that it names are looked for beside it.

    Raises:
        ArtifactError: If it is missing or no design.
        ConfigError: If an entry is not usable.
    """
    try:
        content = parse_toml(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ArtifactError(f"expected a design, found: {error.strerror}", where=str(path)) from error
    except ValueError as error:
        raise ArtifactError(f"expected TOML, found: {error}", where=str(path)) from error
    if content.get("kind", KIND) != KIND or content.get("schema", SCHEMA) != SCHEMA:
        raise ArtifactError(
            f"expected kind {KIND}, schema {SCHEMA}, found {content.get('kind')!r}, "
            f"{content.get('schema')!r}",
            where=str(path),
        )
    if unknown := sorted(set(content) - _KEYS):
        raise ConfigError(
            f"expected the keys {', '.join(sorted(_KEYS))}, found {', '.join(unknown)}", where=str(path)
        )
    try:
        return _design(content, path)
    except CommAnalyzerError as error:
        if error.where and str(path) in error.where:
            raise
        where = f"{path}: {error.where}" if error.where else str(path)
        raise ConfigError(error.message, where=where, hint=error.hint) from error


def _design(content: Mapping[str, Any], path: Path) -> Design:
    counts = {name: _whole(value, f"counts.{name}") for name, value in _table(content, "counts").items()}
    blocks = _table(content, "blocks")
    system = with_counts(parse_system(_text(content, "system")), counts)
    if missing := [name for name in block_names(system) if name not in blocks]:
        raise ConfigError(
            f"expected a model of every block, found none of {', '.join(missing)}",
            hint=f'add: [blocks.{missing[0]}] formula = "..." unit = "us"',
        )
    models = {name: _model(name, _table(blocks, name), path.parent) for name in block_names(system)}
    return Design(
        name=str(content.get("name", path.stem)),
        system=system,
        models=models,
        values={name: _number(value, f"at.{name}") for name, value in _table(content, "at").items()},
        cores=_whole(content.get("cores", 1), "cores"),
        elements=_whole(content["elements"], "elements") if "elements" in content else 0,
        divided=str(content.get("divided", "n")),
    )


def _model(name: str, entry: Mapping[str, Any], folder: Path) -> BlockModel:
    given = [source for source in _SOURCES if source in entry]
    if len(given) != 1:
        raise ConfigError(
            f"expected one of {', '.join(_SOURCES)}, found {', '.join(given) or 'none'}",
            where=f"blocks.{name}",
        )
    source = given[0]
    if source == "bytes":
        return _transfer(name, entry, folder)
    if source == "formula":
        unit_s = parse_seconds(f"1{entry.get('unit', 's')}")
        return read_formula(_text(entry, "formula"), factor=unit_s)
    path = folder / _text(entry, source)
    if source == "table":
        return load_block(path).table
    return law_of(load_laws(path).laws, str(entry.get("metric", BLOCK_METRIC)))


def _transfer(name: str, entry: Mapping[str, Any], folder: Path) -> Law:
    """Latency + bytes / bandwidth."""
    where = f"blocks.{name}"
    if "machine" in entry:
        machine = load_machine(folder / _text(entry, "machine"))
        if machine.bandwidth is None or machine.latency is None:
            raise ConfigError("expected a machine with latency and bandwidth, found one without", where=where)
        latency_s, bytes_per_s = machine.latency.value, machine.bandwidth.value
    elif "bandwidth" in entry and "latency" in entry:
        latency_s = parse_seconds(_text(entry, "latency"))
        bytes_per_s = parse_bandwidth(_text(entry, "bandwidth"))
    else:
        raise ConfigError("expected a machine, or latency and bandwidth, found neither", where=where)
    if not bytes_per_s > 0:
        raise ConfigError("expected a bandwidth above 0", where=where)
    return read_formula(f"({_text(entry, 'bytes')}) / {bytes_per_s!r} + {latency_s!r}")


def _table(content: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = content.get(key, {})
    if not isinstance(found, dict):
        raise ConfigError(f"expected a table, found {found!r}", where=key)
    return found


def _text(content: Mapping[str, Any], key: str) -> str:
    found = content.get(key)
    if not isinstance(found, str) or not found:
        raise ConfigError(f"expected a text, found {found!r}", where=key)
    return found


def _number(value: object, where: str) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < float("inf"):
        raise ConfigError(f"expected a positive number, found {value!r}", where=where)
    return float(value)


def _whole(value: object, where: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ConfigError(f"expected a whole number of 1 or more, found {value!r}", where=where)
    return value
