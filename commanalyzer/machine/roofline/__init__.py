"""Bounds of parallel efficiency: the paper's equations, and a tighter one that knows messages and latency."""

from commanalyzer.machine.roofline.equations import (
    communication_intensity,
    efficiency,
    efficiency_upper_bound,
    machine_bound,
    overhead_lower_bound,
    parallel_time_lower_bound,
    serial_time,
)

__all__ = [
    "communication_intensity",
    "efficiency",
    "efficiency_upper_bound",
    "machine_bound",
    "overhead_lower_bound",
    "parallel_time_lower_bound",
    "serial_time",
]
