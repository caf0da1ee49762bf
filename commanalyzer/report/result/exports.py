"""Chooses what of a result goes into which file format; the writers are in ``export``."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from operator import attrgetter
from pathlib import Path

import networkx

from commanalyzer.division.coarsening.coarse import build_by_value
from commanalyzer.foundation.errors import ConfigError
from commanalyzer.foundation.files import write_text
from commanalyzer.foundation.quantities import format_bytes
from commanalyzer.graph.structure.hubs import find_hubs
from commanalyzer.profiles.ranks import work_of_ranks
from commanalyzer.report.html.subject import counted_graph
from commanalyzer.report.result.causes_text import hatchet_literal
from commanalyzer.report.result.json_document import json_text
from commanalyzer.result.causes import causes_of
from commanalyzer.result.export.files import (
    Measurement,
    quotient_graph,
    write_extrap,
    write_graphml,
    write_hmetis,
    write_matrix_csv,
    write_matrix_market,
    write_metis_graph,
    write_partition,
)
from commanalyzer.result.results import AnalysisResult

_OF_GRAPHS = frozenset(("metis", "hatchet", "hmetis", "partition"))
_MATRIX_WRITERS = {"csv": write_matrix_csv, "matrixmarket": write_matrix_market}
# Options of what is written; of other formats --nodes and --model
_USED = {"extrap": ("model", "param"), "hatchet": ("nodes",), "json": (), "metis": (), "hmetis": ()}
_MOST_EDGES = 4096  # about what Graphviz places in a minute: 64 nodes that all talk to each other


def export_result(
    result: AnalysisResult,
    form: str,
    path: Path,
    *,
    nodes: int | None = None,
    model: str = "",
    parameters: Mapping[str, float] | None = None,
) -> None:
    """Write ``result`` to ``path``.

    Of one decomposition, that of the largest node count and the leading model if none are given: ``csv``,
    ``matrixmarket``, ``dot``, ``graphml``, ``hatchet``, ``partition``; of the graph: ``metis``, ``hmetis``;
    of all: ``extrap``, ``json``. ``parameters`` are those of this run besides the node count, for ``extrap``.
    Raises ``ConfigError`` if the format is unknown or the decomposition was not analysed; ``ArtifactError``
    if the file cannot be written.
    """
    if result.counted is not None and form in _OF_GRAPHS:
        raise ConfigError(
            f"expected a prediction to export as {form}, found a counted MPI run: it has no value graph",
            hint="csv, matrixmarket, dot, graphml, extrap and json work",
        )
    used = _USED.get(form, ("nodes", "model"))
    given = {"nodes": nodes is not None, "model": bool(model), "param": bool(parameters)}
    if unused := [f"--{name}" for name in given if given[name] and name not in used]:
        raise ConfigError(f"expected options that --format {form} uses, found {', '.join(unused)}")
    whole: dict[str, Callable[[], None]] = {
        "json": lambda: write_text(path, json_text(result), force=True),
        "extrap": lambda: write_extrap(path, measurements(result, model, parameters or {})),
        "hmetis": lambda: write_hmetis(path, result.graph),
        "metis": lambda: write_metis_graph(
            path, build_by_value(result.graph, find_hubs(result.graph)).adjacency
        ),
    }
    if form in whole:
        whole[form]()
        return
    item = result.decomposition(nodes if nodes is not None else max(result.nodes, default=1), model)
    if form in _MATRIX_WRITERS:
        _MATRIX_WRITERS[form](path, item.communication)
    elif form in ("dot", "graphml"):  # terms of a sum are work where they are combined, as in the imbalance
        work = work_of_ranks(result.store, item)(counted_graph(result, item).work_flops)
        if form == "graphml":
            write_graphml(path, item.communication, work)
        else:
            write_text(path, _dot(quotient_graph(item.communication, work)), force=True)
    elif form == "hatchet":
        literal = hatchet_literal(causes_of(result, item.nodes, method=item.method))
        write_text(path, json.dumps(literal, indent=1) + "\n", force=True)
    elif form == "partition":
        write_partition(path, item.part)
    else:
        raise ConfigError(f"expected a known export format, found {form!r}")


def _dot(graph: networkx.DiGraph) -> str:
    """The graph of nodes for Graphviz; ``bytes`` of an edge are exact, its ``weight`` is 1 to 100."""
    if graph.number_of_edges() > _MOST_EDGES:
        raise ConfigError(
            f"expected at most {_MOST_EDGES} pairs of nodes to draw, found {graph.number_of_edges()}",
            hint="export fewer --nodes, or --format graphml, which has no limit",
        )
    most = max((size for *_, size in graph.edges(data="bytes")), default=1)
    lines = [f'{i} [label="rank {i}", work_flops={work:.17g}]' for i, work in graph.nodes(data="work_flops")]
    for i, j, edge in graph.edges(data=True):
        sent, messages = edge["bytes"], edge["messages"]
        text = f'label="{format_bytes(sent)}", bytes={sent}, messages={messages}'
        lines.append(f"{i} -> {j} [{text}, weight={1 + 99 * sent // most}]")
    return "digraph communication {\n" + "".join(f"  {line};\n" for line in lines) + "}\n"


def measurements(result: AnalysisResult, model: str, parameters: Mapping[str, float]) -> list[Measurement]:
    """Bytes and messages of what a programmer would write, by node count; ``ConfigError`` if none are."""
    callpath = ["main", *result.regions[:1]]
    points = [result.decomposition(nodes, model) for nodes in result.nodes]
    return [
        Measurement({"p": item.nodes, **parameters}, callpath, metric, [float(pick(item))])
        for metric, pick in _METRICS.items()
        for item in points
    ]


_METRICS = {
    "comm_bytes": attrgetter("comm_bytes"),
    "messages": attrgetter("communication.total_messages"),
}
