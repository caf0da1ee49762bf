import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commanalyzer.foundation.errors import MachineModelError
from commanalyzer.foundation.quantities import (
    Bytes,
    BytesPerSecond,
    Dimensionless,
    Flop,
    FlopPerSecond,
    Seconds,
)
from commanalyzer.machine.parameters import Curve, MachineParameters, Parameter
from commanalyzer.machine.roofline import equations


def test_equations_1_3_and_5() -> None:
    assert equations.efficiency(Seconds(1.0), Seconds(3.0)) == 0.75
    assert equations.efficiency(Seconds(0.0), Seconds(3.0)) == 1.0
    assert equations.serial_time(Flop(6e9), FlopPerSecond(2e9)) == 3.0
    assert equations.parallel_time_lower_bound(Seconds(8.0), 4, Dimensionless(0.5)) == 4.0


positive = st.floats(min_value=1e-3, max_value=1e15)


@given(comm=positive, work=positive, rate=positive, band=positive, overlap=st.floats(0.0, 0.999))
def test_equation_4_is_1_of_2_and_3(
    comm: float, work: float, rate: float, band: float, overlap: float
) -> None:
    serial_s = equations.serial_time(Flop(work), FlopPerSecond(rate))
    overhead_s = Seconds(comm * (1.0 - overlap) / band)  # Eq. 2
    intensity = equations.communication_intensity(Bytes(comm), Flop(work))
    bound = equations.efficiency_upper_bound(
        intensity, FlopPerSecond(rate), BytesPerSecond(band), Dimensionless(overlap)
    )
    # Rounding of a handful of operations in another order.
    assert bound == pytest.approx(equations.efficiency(overhead_s, serial_s), rel=1e-12)


def test_intensity_without_work() -> None:
    assert equations.communication_intensity(Bytes(0), Flop(0)) == 0.0
    assert math.isinf(equations.communication_intensity(Bytes(8), Flop(0)))


def test_machine_bound_needs_bandwidth_and_throughput() -> None:
    bandwidth, throughput = Parameter(2e9, "B/s"), Parameter(4e9, "Flop/s")
    assert equations.machine_bound(0.5, MachineParameters(bandwidth=bandwidth)) is None
    complete = MachineParameters(bandwidth=bandwidth, throughput=throughput)
    assert equations.machine_bound(0.5, complete) == 0.5
    assert equations.machine_bound(math.inf, complete) is None


def test_ranges() -> None:
    for overlap in (-0.1, 1.0, math.nan):
        with pytest.raises(MachineModelError):
            equations.efficiency_upper_bound(1, FlopPerSecond(1), BytesPerSecond(1), Dimensionless(overlap))
    with pytest.raises(MachineModelError):
        equations.efficiency(Seconds(-1.0), Seconds(1.0))
    with pytest.raises(MachineModelError):
        equations.serial_time(Flop(1.0), FlopPerSecond(0.0))
    with pytest.raises(MachineModelError):
        equations.parallel_time_lower_bound(Seconds(1.0), 0, Dimensionless(1.0))
    with pytest.raises(MachineModelError):
        equations.parallel_time_lower_bound(Seconds(1.0), 2, Dimensionless(0.0))


def test_machine_bound_reads_curves() -> None:
    machine = MachineParameters(
        bandwidth=Parameter(9e9, "B/s", curve=Curve((2.0, 8.0), (), (3e9, 1e9))),
        overlap=Parameter(0.9, "1", curve=Curve((), (8.0, 800.0), (0.0, 0.5))),
        throughput=Parameter(4e9, "Flop/s"),
    )
    # B = 3 GB/s, O_c(80 B) = 0.25: R I_c (1 - O_c) / B = 4 * 0.5 * 0.75 / 3
    bound = equations.machine_bound(0.5, machine, nodes=4, message_bytes=80.0)
    assert bound == pytest.approx(1 / 1.5)
    # without a message size: 4 * 0.5 * 0.1 / 3
    assert equations.machine_bound(0.5, machine) == pytest.approx(1 / (1 + 0.2 / 3))
    # B_c(4) = 2 GB/s, half way between, is what random partners get
    reading = equations.bandwidth_at(machine, 4)
    assert reading is not None and reading.value == pytest.approx(2e9)
