"""Expected communication and work of the irregular workloads, by derivation.

Conventions, units and the reading of programs are those of :mod:`tests.e2e.theory`.
"""

from tests.e2e import theory

# --- cg ---------------------------------------------------------------------------------------------------


def cg_entries(n: int, dimensions: int) -> int:
    """Matrix entries: a diagonal per point and two per pair of neighbours (n^(d-1) (n - 1) per direction)."""
    lines: int = n ** (dimensions - 1)
    return n * lines + 2 * dimensions * lines * (n - 1)


def cg_words(halo: int, iterations: int, p: int) -> int:
    """Words of the main loop where one product exchanges ``halo`` words of the search direction p.

    An iteration forms two scalar products, each of which every part contributes to (fold, p - 1 words), and
    uses two scalars, alpha and beta, everywhere (expand, p - 1 words): halo + 4 (p - 1). The scalar product
    before the loop is folded, and all test it.
    """
    return iterations * (halo + 4 * (p - 1)) + 2 * (p - 1)


def cg_halo(n: int, parts: tuple[int, ...]) -> int:
    """Words of the product for blocks of the 2-D or 3-D grid: the matrix is that of the star stencil."""
    if len(parts) == 2:
        return theory.heat2d_words_per_step(n, *parts)
    return theory.stencil3d_words_per_step(n, *parts)


def cg_flops(unknowns: int, entries: int, iterations: int) -> int:
    """Floating-point operations of the main loop.

    An iteration: two per entry, two scalar products and three updates of two per unknown, two divisions.
    Before it, one scalar product.
    """
    return iterations * (2 * entries + 10 * unknowns + 2) + 2 * unknowns


# --- adi --------------------------------------------------------------------------------------------------


def adi_words(n: int, steps: int, parts_y: int, parts_x: int) -> int:
    """Words of the main loop on n x n points in parts_y x parts_x blocks.

    A half step crosses each cut of its implicit direction on n lines: the elimination sends two words (cp
    and dp) forward, the substitution one word (the new value) back. Its explicit part reads the points on
    either side of the cuts of the other direction; those behind the cut have come back already, with the
    substitution of the half step before, except the initial values; those before it are one word per line.

    So a cut between block columns has 2 + 1 words per line in the row half step and 1 in the column half
    step: 4 n. A cut between block rows has 1 in the row half step and 3 in the column half step, and one more
    in the first step (the initial values from behind the cut): 4 n, and n once.
    """
    columns = 4 * n * steps
    rows = 4 * n * steps + n if steps else 0
    return columns * (parts_x - 1) + rows * (parts_y - 1)


def adi_flops(n: int, steps: int) -> int:
    """Floating-point operations: 15 n - 6 per line, 2 n lines per step.

    Right-hand side 6 per point, elimination 7 per point but the first, which has 3 (the compiler computes
    c + 2 R once), substitution 2 per point but the last: 6 n + 7 (n - 1) + 3 + 2 (n - 1).
    """
    return 2 * n * steps * (15 * n - 6)


# --- pic --------------------------------------------------------------------------------------------------


def pic_potential_words(n: int, q: int, sweeps: int, steps: int) -> int:
    """Words of the field solver in q x q blocks of a periodic grid, q > 1.

    As in heat2d, but there are q cuts in each direction, not q - 1: 4 n q words per version of the potential.
    Versions are the initial one and one for each sweep; the last of a step is read by the differences and by
    the first sweep of the next step, but sent once.
    """
    return 4 * n * q * (sweeps * steps + 1) if steps else 0


def pic_particle_words(foreign: int) -> int:
    """Words between particles and grid, for ``foreign`` (grid point, part) pairs summed over the steps.

    A part that has particles at a grid point of another one adds up their charge and sends one word, and it
    receives the two components of the field.
    """
    return 3 * foreign


def pic_migrating_words(foreign: int, moves: int) -> int:
    """Words between particles and grid where particles belong to the part whose cells they are in.

    ``foreign`` as above, with these owners; ``moves`` are changes of owner between two steps: four words.
    """
    return 3 * foreign + 4 * moves


# --- pagerank ---------------------------------------------------------------------------------------------


def pagerank_words(remote: int, iterations: int, p: int) -> int:
    """Words of the main loop for ``remote`` (vertex, reading part) pairs.

    Every share is sent once to each other part that has an edge from its vertex. The rank of the vertices
    without edges is summed up (fold, p - 1 words), and what follows from it is used everywhere (p - 1),
    whether there are such vertices or not.

    It is an upper bound for the division that ``remote`` was counted in: where several vertices of a part
    lead to the same vertex elsewhere and to nothing else there, their sum would be one word instead.
    """
    return iterations * (remote + 2 * (p - 1))
