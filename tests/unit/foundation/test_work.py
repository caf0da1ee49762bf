import pytest

from commanalyzer.foundation.errors import ConfigError
from commanalyzer.foundation.work import DEFAULT_WEIGHTS, Operations, WorkCounts, WorkWeights


def test_work_is_the_weighted_sum() -> None:
    done = Operations(flops=10, integer=4, memory=7)
    assert DEFAULT_WEIGHTS.of(done) == 14
    assert WorkWeights(2, 0.5, 1).of(done) == 20 + 2 + 7
    assert done + done == done.times(2)


def test_work_does_not_jump_where_the_kind_of_operations_changes() -> None:
    amounts = [WorkCounts(1000 - i, 0, 0, 0, i).amount for i in range(1001)]
    assert all(0.99 * 1000 <= amount <= 1000 for amount in amounts)
    assert amounts[:9] == [1000 - i for i in range(9)]  # as long as W is in floating-point operations
    assert set(amounts[11:]) == {1000}


@pytest.mark.parametrize(
    ("flops", "integer", "unit"), [(100, 0, "flop"), (1000, 9, "flop"), (1000, 11, "op"), (1, 1000, "op")]
)
def test_unit_is_that_of_nearly_all_operations(flops: int, integer: int, unit: str) -> None:
    assert WorkCounts(flops, 0, 0, 0, integer).unit == unit


def test_accesses_are_the_work_where_nothing_else_is_done() -> None:
    moved = Operations(memory=5)
    assert DEFAULT_WEIGHTS.applied(moved) == WorkWeights(1, 1, 1)
    assert DEFAULT_WEIGHTS.applied(Operations(integer=1, memory=5)) == DEFAULT_WEIGHTS
    assert DEFAULT_WEIGHTS.applied(Operations()) == DEFAULT_WEIGHTS


def test_weights_are_read_as_they_are_written() -> None:
    weights = WorkWeights.parse("int=0.5, mem=.25")
    assert weights == WorkWeights(1.0, 0.5, 0.25)
    assert WorkWeights.parse(str(weights)) == weights


@pytest.mark.parametrize(
    "text", ["", "fp", "fp=", "fp=-1", "fp=1,fp=1", "flop=1", "fp=0,int=0,mem=0", "fp=nan"]
)
def test_wrong_weights_say_what_is_expected(text: str) -> None:
    with pytest.raises(ConfigError, match="expected weights") as caught:
        WorkWeights.parse(text)
    assert caught.value.where == "--work-weights"
