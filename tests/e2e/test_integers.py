"""Integer programs: their work balances, and they are divided as the same programs in floating point are."""

from pathlib import Path

import pytest

import commanalyzer as ca
from tests.e2e.analysed import analyse_text
from tests.e2e.integer_programs import KERNELS, source_of

P = 4
# Name -> (arguments, least and most words that cross between four nodes).
CASES = {
    # each step, both neighbours' values at each of three cuts
    "stencil": ((256, 10), (60, 60)),
    # 2 x 2 blocks of 31 x 31 values: two cuts of 31, the diagonal's value at the corner, and at the end of
    # each cut an initial value that both sides read
    "edit distance": ((32, 0), (32, 65)),
    # q x q blocks: each step k, its row and column to the q - 1 other blocks: 2 n^2 (q - 1)
    "shortest paths": ((20, 0), (400, 800)),
    # counts of 11 keys from three nodes to the one that adds them up
    "counting sort": ((1000, 0), (33, 33)),
    # the front passes each of three cuts once; a node may be reached from both sides of a cut
    "search": ((1024, 32), (3, 3 * 32 * 2)),
}
# Largest part's work over the mean: 31 rows and columns are 15 and 16, the largest block has 16 x 16 values.
EVEN = {"edit distance": 16 * 16 * P / 31**2 + 1e-9}


def _analysed(name: str, number: str) -> ca.AnalysisResult:
    return analyse_text(source_of(name, number), *CASES[name][0], nodes=P, regions=["kernel"], check=True)


@pytest.mark.parametrize("name", KERNELS)
def test_integers_are_divided_as_floating_point_numbers_are(name: str) -> None:
    integers, numbers = (_analysed(name, number) for number in ("int", "double"))
    assert integers.work.flops == 0
    # What is computed is the same: minima are operations of either kind, comparisons of logic.
    assert integers.work.amount == numbers.work.amount > 0
    few, many = CASES[name][1]
    for result, width in ((integers, 4), (numbers, 8)):
        best = result.best(P)
        assert few * width <= best.comm_bytes <= many * width
        assert best.imbalance <= EVEN.get(name, 1.035)
    # Partitioners see other weights of links and draw other numbers: equal but for a little.
    assert 2 * integers.best(P).comm_bytes == pytest.approx(numbers.best(P).comm_bytes, rel=0.02)


INTERVALS = """
static int best(int a, int b) { return a >= b ? a : b; }
static void kernel(int n, const char *s, int *t) {
    for (int i = n - 1; i >= 0; i--)
        for (int j = i + 1; j < n; j++) {
            int found = best(t[i * n + j - 1], t[(i + 1) * n + j]);
            found = best(found, t[(i + 1) * n + j - 1] + (i < j - 1 && s[i] + s[j] == 3));
            for (int k = i + 1; k < j; k++) found = best(found, t[i * n + k] + t[(k + 1) * n + j]);
            t[i * n + j] = found;
        }
}
int main(void) {
    int n = 40, *t = calloc((size_t)(n + 1) * n, sizeof *t);
    char s[40];
    for (int i = 0; i < n; i++) s[i] = (i + 1) % 4;
    for (int i = 0; i < n; i++) t[i * n] = t[i * n + i] = 0;
    kernel(n, s, t);
    printf("%d\\n", t[n - 1]);
}
"""


@pytest.mark.parametrize("regions", [(), ("kernel",)], ids=["whole", "region"])
def test_initial_values_do_not_stand_for_work(regions: tuple[str, ...]) -> None:
    # Half of the array is never computed: if it counted, it would fill three nodes.
    result = analyse_text(INTERVALS, nodes=(2, P), regions=regions, check=True)
    splits, intervals = 40 * 39 * 38 // 6, 40 * 39 // 2  # a sum and a maximum, at most 8 more
    assert 2 * splits <= result.work.integer_ops <= 2 * splits + 8 * intervals + 40 * 3
    for nodes in (2, P):
        best = result.best(nodes)
        # The longest interval depends on all others: each node sends a value at least.
        assert best.comm_bytes >= 4 * (nodes - 1)
        longest = nodes * (2 * 38 + 8) / result.work.integer_ops  # a table may give one interval more
        assert best.imbalance <= 1.03 * (1 + longest) + 1e-3


def test_weights_can_be_changed_without_another_run(tmp_path: Path) -> None:
    recorded = _analysed("edit distance", "double")
    assert recorded.work.unit == "op"
    saved = tmp_path / "saved.cmz"
    ca.save(recorded, saved)
    loaded = ca.load(saved)
    assert loaded.work == recorded.work
    flops = _weighted(loaded, ca.WorkWeights(1, 0, 0))
    assert (flops.work.amount, flops.work.unit) == (recorded.work.flops, "flop")
    assert flops.store.graph().work_flops.sum() == pytest.approx(recorded.work.flops)
    accesses = _weighted(flops, ca.WorkWeights(0, 0, 1))
    assert accesses.work.amount == recorded.work.memory_ops
    assert accesses.best(P).intensity == accesses.best(P).comm_bytes / recorded.work.memory_ops
    again = _weighted(accesses, ca.WorkWeights())
    assert (again.graph.work_flops == recorded.graph.work_flops).all()


def _weighted(result: ca.AnalysisResult, weights: ca.WorkWeights) -> ca.AnalysisResult:
    from commanalyzer.foundation.progress import SilentProgress
    from commanalyzer.pipeline import repartition
    from commanalyzer.request import PartitionRequest

    return repartition(result, PartitionRequest((P,), work_weights=weights), SilentProgress())
