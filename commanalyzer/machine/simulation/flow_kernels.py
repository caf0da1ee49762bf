"""Compiled loops of :mod:`commanalyzer.machine.simulation.flows`: shares of links, progress of messages."""

from __future__ import annotations

import numpy as np

from commanalyzer.foundation.compiled import compiled
from commanalyzer.machine.simulation.routes import Floats, Int64

# Links that are full at nearly the same share are full together: rates are 1 % off at most. Halved, twice
# the work; without it, a network in which every link has another load takes a round per link.
_TOGETHER = 0.01
_NEVER = np.inf


@compiled
def shared_rates(  # noqa: C901 loops over links and flows
    routes: Int64, active: Int64, count: Floats, penalty: Floats, capacity: Floats, rate: Floats
) -> None:
    """Weighted max-min fair rates of the active flows, by progressive filling, into ``rate``.

    Args:
        routes: int64[F, K], links of each flow, -1 behind the last one.
        active: int64[A], flows that share now.
        count: float64[F], equal messages in each flow.
        penalty: float64[F]; a message gets a rate proportional to 1 / penalty.
        capacity: float64[L], bandwidth of links, B/s.
        rate: float64[F], of one message, B/s.
    """
    left = capacity.copy()
    demand = np.zeros(len(capacity))
    waiting = active.copy()
    number = len(waiting)
    for k in range(number):
        flow = waiting[k]
        rate[flow] = 0.0
        for link in routes[flow]:
            if link < 0:
                break
            demand[link] += count[flow] / penalty[flow]
    while number > 0:
        level = _NEVER
        for link in range(len(left)):
            if demand[link] > 1e-30:
                level = min(level, left[link] / demand[link])
        if level == _NEVER:
            return
        limit = level * (1.0 + _TOGETHER)
        kept = 0
        full = np.zeros(len(left), dtype=np.bool_)
        for link in range(len(left)):
            full[link] = demand[link] > 1e-30 and left[link] <= limit * demand[link]
        for k in range(number):
            flow = waiting[k]
            stops = False
            for link in routes[flow]:
                if link < 0 or stops:
                    break
                stops = full[link]
            if not stops:
                waiting[kept] = flow
                kept += 1
                continue
            rate[flow] = level / penalty[flow]
            for link in routes[flow]:
                if link < 0:
                    break
                demand[link] -= count[flow] / penalty[flow]
                left[link] = max(left[link] - count[flow] * rate[flow], 0.0)
        for link in range(len(left)):
            if full[link]:
                demand[link] = 0.0
        if kept == number:
            return
        number = kept


@compiled
def finish_times(
    routes: Int64,
    begin_s: Floats,
    size_bytes: Floats,
    count: Floats,
    penalty: Floats,
    capacity: Floats,
    precision: float,
) -> Floats:
    """float64[F], when the last byte of each flow is there, seconds.

    Args:
        routes: int64[F, K].
        begin_s: float64[F], when the first byte arrives: flows take no bandwidth before.
        size_bytes: float64[F], of one message.
        count: float64[F], equal messages in each flow.
        penalty: float64[F].
        capacity: float64[L], B/s.
        precision: Flows that end within this share of the time since the last change end together.
    """
    flows = len(size_bytes)
    order = np.argsort(begin_s)
    left = size_bytes.copy()
    end_s = begin_s.copy()
    rate = np.zeros(flows)
    active = np.empty(flows, dtype=np.int64)
    number, following = 0, 0
    now = 0.0
    while number > 0 or following < flows:
        if number == 0:
            now = begin_s[order[following]]
        while following < flows and begin_s[order[following]] <= now * (1.0 + 1e-12):
            flow = order[following]
            following += 1
            if left[flow] > 0.0:
                active[number] = flow
                number += 1
        if number == 0:
            continue
        shared_rates(routes, active[:number], count, penalty, capacity, rate)
        step = _NEVER
        for k in range(number):
            step = min(step, left[active[k]] / rate[active[k]])
        reach = max(step * (1.0 + precision), step + precision * now)
        if following < flows:
            reach = min(reach, begin_s[order[following]] - now)
        kept = 0
        for k in range(number):
            flow = active[k]
            needs = left[flow] / rate[flow]
            if needs <= reach * (1.0 + 1e-12):
                end_s[flow] = now + needs
            else:
                left[flow] -= reach * rate[flow]
                active[kept] = flow
                kept += 1
        number = kept
        now += reach
    return end_s
