"""What divisions to try: options of the portfolios, and what the user asked for checked against them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from commanalyzer.division.libraries.concurrency import LibraryCaller
from commanalyzer.division.regular.grids import grid_name
from commanalyzer.division.regular.owner_map import OwnerMap
from commanalyzer.division.regular.rules import Rule
from commanalyzer.foundation.errors import ConfigError
from commanalyzer.graph.storage.store import AnyGraph
from commanalyzer.graph.value_graph import Int32

LARGE_FLOWS = 3_000_000
LARGE_VALUES = 1_000_000


@dataclass(frozen=True, slots=True)
class PortfolioOptions:
    """What to try; with ``given`` owners, nothing else is."""

    nodes: tuple[int, ...]  # numbers of parts
    seed: int  # of the partitioners
    imbalance: float  # allowed excess of the largest part's work over the mean
    rules: tuple[Rule, ...] = ()  # divisions that the user named
    owner_map: OwnerMap | None = None  # owners that the user gave
    # Hypergraphs, grids and refinement; otherwise METIS and the user's divisions only.
    structured: bool = True
    caller: LibraryCaller = field(default_factory=LibraryCaller)
    budget_s: float = math.inf  # CPU seconds for one number of parts, spent by estimates
    given: Mapping[int, Int32] = field(default_factory=dict)  # by number of parts [V], -1 for what follows


def check_asked(options: PortfolioOptions) -> None:
    """Raise ``ConfigError`` if the user asked for a number of parts that is not analysed."""
    nodes = ", ".join(map(str, options.nodes))
    for rule in options.rules:
        if rule.kind == "block" and rule.numbers and math.prod(rule.numbers) not in options.nodes:
            raise ConfigError(
                f"expected a process grid for one of the node counts {nodes}, "
                f"found {grid_name(rule.numbers)} = {math.prod(rule.numbers)}",
                where=f"--decompose {rule.text}",
                hint=f"add --nodes {math.prod(rule.numbers)}",
            )
    owner_map = options.owner_map
    if owner_map is not None and owner_map.num_parts not in options.nodes:
        raise ConfigError(
            f"expected an owner map for one of the node counts {nodes}, found {owner_map.num_parts} parts",
            where=str(owner_map.path),
            hint=f"add --nodes {owner_map.num_parts}",
        )


def is_large(graph: AnyGraph) -> bool:
    """Whether a graph stays coded: expanded, it would take gigabytes."""
    return graph.num_flows > LARGE_FLOWS or graph.num_vertices > LARGE_VALUES
