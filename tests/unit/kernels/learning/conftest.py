import numpy as np
import pytest

from commanalyzer.kernels.features.kernels import FEATURES
from commanalyzer.kernels.learning.runs import RunTable, runs_of


def lines() -> list[dict[str, object]]:
    """Eight kernels: efficiency 1 / (1 + c (p - 1)), c by their share of loads and size."""
    found: list[dict[str, object]] = []
    random = np.random.default_rng(5)
    for number in range(8):
        share = 0.1 + 0.05 * (number // 2)  # kernels come in pairs that are alike
        for size in (1e5, 1e7):
            for p in (1, 2, 4, 8):
                speedup = p / (1 + share * (p - 1) * 10 / np.log10(size) ** 2)
                line: dict[str, object] = dict.fromkeys(FEATURES, 0.0)
                line |= {"kernel": f"k{number}", "load": share, "total": 10.0 + number, "devices": p}
                line |= {"work_items": size, "problem_size": 8 * size, "bitwise": random.uniform(0, 0.01)}
                line |= {"speedup": speedup, "physics": p / (1 + 0.02 * (p - 1))}
                found.append(line)
    return found


@pytest.fixture(scope="session")
def table() -> RunTable:
    return runs_of(lines())
