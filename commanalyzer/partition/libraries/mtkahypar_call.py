"""Mt-KaHyPar itself: arrays -> parts. The only importer of mtkahypar; light, for it also runs in helpers."""

from __future__ import annotations

from functools import cache
from typing import Any

import mtkahypar
import numpy as np
from numpy.typing import NDArray

_MOST_FLOW_PINS = 60_000


@cache
def _library() -> Any:
    return mtkahypar.initialize(1)


def _preset(num_pins: int) -> Any:
    """The better deterministic preset where it takes seconds; others differ from call to call."""
    presets = mtkahypar.PresetType
    return presets.DETERMINISTIC_QUALITY if num_pins <= _MOST_FLOW_PINS else presets.DETERMINISTIC


def divide(
    num_parts: int,
    net_pointer: NDArray[np.int64],
    pin: NDArray[np.int64],
    vertex_weight: NDArray[np.int64],
    net_weight: NDArray[np.int64],
    seed: int,
    imbalance: float,
) -> NDArray[np.int32]:
    """Return int32[N], parts with a small connectivity metric.

    Args:
        num_parts: Number of parts p.
        net_pointer: [M + 1].
        pin: [P], vertices of all nets.
        vertex_weight: [N].
        net_weight: [M].
        seed: Seed, not negative.
        imbalance: Allowed excess of the largest part's weight over the mean.

    Raises:
        Exception: Any, if Mt-KaHyPar fails.
    """
    mtkahypar.set_seed(seed)
    library = _library()
    context = library.context_from_preset(_preset(len(pin)))
    context.set_partitioning_parameters(num_parts, imbalance, mtkahypar.Objective.KM1)
    context.logging = False
    nets = np.split(pin, net_pointer[1:-1])
    divided = library.create_hypergraph(
        context,
        len(vertex_weight),
        len(net_weight),
        [net.tolist() for net in nets],
        vertex_weight.tolist(),
        net_weight.tolist(),
    ).partition(context)
    return np.array(divided.get_partition(), dtype=np.int32)
