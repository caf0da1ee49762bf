"""The machine at one node count and message size: plain numbers, read off its parameters."""

from __future__ import annotations

from dataclasses import dataclass

from commanalyzer.foundation.errors import MachineModelError
from commanalyzer.machine.curves import Reading
from commanalyzer.machine.parameters import MachineParameters, Parameter
from commanalyzer.machine.roofline.equations import bandwidth_at, link_bandwidth, overlap_at
from commanalyzer.machine.roofline.traffic import NodeTraffic


@dataclass(frozen=True, slots=True)
class Network:
    """Numbers of the bounds for one node count.

    Attributes:
        throughput: R of one node, Flop/s.
        bandwidth: B_c(p), effective bisection bandwidth per node, B/s: what random partners get.
        link_bandwidth: B, what one node's link carries when nothing else is in its way, B/s: the largest
            measured B_c (that of the fewest nodes).
        overlap: O_c, in [0, 1).
        latency_s: L, 0 when unknown.
        overhead_s: o, 0 when unknown.
        gap_s: g, 0 when unknown.
        allreduce_s: Measured time of one round of collectives; ``None`` when unknown: it is then
            ceil(log2(f + 1)) latencies.
        extrapolated: Names of the parameters that were not measured at this node count or message size.
    """

    throughput: float
    bandwidth: float
    link_bandwidth: float
    overlap: float
    latency_s: float = 0.0
    overhead_s: float = 0.0
    gap_s: float = 0.0
    allreduce_s: float | None = None
    extrapolated: tuple[str, ...] = ()


def network_at(machine: MachineParameters, traffic: NodeTraffic) -> Network:
    """Numbers of ``machine`` for the node count, message size and collectives of ``traffic``.

    Raises:
        MachineModelError: If bandwidth or throughput is not known.
    """
    p, size = traffic.num_nodes, traffic.mean_message_bytes
    bandwidth, link = bandwidth_at(machine, p), link_bandwidth(machine)
    if bandwidth is None or link is None or machine.throughput is None:
        missing = [name for name in ("bandwidth", "throughput") if getattr(machine, name) is None]
        raise MachineModelError(
            f"expected a machine with bandwidth and throughput, found no {' and no '.join(missing)}",
            hint=f"give {' and '.join(f'--{name}' for name in missing)}, or --machine NAME|FILE",
        )
    small = {name: _read(getattr(machine, name), p, None) for name in ("latency", "message_overhead", "gap")}
    overlap = overlap_at(machine, p, size)
    readings: dict[str, Reading | None] = {"bandwidth": bandwidth, "overlap": overlap, **small}
    if traffic.collective_rounds:
        partners = traffic.collective_partners + 1
        readings["allreduce"] = _read(machine.allreduce, partners, traffic.collective_bytes)
    allreduce = readings.get("allreduce")
    return Network(
        throughput=machine.throughput.value,
        bandwidth=bandwidth.value,
        link_bandwidth=link,
        overlap=overlap.value,
        latency_s=_value(small["latency"]),
        overhead_s=_value(small["message_overhead"]),
        gap_s=_value(small["gap"]),
        allreduce_s=None if allreduce is None else allreduce.value,
        extrapolated=tuple(name for name, r in readings.items() if r is not None and r.is_extrapolated),
    )


def _read(parameter: Parameter | None, nodes: int, message_bytes: float | None) -> Reading | None:
    """Reading there; a time that was measured over message sizes is that of the smallest unless one is given.

    What longer messages take more belongs to the bandwidth.
    """
    if parameter is None:
        return None
    curve = parameter.curve
    if message_bytes is None and curve is not None and curve.message_bytes:
        message_bytes = curve.message_bytes[0]
    return parameter.at(nodes=nodes, message_bytes=message_bytes)


def _value(reading: Reading | None) -> float:
    return 0.0 if reading is None else reading.value
