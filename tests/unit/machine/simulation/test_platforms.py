import math
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from commanalyzer.foundation.errors import ConfigError, MachineModelError
from commanalyzer.machine.parameters import MachineParameters, Parameter
from commanalyzer.machine.simulation import platforms
from commanalyzer.machine.simulation.platforms import read_platform

LINK = platforms.LinkParameters(bandwidth=1e9, latency_s=2e-6, throughput=4e9)


def _cluster(topology: str, hosts: int, link: platforms.LinkParameters = LINK) -> dict[str, str]:
    element = ElementTree.fromstring(platforms.make_platform(topology, hosts, link).xml).find("cluster")
    assert element is not None
    return dict(element.attrib)


@pytest.mark.parametrize(
    ("topology", "hosts", "words"),
    [
        ("fat-tree", 16, "2;4,4;1,4;1,1"),
        ("fat-tree", 64, "2;8,8;1,8;1,1"),
        ("dragonfly", 64, "4,4;1,1;4,2;4"),
    ],
)
def test_topology_parameters(topology: str, hosts: int, words: str) -> None:
    found = _cluster(topology, hosts)
    assert found["topo_parameters"] == words
    assert found["radical"] == f"0-{hosts - 1}"


@pytest.mark.parametrize(("hosts", "sides"), [(4, (2, 2)), (27, (3, 3, 3)), (64, (4, 4, 4)), (16, (2, 2, 4))])
def test_sides_of_a_torus(hosts: int, sides: tuple[int, ...]) -> None:
    assert platforms.make_platform("torus", hosts, LINK).sides == sides


@pytest.mark.parametrize("topology", platforms.TOPOLOGIES)
@pytest.mark.parametrize("hosts", [1, 2, 3, 5, 7, 13, 100, 1000])
def test_a_platform_has_enough_hosts_and_not_many_more(topology: str, hosts: int) -> None:
    platform = platforms.make_platform(topology, hosts, LINK)
    # A hypercube has a power of two.
    most = 2 * hosts - 1 if topology == "hypercube" else math.ceil(1.25 * hosts)
    assert hosts <= len(platform.hosts) <= max(2, most)
    assert platform.hosts[:2] == ("node-0", "node-1")[: len(platform.hosts)]
    if topology not in ("torus", "hypercube"):
        assert _cluster(topology, hosts)["radical"] == f"0-{len(platform.hosts) - 1}"


def test_links_and_nodes_are_those_of_the_machine() -> None:
    star = _cluster("star", 4)
    assert (star["bw"], star["lat"], star["speed"]) == ("1000000000.0Bps", "1e-06s", "4000000000.0f")
    assert star["sharing_policy"] == "SPLITDUPLEX"


def test_a_torus_has_one_link_to_each_neighbour_and_an_interface_per_direction() -> None:
    zone = ElementTree.fromstring(platforms.make_platform("torus", 16, LINK).xml).find("zone")
    assert zone is not None
    links = {str(item.get("id")): item for item in zone.iter("link")}
    # 2 x 2 x 4: one neighbour along the sides of 2, two along the side of 4.
    assert sum(name.startswith("step-") for name in links) == 16 * (1 + 1 + 2)
    assert sum(name.startswith(("up-", "down-")) for name in links) == 2 * 16
    step, up = links["step-0-0-1"], links["up-0"]
    assert (step.get("bandwidth"), step.get("latency")) == ("1000000000.0Bps", "2e-06s")
    assert (up.get("bandwidth"), up.get("latency")) == ("1000000000.0Bps", "0.0s")
    assert {"step-2-0-4", "step-2-0-12", "step-1-2-0"} <= set(links)


def test_message_overhead_is_part_of_the_latency() -> None:
    link = platforms.LinkParameters(1e9, 2e-6, 1e9, message_overhead_s=5e-7)
    platform = platforms.make_platform("star", 2, link)
    props = {item.get("id"): item.get("value") for item in ElementTree.fromstring(platform.xml).iter("prop")}
    assert props["smpi/os"] == props["smpi/ois"] == props["smpi/or"] == "0:5e-07:0"
    assert props["smpi/bw-factor"] == props["smpi/lat-factor"] == "0:1"
    assert _cluster("star", 2, link)["lat"] == "5e-07s"
    with pytest.raises(MachineModelError, match="more than two message overheads"):
        platforms.LinkParameters(1e9, 1e-6, 1e9, message_overhead_s=5e-7)


def test_unknown_topologies_and_sizes_are_refused() -> None:
    with pytest.raises(ConfigError, match="star, fat-tree, torus, dragonfly"):
        platforms.make_platform("ring", 4, LINK)
    with pytest.raises(ConfigError, match="1 to 65536"):
        platforms.make_platform("star", 0, LINK)


def test_a_machine_needs_bandwidth_latency_and_throughput() -> None:
    machine = MachineParameters(bandwidth=Parameter(1e9, "B/s"))
    with pytest.raises(MachineModelError, match="no latency and no throughput"):
        platforms.link_parameters(machine)
    whole = machine.updated(latency=Parameter(1e-6, "s"), throughput=Parameter(2e9, "Flop/s"))
    assert platforms.link_parameters(whole) == platforms.LinkParameters(1e9, 1e-6, 2e9, 0.0)


_MIXED = """<?xml version='1.0'?>
<platform version="4.1"><zone id="all" routing="Full">
<host id="front" speed="1Gf"/>
<cluster id="c" prefix="n" suffix=".x" radical="1-3,7" speed="1Gf" bw="1GBps" lat="1us"/>
</zone></platform>
"""


def test_hosts_come_in_the_order_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "p.xml"
    path.write_text(_MIXED)
    assert read_platform(path).hosts == ("front", "n1.x", "n2.x", "n3.x", "n7.x")
    names = tmp_path / "hosts"
    names.write_text("n7.x\n\nn1.x\n")
    assert read_platform(path, names).hosts == ("n7.x", "n1.x")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<platform>", "expected an XML file"),
        ("<cluster/>", "expected the element platform, found cluster"),
        ("<platform/>", "expected hosts, found none"),
        ("<platform><cluster radical='a-b'/></platform>", "expected a radical such as 0-15"),
        ("<platform><cluster radical='0-999999999'/></platform>", "at most 65536 hosts"),
    ],
)
def test_unusable_files_are_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "p.xml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=message):
        read_platform(path)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="readable file"):
        read_platform(tmp_path / "none.xml")
