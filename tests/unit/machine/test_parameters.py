from pathlib import Path

import pytest

from commanalyzer.foundation.errors import MachineModelError
from commanalyzer.machine.parameters import Curve, MachineParameters, Parameter, Reading, read_machine


def _file(folder: Path, text: str) -> Path:
    path = folder / "machine.toml"
    path.write_text(text)
    return path


def test_plain_values(tmp_path: Path) -> None:
    machine = read_machine(_file(tmp_path, 'bandwidth = "1GB/s"\noverlap = "50%"'))
    assert machine.bandwidth == Parameter(1e9, "B/s")
    assert machine.overlap is not None and machine.overlap.value == 0.5
    assert not machine.is_complete


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("bandwidth = '100Gb/s'", "Gb"),
        ("bandwidth = '0B/s'", "found 0.0"),
        ("bandwidth = true", "True"),
        ("bandwidth = inf", "inf"),
        # A number alone: bytes or bits, seconds or microseconds?
        ("bandwidth = 12.5e9", "12500000000.0"),
        ("latency = 1.5", "a unit"),
        ("latency = '50 GB/s'", "GB/s"),
        # Units and prefixes that no machine has.
        ("bandwidth = '12.5B/s'", "12.5 B/s"),
        ("bandwidth = '12500TB/s'", "PB/s"),
        ("throughput = 3.2", "3.2 Flop/s"),
        ("throughput = '3200 kFlop/s'\nlatency = '1.5s'", "1.5 s"),
        ("throughput = '3.2e21'", "EFlop/s"),
        ("gap = '0.01ns'", "0.01 ns"),
        ("allreduce = '1h'", "60 min"),
        ("[latency]\nvalue = 1.5\nunit = 'GB/s'", "GB/s"),
        ("[bandwidth]\nvalue = '1GB/s'\nnodes = [2, 4]\nvalues = ['1GB/s', '1kB/h']", "kB/h"),
        ("[bandwidth]\nvalue = '1GB/s'\nnodes = [2, 4]\nvalues = ['1GB/s', '1B/s']", "1 B/s"),
        ("[bandwidth]\nvalue = '1GB/s'\nnodes = [2, 4]\nvalues = ['1GB/s']", "found 1"),
        ("[bandwidth]\nvalue = '1GB/s'\nnodes = [4, 2]\nvalues = ['1GB/s', '1GB/s']", "[4.0, 2.0]"),
        ("[bandwidth]\nvalue = '1GB/s'\nnodes = [0, 2]\nvalues = ['1GB/s', '1GB/s']", "[0.0, 2.0]"),
        ("[bandwidth]\nvalue = '1GB/s'\nnodes = ['2']\nvalues = ['1GB/s']", "found '2'"),
        ("[bandwidth]\nvalue = '1GB/s'\nvalues = ['1GB/s']", "neither"),
        ("[bandwidth]\nvalue = '1GB/s'\nnodes = 2\nvalues = ['1GB/s']", "2"),
        ("kind = 'commanalyzer.analysis'", "commanalyzer.analysis"),
        ("schema = 2", "found 2"),
        ("schema = true", "True"),
        ("overlap = 1.0", "found 1.0"),
        ("speed = 3", "speed"),
        ("[overlap]\nvalue = 0.1\ncolour = 3", "colour"),
        ("[overlap]\nsource = 'given'", "field value"),
        ("[overlap]\nvalue = 0.1\nsource = 'guessed'", "guessed"),
        ("bandwidth = [1]", "[1]"),
        ("bandwidth", "TOML"),
    ],
)
def test_refused(tmp_path: Path, text: str, found: str) -> None:
    path = _file(tmp_path, text)
    with pytest.raises(MachineModelError) as caught:
        read_machine(path)
    assert found in caught.value.message
    assert str(path) in caught.value.where


def test_missing_file_and_wrong_unit(tmp_path: Path) -> None:
    with pytest.raises(MachineModelError, match="No such file"):
        read_machine(tmp_path / "none.toml")
    with pytest.raises(MachineModelError, match="bandwidth in B/s"):
        MachineParameters(bandwidth=Parameter(1.0, "bit/s"))


def test_updated_keeps_the_rest_and_takes_what_the_other_knows() -> None:
    old = MachineParameters("m", Parameter(1e9, "B/s"), Parameter(0.5, "1"))
    new = old.updated(bandwidth=Parameter(2e9, "B/s"), overlap=None)
    assert (new.name, new.bandwidth, new.overlap) == ("m", Parameter(2e9, "B/s"), Parameter(0.5, "1"))
    other = MachineParameters("", Parameter(2e9, "B/s"), latency=Parameter(1e-6, "s"))
    assert old.updated_from(other) == MachineParameters(
        "m", Parameter(2e9, "B/s"), Parameter(0.5, "1"), latency=Parameter(1e-6, "s")
    )
    assert old.updated_from(MachineParameters("n")).name == "n"


NETWORK = """
kind = "commanalyzer.machine"
schema = 1
[latency]
value = 1.5
unit = "us"
message_bytes = [8, 1024]
values = [1.5, 2.5]
[message_overhead]
value = "300ns"
[gap]
value = "100ns"
[bandwidth]
value = "12GB/s"
nodes = [2, 8, 32]
values = ["13GB/s", "104Gbit/s", "12GB/s"]
[allreduce]
value = "10us"
nodes = [2, 4]
message_bytes = [8, 800]
values = ["1us", "3us", "2us", "8us"]
[bcast]
value = "5us"
"""


def test_times_and_curves(tmp_path: Path) -> None:
    machine = read_machine(_file(tmp_path, NETWORK))
    assert machine.latency is not None
    assert machine.latency.value == pytest.approx(1.5e-6)
    assert machine.latency.curve is not None
    assert machine.latency.curve.values == pytest.approx((1.5e-6, 2.5e-6))
    assert machine.bandwidth == Parameter(12e9, "B/s", curve=Curve((2.0, 8.0, 32.0), (), (13e9, 13e9, 12e9)))
    assert machine.bcast is not None
    assert machine.bcast.value == pytest.approx(5e-6)
    assert [*machine.parameters] == ["bandwidth", "latency", "message_overhead", "gap", "allreduce", "bcast"]


def test_measured_throughput_may_be_low() -> None:
    slow = Parameter(7.0, "Flop/s", "measured")
    assert MachineParameters(throughput=slow).throughput == slow
    with pytest.raises(MachineModelError, match="7 Flop/s"):
        MachineParameters(throughput=Parameter(7.0, "Flop/s"))


NODES = Curve((2.0, 8.0, 32.0), (), (10.0, 20.0, 40.0))


@pytest.mark.parametrize(
    ("nodes", "value", "is_extrapolated"),
    [
        *((2, 10.0, False), (4, 15.0, False), (8, 20.0, False), (16, 30.0, False), (32, 40.0, False)),
        *((1, 10.0, True), (64, 40.0, True)),
    ],
)
def test_linear_in_the_logarithm(nodes: int, value: float, is_extrapolated: bool) -> None:
    found = NODES.at(nodes, None)
    assert found is not None
    assert found.value == pytest.approx(value, rel=1e-14)
    assert found.is_extrapolated is is_extrapolated
    # A coordinate that the curve does not depend on changes nothing.
    assert NODES.at(nodes, 1e6) == found


def test_one_point_holds_everywhere_but_says_so() -> None:
    curve = Curve((), (1024.0,), (3.0,))
    assert curve.at(None, 1024) == Reading(3.0)
    assert curve.at(7, 0) == Reading(3.0, is_extrapolated=True)


def test_both_axes() -> None:
    # rows: 2 and 8 nodes; columns: 1, 10 and 100 bytes
    curve = Curve((2.0, 8.0), (1.0, 10.0, 100.0), (0.0, 10.0, 30.0, 4.0, 14.0, 34.0))
    assert curve.at(2, 10) == Reading(10.0)
    assert curve.at(8, 100) == Reading(34.0)
    # half way between the rows and half way between the last two columns: (20 + 24) / 2
    found = curve.at(4, 10**1.5)
    assert found is not None
    assert found.value == pytest.approx(22.0, rel=1e-14)
    assert not found.is_extrapolated
    assert curve.at(16, 1) == Reading(4.0, is_extrapolated=True)
    assert curve.at(2, 1000) == Reading(30.0, is_extrapolated=True)
    assert curve.at(2, None) is None


def test_parameter_without_coordinates_or_curve() -> None:
    assert Parameter(5.0, "s", curve=NODES).at() == Reading(5.0)
    assert Parameter(5.0, "s", curve=NODES).at(message_bytes=8) == Reading(5.0)
    assert Parameter(5.0, "s", curve=NODES).at(nodes=4).value == pytest.approx(15.0)
    assert Parameter(5.0, "s").at(nodes=4, message_bytes=8) == Reading(5.0)
