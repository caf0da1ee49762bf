import pytest

from commanalyzer.machine.parameters import Curve, Parameter, Reading

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
