"""Mt-KaHyPar itself: arrays -> parts. The only importer of mtkahypar, when called: often helpers call it."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

_MOST_FLOW_PINS = 60_000  # where the better preset takes seconds


@cache
def _library(module: ModuleType) -> Any:
    return module.initialize(1)


def divide(
    num_parts: int,
    net_pointer: NDArray[np.int64],
    pin: NDArray[np.int64],
    vertex_weight: NDArray[np.int64],
    net_weight: NDArray[np.int64],
    seed: int,
    imbalance: float,
) -> NDArray[np.int32]:
    """Return int32[N], parts with a small connectivity metric; any exception if Mt-KaHyPar fails.

    ``net_pointer`` is [M + 1], ``pin`` [P] the vertices of all nets; the largest part's weight may exceed the
    mean by ``imbalance``.
    """
    import mtkahypar

    mtkahypar.set_seed(seed)
    library = _library(mtkahypar)
    is_small = len(pin) <= _MOST_FLOW_PINS
    preset = "DETERMINISTIC_QUALITY" if is_small else "DETERMINISTIC"  # others differ from call to call
    context = library.context_from_preset(getattr(mtkahypar.PresetType, preset))
    context.set_partitioning_parameters(num_parts, imbalance, mtkahypar.Objective.KM1)
    context.logging = False
    pins = pin.tolist()
    nets = [pins[begin:end] for begin, end in pairwise(net_pointer.tolist())]
    sizes, weights = (len(vertex_weight), len(net_weight)), (vertex_weight.tolist(), net_weight.tolist())
    hypergraph = library.create_hypergraph(context, *sizes, nets, *weights)
    del pins, nets, weights  # their memory is the library's
    return np.array(hypergraph.partition(context).get_partition(), dtype=np.int32)
