import numpy as np
import pytest

from commanalyzer.machine.roofline.equations import collective_rounds, phased_amount


@pytest.mark.parametrize(("partners", "rounds"), [(0, 0), (1, 1), (2, 2), (3, 2), (4, 3), (15, 4), (63, 6)])
def test_binomial_tree(partners: int, rounds: int) -> None:
    assert collective_rounds(partners) == rounds


def test_phases_share_no_link_time() -> None:
    # Node 0: receives 10 and sends 2, then sends 20 and receives 4; node 1: the same both times.
    sent, received = np.array([[2, 5], [20, 5]]), np.array([[10, 5], [4, 5]])
    assert phased_amount(sent, received).tolist() == [30, 10]
