"""A measured campaign -> data for models, and the machine that they make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from commanalyzer.machine.measuring.phase_campaign import MeasuredPoint
from commanalyzer.machine.parameters import MachineParameters, Parameter
from commanalyzer.machine.phase_times import Condition, Unit
from commanalyzer.machine.placement import on_nodes
from commanalyzer.machine.simulation.allocations import pattern_messages
from commanalyzer.machine.simulation.routes import Network
from commanalyzer.scaling.allocations.fit import CampaignData, fit_areas
from commanalyzer.scaling.allocations.injection import InjectionModel, fit_injection
from commanalyzer.scaling.allocations.metrics import in_columns, phase_metrics


def campaign_data(
    points: Sequence[MeasuredPoint], units: Sequence[Unit] = (), network: Network | None = None
) -> CampaignData:
    """Metrics and times of measured points.

    Args:
        points: Of a campaign.
        units: Neighbourhoods of the network.
        network: Its routes, where they are known.
    """
    rows = []
    for found in points:
        place = np.array(found.positions, dtype=np.int64)
        placement = on_nodes(found.point.num_nodes, found.point.ranks_per_node, position=place)
        rows.append(phase_metrics(pattern_messages(found.point), placement, units, network))
    return CampaignData(in_columns(rows), np.array([found.time_s for found in points]))


def machine_of_campaign(
    points: Sequence[MeasuredPoint],
    base: MachineParameters,
    *,
    bounds: Sequence[Condition] | None = None,
    date: str = "",
) -> tuple[MachineParameters, InjectionModel]:
    """The machine with an area model and the parameters of the max-rate model.

    Args:
        points: Of a campaign.
        base: Machine whose other parameters are kept, with its units.
        bounds: Bounds of the areas; found if left out.
        date: Of the campaign.

    Raises:
        FitError: If the points are too few.
    """
    data = campaign_data(points, base.units)
    most = max((found.point.num_nodes for found in points), default=0)
    note = f"campaign of {len(points)} phases on up to {most} nodes"
    shape = [unit.name for unit in base.units]
    areas = fit_areas(data, shape, bounds=bounds, date=date, note=note)
    physics = fit_injection(data.metrics, data.time_s)

    def fitted(value: float, unit: str) -> Parameter:
        return Parameter(value, unit, "measured", date, f"max-rate model of a {note}")

    machine = base.updated(
        bandwidth=fitted(physics.node_bandwidth, "B/s"),
        process_bandwidth=fitted(physics.process_bandwidth, "B/s"),
        latency=fitted(physics.latency_s + 2 * physics.overhead_s, "s"),
        message_overhead=fitted(max(physics.overhead_s, 1e-9), "s"),
        gap=fitted(max(physics.gap_s, 1e-10), "s"),
    )
    return replace(machine, phase_times=areas.times), physics
