import numpy as np
import pytest

from commanalyzer.graph.allocations import Layout
from commanalyzer.recording.abi import BLOCKS


@pytest.mark.parametrize(
    ("first", "size", "period", "count", "listed", "expected"),
    [
        (16, 800, 0, 1, [(16, 800)], Layout((16,), (800,), 0, True)),
        (4096, 804, 0, 1, [(4096, 804)], Layout((4096,), (804,), 0, True)),  # aligned
        (16, 800, 816, 3, [], Layout((16, 832, 1648), (800,) * 3)),  # three fields of 100 elements
        (16, 800, 136, 2, [(16, 96), (152, 800)], Layout((16, 152), (96, 800))),  # two work arrays
        (16, 800, 816, 10, [], Layout(row=816)),  # ten rows of a square
        (16, 800, 0, 3, [(16, 200), (232, 400), (648, 800)], Layout()),  # a container that grows
        (16, 800, 0, 2, [(16, 800), (832, 200)], Layout((16, 832), (800, 200))),  # levels of a grid
        (0, 0, 0, 0, [], Layout()),  # pages
    ],
)
def test_few_large_blocks_are_arrays_of_their_own(
    first: int, size: int, period: int, count: int, listed: list[tuple[int, int]], expected: Layout
) -> None:
    blocks = np.array([(first, size, period, count)], BLOCKS)
    assert Layout.of(blocks[0], listed) == expected
