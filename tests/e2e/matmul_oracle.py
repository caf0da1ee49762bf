"""Communication of a matrix product with given owners, counted triple by triple."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from numpy.typing import NDArray

Owners = NDArray[np.int32]


def matmul_volume_words(a: Owners, b: Owners, c: Owners, passes: int = 2) -> int:
    """Words that C = A B moves if its elements have these owners.

    Product a(i,k) b(k,j) belongs to element c(i,j) with owner o. Where both factors live in one other part q,
    that part may add up all its products of c(i,j) and send one word; otherwise every factor that o does not
    own is sent to o, once for all products there. Factors are sent instead of the sum if that takes no more
    words, given what o receives anyway; since each decision changes what is received, they are made twice.

    Args:
        a: int32[n, n] owner of each element of A; ``b`` and ``c`` alike.
        b: Owners of B.
        c: Owners of C.
        passes: How often the decision is made.
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
    folded = set(remote)
    for _ in range(passes):
        known = frozenset(sent)
        for key in sorted(folded):
            wanted = {(*f, int(c[key[0], key[1]])) for f in remote[key]}
            if len(wanted - known) <= 1:
                folded.discard(key)
                sent |= wanted
    return len(sent) + len(folded)
