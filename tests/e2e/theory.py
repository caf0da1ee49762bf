"""Expected communication, work and graph size of the programs in ``workloads/``, by derivation.

All programs are read in their owner-computes SPMD form (paper Section 2.1): every array element has one
owner part that computes it, a version of an element is sent once to every other part that reads it
(expand, paper Section 4.2.1: "redundant communication pruning"), and contributions that enter an element
through a sum are added up by the contributing part and sent as one word (fold).

Units: *words* are values (8 bytes for the doubles of all programs); functions that mix widths return bytes.
Parts divide the index space evenly unless a function says otherwise.
"""

import math

WORD_BYTES = 8
COUNT_BYTES = 4


def vcg_words(vertices: int, edges: int) -> int:
    """Words that the value graph takes in the paper's unit: two per vertex and two per directed edge.

    Reference: paper Table 2 (Heat2D: one vertex with five in-edges per grid point makes 12 words).
    """
    return 2 * vertices + 2 * edges


# --- heat2d -----------------------------------------------------------------------------------------------


def heat2d_words_per_step(n: int, parts_y: int, parts_x: int) -> int:
    """Words per step of the 5-point stencil on n x n points in parts_y x parts_x blocks.

    Each of the ``parts_y - 1`` cuts between block rows separates two grid rows of n points. Every point of
    both rows is read by exactly one point beyond the cut, so it is sent once: 2 n words. The same holds for
    the ``parts_x - 1`` cuts between block columns. A point in the corner of a block is sent to two parts,
    once for each cut, and no part reads one point through two cuts (the stencil has no diagonal): the sum is
    exact also for blocks of unequal size.

    ``q x q`` blocks: 4 n (q - 1). ``p`` slabs (``parts_x = 1``): 2 n (p - 1).
    """
    return 2 * n * (parts_y - 1) + 2 * n * (parts_x - 1)


def heat2d_lower_bound_per_step(n: int, p: int) -> float:
    """Words per step that no division of n x n points into p parts of equal size can stay below.

    A part S has s = n^2 / p points. Count the points outside S that are adjacent to it (they are received).
    A grid row that S touches without filling it contains at least one such point, and so does a column.
    If S fills neither a row nor a column, it touches at least sqrt(s) rows or sqrt(s) columns and receives
    n / sqrt(p) words. If it fills a row, it touches all n columns and can fill at most s / n = n / p of them:
    it receives n (1 - 1/p) words. Summed over p parts: min(n sqrt(p), n (p - 1)).
    """
    return min(n * math.sqrt(p), float(n * (p - 1)))


def heat2d_flops(n: int, steps: int) -> int:
    """Floating-point operations of the main loop.

    ``centre + R * (around - 4 * centre)``, ``around`` being a sum of four values: 3 + 4 = 7 per point.
    """
    return 7 * n * n * steps


def heat2d_vcg_words(n: int) -> int:
    """Leading term of the graph size: one vertex and five sources (the point itself included) per point."""
    return vcg_words(n * n, 5 * n * n)


# --- stencil3d --------------------------------------------------------------------------------------------


def stencil3d_words_per_step(n: int, parts_z: int, parts_y: int, parts_x: int) -> int:
    """Words per step of the 7-point stencil on n^3 points in parts_z x parts_y x parts_x blocks.

    As for :func:`heat2d_words_per_step`: each cut has n^2 points on both sides, each sent once across it.
    ``q^3`` blocks: 6 n^2 (q - 1). ``p`` slabs: 2 n^2 (p - 1).
    """
    cuts = parts_z - 1 + parts_y - 1 + parts_x - 1
    return 2 * n * n * cuts


def stencil3d_flops(n: int, steps: int) -> int:
    """Floating-point operations of the main loop: six additions and a division per point."""
    return 7 * n**3 * steps


def stencil3d_vcg_words(n: int) -> int:
    """Leading term of the graph size: one vertex and seven sources per point (paper Table 2: 16 n)."""
    return vcg_words(n**3, 7 * n**3)


# --- matmul -----------------------------------------------------------------------------------------------


def matmul_words(n: int, parts_y: int, parts_x: int) -> int:
    """Words of C = A B for n x n matrices, all three in the same parts_y x parts_x blocks.

    An element a(i,k) is read by the row of blocks that owns row i of C: ``parts_x`` parts, of which one owns
    it, so it is sent ``parts_x - 1`` times; b(k,j) is sent ``parts_y - 1`` times.

    ``sqrt(p) x sqrt(p)`` blocks: 2 n^2 (sqrt(p) - 1). ``p`` slabs: n^2 (p - 1).
    """
    return n * n * (parts_x - 1) + n * n * (parts_y - 1)


def matmul_fold_bound(n: int, p: int) -> float:
    """Least words if partial sums of C may be computed anywhere and folded (balanced multiplications).

    A part that performs n^3 / p multiplications with a elements of A, b of B and c of C satisfies
    a b c >= (n^3 / p)^2 (Loomis and Whitney; used by Irony, Toledo and Tiskin): a + b + c >= 3 n^2 / p^(2/3).
    Each of the 3 n^2 elements is at home in one of the parts that touch it: 3 n^2 (p^(1/3) - 1).
    """
    return 3.0 * n * n * (math.cbrt(p) - 1.0)


def matmul_flops(n: int) -> int:
    """Floating-point operations: a multiplication and an addition for each of the n^3 products."""
    return 2 * n**3


def matmul_vcg_words(n: int) -> int:
    """Leading term of the graph size: 2 n sources for each of n^2 elements of C (paper Table 2: 4 n^1.5)."""
    return vcg_words(0, 2 * n**3)


# --- spmv -------------------------------------------------------------------------------------------------


def spmv_dense_words(n: int, p: int) -> int:
    """Words per product with a dense matrix in blocks on a grid p1 x p2 of parts, the best one.

    Entries of x are sent along the columns of the grid, n (p1 - 1), sums for y combined along its rows,
    n (p2 - 1). Row blocks are p x 1.
    """
    return min(n * (p1 - 1 + p // p1 - 1) for p1 in range(1, p + 1) if p % p1 == 0)


def spmv_banded_words(n: int, p: int, half_band: int) -> int:
    """Words per product with a banded matrix in row blocks of n / p >= half_band rows.

    At each of the p - 1 block borders the ``half_band`` last x_j of the upper block are read below it and
    the ``half_band`` first of the lower block are read above it: 2 half_band (p - 1).

    Raises:
        ValueError: If a block is smaller than the half band (then x_j reaches further than one block).
    """
    if n // p < half_band:
        raise ValueError(f"blocks of {n // p} rows are smaller than the half band {half_band}")
    return 2 * half_band * (p - 1)


def spmv_random_expected_words(n: int, p: int, per_row: int) -> float:
    """Expected words per product with ``per_row`` random columns per row, row blocks of n / p rows.

    Each row has one entry in each of ``per_row`` sections of n / per_row columns, so it reads a given x_j
    with probability per_row / n. None of the n / p rows of another part reads it with probability
    (1 - per_row / n)^(n / p); it is sent to each of the p - 1 other parts otherwise.
    """
    missed: float = (1.0 - per_row / n) ** (n / p)
    return n * (p - 1) * (1.0 - missed)


def spmv_flops(n: int, entries: int, iterations: int) -> int:
    """Floating-point operations: two per entry and product, two per element and relaxation."""
    return 2 * entries * iterations + 2 * n * max(0, iterations - 1)


def spmv_banded_entries(n: int, half_band: int) -> int:
    """Entries of the banded matrix: 2 half_band + 1 per row, without those outside the matrix.

    The k-th diagonal above and below the main one has n - k entries, k = 1 ... min(half_band, n - 1).
    """
    h = min(half_band, n - 1)
    return n + 2 * (h * n - h * (h + 1) // 2)


# --- kmeans -----------------------------------------------------------------------------------------------


def kmeans_bytes(m: int, k: int, iterations: int, p: int) -> int:
    """Bytes of the main loop for K clusters with M features, objects divided among p parts.

    Per iteration every part reads all k m centroid components (8 bytes, expand: p - 1 words each, in the
    first iteration the initial ones) and contributes to all of them (fold: p - 1 words each) and to the k
    member counts (4 bytes, fold: p - 1 each; a count lives with the centroid that is divided by it, so it is
    not sent on). The last update is not read in the loop. In all: iterations (2 k m words + k counts)
    (p - 1), the paper's O(mki).

    It is assumed that every part owns members of every cluster in every iteration.
    """
    centroid_words = 2 * k * m * (p - 1) * iterations
    count_words = k * (p - 1) * iterations
    return WORD_BYTES * centroid_words + COUNT_BYTES * count_words


def kmeans_flops(n: int, m: int, k: int, iterations: int) -> int:
    """Floating-point operations of the main loop (no cluster without members).

    Distances: a subtraction, a multiplication and an addition per object, cluster and feature. Update: an
    addition per object and feature, a division per cluster and feature.
    """
    return iterations * (3 * n * m * k + n * m + k * m)
