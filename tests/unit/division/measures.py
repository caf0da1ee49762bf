import numpy as np

from commanalyzer.division.libraries.adjacency import Adjacency
from commanalyzer.division.options import PortfolioOptions
from commanalyzer.division.portfolio import Portfolio
from commanalyzer.division.selection import Cost
from commanalyzer.graph.value_graph import Bool, Int32, ValueGraph
from tests.counts import count_volume, imbalance_of_work


def edge_cut(graph: Adjacency, part: Int32) -> int:
    """Bytes of the edges whose ends lie in different parts."""
    one = np.repeat(part, np.diff(graph.pointer))
    return int(graph.edge_bytes[one != part[graph.neighbour]].sum()) // 2


def none_removed(graph: ValueGraph) -> Bool:
    return np.zeros(graph.num_vertices, np.bool_)


def portfolio_of(graph: ValueGraph, parts: int, hubs: Bool | None = None, wanted: int = 0) -> Portfolio:
    """Methods that count the volume in all rows; work as it is, without that of reductions."""
    removed = none_removed(graph) if hubs is None else hubs

    def count(part: Int32, num_parts: int) -> Cost:
        work = graph.work_flops
        bytes_sent = count_volume(graph, part, num_parts, removed).total_bytes
        return Cost(bytes_sent, imbalance_of_work(work, part, num_parts), lambda: work)

    return Portfolio(graph, removed, PortfolioOptions((parts,), 1, 0.03), count, wanted)
