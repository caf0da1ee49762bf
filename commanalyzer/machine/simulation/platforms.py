"""Platform files of SimGrid: star, fat tree, torus and dragonfly made from a few machine parameters.

All links of a platform are alike and carry both directions independently. The factors by which SimGrid's MPI
model changes latency and bandwidth per message size are switched off: what the machine file says was measured
with MPI, and such factors would count the same losses again. So a message of s bytes between two idle nodes
that share a switch takes exactly latency + s / bandwidth.

    topology    links between nodes             latency       remarks
    star        2                               L             every pattern runs at full speed
    fat tree    2 below one switch, else 4      L or 2 L      a spine for each node of a switch, static routes
    torus       1 per step and 2 at the ends    L per step    dimension order, the short way round
    hypercube   the same                        L per step    a torus with two nodes along each dimension
    dragonfly   2 in one router, at most 5      L ... 2.5 L   parallel links, minimal routes

Reference: H. Casanova et al., Versatile, scalable, and accurate simulation of distributed applications and
platforms, JPDC 2014 (SimGrid); its ``<cluster>`` element and topology parameters.

The torus in SimGrid's platform language: routers with links to their neighbours, a network interface each.

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

Platform files of the user: names of the hosts, in the order of the file.
"""

from __future__ import annotations

import itertools
import math
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import quoteattr

from commanalyzer.foundation.documents import reading
from commanalyzer.foundation.errors import ConfigError, MachineModelError
from commanalyzer.machine.parameters import MachineParameters

_TURN = "turn"
_TURN_BANDWIDTH_BPS = 1e18


def torus_elements(
    prefix: str, sides: Sequence[int], throughput: float, bandwidth: float, latency_s: float
) -> Iterator[str]:
    """Lines of the zone: hosts, routers, links, routes.

    Names of hosts begin with ``prefix``; ``sides``, > 1 each, are nodes along each dimension, along the first
    numbers are neighbours. ``throughput`` is in Flop/s, ``bandwidth`` in B/s, each direction.
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


TOPOLOGIES = ("star", "fat-tree", "torus", "dragonfly", "hypercube")
MAX_HOSTS = 65536
_HOST = "node-"
MEMORY_LATENCY_S = 5e-7
"""Time of an empty message within a node; MPI takes 0.2 to 1 us (W. Gropp et al., EuroMPI 2016)."""
MEMORY_BANDWIDTH = 5e9
"""Of one message within a node, B/s; messages within a node do not share it."""
# SimGrid's defaults are factors fitted to one cluster, 5 % of the bandwidth for acknowledgements, and a
# window of TCP that limits long fast routes.
_PLAIN_NETWORK = {
    "smpi/bw-factor": "0:1",
    "smpi/lat-factor": "0:1",
    "network/crosstraffic": "0",
    "network/TCP-gamma": "0",
    "network/loopback-bw": f"{MEMORY_BANDWIDTH!r}",
    "network/loopback-lat": f"{MEMORY_LATENCY_S!r}",
}
_OVERHEADS = ("smpi/os", "smpi/ois", "smpi/or")  # of a send, a nonblocking send, a receive


@dataclass(frozen=True, slots=True)
class LinkParameters:
    """What a generated platform is made of; ``MachineModelError`` if two overheads exceed the latency."""

    bandwidth: float  # bandwidth of a link in each direction, B/s
    # Time of an empty message between neighbouring nodes, message overheads included, seconds
    latency_s: float
    throughput: float  # speed of a node, Flop/s
    # Time a node is busy with sending, and with receiving, one message, seconds
    message_overhead_s: float = 0.0

    def __post_init__(self) -> None:
        if self.wire_s <= 0:
            raise MachineModelError(
                f"expected a latency of more than two message overheads ({2 * self.message_overhead_s:g} s), "
                f"found {self.latency_s:g} s",
                hint="the latency is that of a whole message, half of a ping-pong",
            )

    @property
    def wire_s(self) -> float:
        """Part of the latency that is spent in the network, seconds."""
        return self.latency_s - 2 * self.message_overhead_s


@dataclass(frozen=True, slots=True)
class Platform:
    """A network to simulate on."""

    name: str  # topology, or file
    xml: str  # SimGrid's description
    hosts: tuple[str, ...]  # names of the nodes, in their order in the network
    # Numbers that make up a generated topology: leaves and nodes per leaf; sides of the torus or hypercube;
    # groups, routers per group and nodes per router
    sides: tuple[int, ...] = ()


def link_parameters(machine: MachineParameters) -> LinkParameters:
    """A machine's links; ``MachineModelError`` if bandwidth (a link's), latency or throughput is unknown."""
    known = {name: parameter.value for name, parameter in machine.parameters.items()}
    missing = [name for name in ("bandwidth", "latency", "throughput") if name not in known]
    if missing:
        raise MachineModelError(
            f"expected bandwidth, latency and throughput of the machine, found no {' and no '.join(missing)}",
            hint="give them in a machine file, or with --bandwidth, --latency and --throughput",
        )
    overhead_s = known.get("message_overhead", 0.0)
    return LinkParameters(known["bandwidth"], known["latency"], known["throughput"], overhead_s)


def check_topology(topology: str) -> None:
    """Raise ConfigError unless ``topology`` is one of ``TOPOLOGIES``."""
    if topology not in TOPOLOGIES:
        raise ConfigError(f"expected a platform file or one of {', '.join(TOPOLOGIES)}, found {topology!r}")


def topology_sides(topology: str, num_hosts: int) -> tuple[int, ...]:
    """Numbers that make up the smallest network with at least ``num_hosts`` nodes, see :class:`Platform`.

    Raises ``ConfigError`` if the topology is unknown or the number of nodes is out of range.
    """
    check_topology(topology)
    if not 1 <= num_hosts <= MAX_HOSTS:
        raise ConfigError(f"expected 1 to {MAX_HOSTS} nodes, found {num_hosts}")
    return _shape(topology, num_hosts)[1]


def make_platform(topology: str, num_hosts: int, link: LinkParameters) -> Platform:
    """Smallest platform with at least ``num_hosts`` >= 1 nodes; ``ConfigError`` as :func:`topology_sides`."""
    topology_sides(topology, num_hosts)  # checks both
    count, sides, attributes = _shape(topology, num_hosts)
    hosts = tuple(f"{_HOST}{number}" for number in range(count))
    if topology in ("torus", "hypercube"):
        zone = torus_elements(_HOST, sides, link.throughput, link.bandwidth, link.wire_s)
        return Platform(topology, _document(zone, link), hosts, sides)
    cluster = {
        "id": "machine",
        "prefix": _HOST,
        "suffix": "",
        "radical": f"0-{count - 1}",
        "speed": f"{link.throughput!r}f",
        "bw": f"{link.bandwidth!r}Bps",
        "lat": f"{link.wire_s / 2!r}s",
        "sharing_policy": "SPLITDUPLEX",
        "loopback_bw": f"{MEMORY_BANDWIDTH!r}Bps",
        "loopback_lat": f"{MEMORY_LATENCY_S!r}s",
        **attributes,
    }
    words = " ".join(f"{name}={quoteattr(value)}" for name, value in cluster.items())
    return Platform(topology, _document([f"<cluster {words}/>"], link), hosts, sides)


def _shape(topology: str, num_hosts: int) -> tuple[int, tuple[int, ...], Mapping[str, str]]:
    """Number of nodes, sides, and the topology's attributes in SimGrid's own notation."""
    if topology == "star":
        return num_hosts, (num_hosts,), {}
    if topology == "fat-tree":
        leaves, per_leaf = _near_cube(max(num_hosts, 2), 2)
        words = f"2;{per_leaf},{leaves};1,{per_leaf};1,1"
        return leaves * per_leaf, (leaves, per_leaf), {"topology": "FAT_TREE", "topo_parameters": words}
    if topology == "torus":
        sides = tuple(side for side in _near_cube(max(num_hosts, 2), 3) if side > 1)
        return math.prod(sides), sides, {}
    if topology == "hypercube":
        dimensions = max(num_hosts - 1, 1).bit_length()
        return 1 << dimensions, (2,) * dimensions, {}
    groups, routers, per_router = _near_cube(max(num_hosts, 2), 3)
    # A group needs a router for each other group (one global link per router), hence the order of the sides.
    # Parallel links: as many as random traffic needs, global ones between groups, local ones within a group.
    between_groups = -(-routers * per_router // groups)
    between_routers = -(-per_router // 2)
    words = f"{groups},{between_groups};1,1;{routers},{between_routers};{per_router}"
    sides = (groups, routers, per_router)
    return math.prod(sides), sides, {"topology": "DRAGONFLY", "topo_parameters": words}


def _near_cube(least: int, dimensions: int) -> tuple[int, ...]:
    """Sides, ascending, of a box with ``least`` cells or little more: the least cells times sum of sides."""
    longest = max(2, math.ceil(least ** (1 / dimensions)) * 2)
    smaller = itertools.combinations_with_replacement(range(1, longest + 1), dimensions - 1)
    boxes = (tuple(sorted((*sides, -(-least // math.prod(sides))))) for sides in smaller)
    return min(boxes, key=lambda sides: (math.prod(sides) * sum(sides), sum(sides)))


def _document(elements: Iterable[str], link: LinkParameters) -> str:
    busy = f"0:{link.message_overhead_s!r}:0"
    overheads = {name: busy for name in _OVERHEADS if link.message_overhead_s}
    settings = {**_PLAIN_NETWORK, **overheads}
    options = "".join(
        f"    <prop id={quoteattr(name)} value={quoteattr(value)}/>\n" for name, value in settings.items()
    )
    lines = "".join(f"  {line}\n" for line in elements)
    return (
        "<?xml version='1.0'?>\n"
        '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n'
        f'<platform version="4.1">\n  <config>\n{options}  </config>\n{lines}</platform>\n'
    )


_RANGE = re.compile(r"(\d+)(?:-(\d+))?")


def read_platform(path: Path, host_file: Path | None = None) -> Platform:
    """Platform described by a file of SimGrid.

    ``host_file`` has the names of the hosts to use, one per line; without, all hosts of the file are used.
    Raises ``ConfigError`` if a file cannot be read or is no platform, or has no hosts.
    """
    text = _text(path)
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise ConfigError(f"expected an XML file, found: {error}", where=str(path)) from error
    if root.tag != "platform":
        raise ConfigError(f"expected the element platform, found {root.tag}", where=str(path))
    listed = None if host_file is None else filter(None, map(str.strip, _text(host_file).splitlines()))
    hosts = _hosts(root, path) if listed is None else tuple(listed)
    if not hosts:
        raise ConfigError(
            "expected hosts, found none that are listed in the file",
            where=str(host_file or path),
            hint="name them in a file for --hosts",
        )
    return Platform(str(path), text, hosts)


def _text(path: Path) -> str:
    with reading(path, "a readable file of text in UTF-8", error=ConfigError):
        return path.read_text(encoding="utf-8")


def _hosts(root: ElementTree.Element, path: Path) -> tuple[str, ...]:
    names: list[str] = []
    for element in root.iter():
        if element.tag == "host":
            names.append(element.get("id", ""))
        elif element.tag == "cluster":
            names += _cluster_hosts(element, path)
        if len(names) > MAX_HOSTS:
            raise ConfigError(f"expected at most {MAX_HOSTS} hosts, found more", where=str(path))
    return tuple(names)


def _cluster_hosts(element: ElementTree.Element, path: Path) -> list[str]:
    names = []
    for part in element.get("radical", "").split(","):
        match = _RANGE.fullmatch(part.strip())
        if match is None:
            raise ConfigError(f"expected a radical such as 0-15, found {part!r}", where=str(path))
        first, last = int(match.group(1)), int(match.group(2) or match.group(1))
        if last - first > MAX_HOSTS:
            raise ConfigError(f"expected at most {MAX_HOSTS} hosts, found {part!r}", where=str(path))
        names += [
            f"{element.get('prefix', '')}{number}{element.get('suffix', '')}"
            for number in range(first, last + 1)
        ]
    return names
