import numpy as np

from commanalyzer.division.libraries.adjacency import Adjacency
from commanalyzer.graph.value_graph import Int32


def edge_cut(graph: Adjacency, part: Int32) -> int:
    """Bytes of the edges whose ends lie in different parts."""
    one = np.repeat(part, np.diff(graph.pointer))
    return int(graph.edge_bytes[one != part[graph.neighbour]].sum()) // 2
