"""Communication of a matrix product with given owners, counted triple by triple."""

from collections import defaultdict

import networkx as nx
import numpy as np
from numpy.typing import NDArray

Owners = NDArray[np.int32]


def matmul_volume_words(a: Owners, b: Owners, c: Owners) -> int:
    """Words that C = A B moves if its elements have these owners.

    Product a(i,k) b(k,j) belongs to element c(i,j) with owner o. Where both factors live in one other part q,
    that part may add up all its products of c(i,j) and send one word; otherwise every factor that o does not
    own is sent to o, once for all products there. Between these, each factor of each such sum is sent or the
    sum is: the fewest words are a minimum vertex cover, as large as a maximum matching (König).

    Args:
        a: int32[n, n] owner of each element of A; ``b`` and ``c`` alike.
        b: Owners of B.
        c: Owners of C.
    """
    n = len(a)
    sent: set[tuple[str, int, int, int]] = set()
    remote: dict[tuple[int, int, int], set[tuple[str, int, int]]] = defaultdict(set)
    for i in range(n):
        for j in range(n):
            owner = int(c[i, j])
            for k in range(n):
                factors = (("a", i, k, int(a[i, k])), ("b", k, j, int(b[k, j])))
                if a[i, k] == b[k, j] != owner:
                    remote[i, j, int(a[i, k])] |= {f[:3] for f in factors}
                else:
                    sent |= {(*f[:3], owner) for f in factors if f[3] != owner}
    choices = nx.Graph()
    for (i, j, home), factors_there in remote.items():
        wanted = {(*f, int(c[i, j])) for f in factors_there}
        choices.add_edges_from(((i, j, home), factor) for factor in wanted - sent)
    sums = [key for key in remote if key in choices]
    matching = nx.bipartite.hopcroft_karp_matching(choices, top_nodes=sums)
    return len(sent) + len(matching) // 2
