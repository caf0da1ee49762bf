"""The torus in SimGrid's platform language: routers with links to their neighbours, a network interface each.

SimGrid's own torus cluster has either no limit of what a node sends, so that it feeds all its links at once,
or one for both directions and the traffic that passes through: a node that only receives would take in twice
what one that exchanges does. Here every node has an interface that sends and receives B at the same time, as
the nodes of all other generated platforms do, and passing traffic uses links only.

Messages go along the first dimension, then the second, then the third, the short way round (dimension order,
free of deadlocks). A shortest path does that where each router stands once per dimension:

    node --up--> router 0 --turn--> router 1 --turn--> router 2 --down--> node
                 | links along      | along            | along
                 | dimension 0      | dimension 1      | dimension 2

Turns take no time and carry everything. All paths have the same number of them, so that the one with the
fewest links is the one with the fewest steps.

Reference: W. J. Dally, C. L. Seitz, Deadlock-free message routing in multiprocessor interconnection networks,
IEEE Trans. Computers C-36(5), 1987 (dimension order).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

_TURN = "turn"
_TURN_BANDWIDTH_BPS = 1e18


def torus_elements(
    prefix: str, sides: Sequence[int], throughput: float, bandwidth: float, latency_s: float
) -> Iterator[str]:
    """Lines of the zone: hosts, routers, links, routes.

    Args:
        prefix: Names of the hosts before their number; along the first side numbers are neighbours.
        sides: Nodes along each dimension, > 1 each.
        throughput: Speed of a node, Flop/s.
        bandwidth: Of links and interfaces in each direction, B/s.
        latency_s: Of a step, seconds.
    """
    count, last = math.prod(sides), len(sides) - 1
    yield '<zone id="machine" routing="DijkstraCache">'
    for n in range(count):
        yield f'  <host id="{prefix}{n}" speed="{throughput!r}f"/>'
        yield from (f'  <router id="{_router(n, d)}"/>' for d in range(len(sides)))
    yield _link(_TURN, _TURN_BANDWIDTH_BPS, 0.0, "FATPIPE")
    for n in range(count):
        yield _link(f"up-{n}", bandwidth, 0.0)
        yield _link(f"down-{n}", bandwidth, 0.0)
    steps = list(_steps(sides))
    for n, d, beyond in steps:
        yield _link(_step_name(n, d, beyond), bandwidth, latency_s)
    for n in range(count):
        yield _route(f"{prefix}{n}", _router(n, 0), f"up-{n}")
        yield _route(_router(n, last), f"{prefix}{n}", f"down-{n}")
        yield from (_route(_router(n, d), _router(n, d + 1), _TURN) for d in range(last))
    for n, d, beyond in steps:
        yield _route(_router(n, d), _router(beyond, d), _step_name(n, d, beyond))
    yield "</zone>"


def _steps(sides: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """Node, dimension and next node of every step; two nodes along a side are linked once."""
    stride = 1
    for d, side in enumerate(sides):
        for n in range(math.prod(sides)):
            at = n // stride % side
            yield from ((n, d, n + (b - at) * stride) for b in sorted({(at + 1) % side, (at - 1) % side}))
        stride *= side


def _router(node: int, dimension: int) -> str:
    return f"router-{node}-{dimension}"


def _step_name(node: int, dimension: int, beyond: int) -> str:
    return f"step-{dimension}-{node}-{beyond}"


def _link(name: str, bandwidth: float, latency_s: float, policy: str = "SHARED") -> str:
    return (
        f'  <link id="{name}" bandwidth="{bandwidth!r}Bps" latency="{latency_s!r}s" '
        f'sharing_policy="{policy}"/>'
    )


def _route(source: str, target: str, link: str) -> str:
    return f'  <route src="{source}" dst="{target}" symmetrical="NO"><link_ctn id="{link}"/></route>'
