"""What crosses event by event, against programs that are gone through in Python, version by version."""

from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from commanalyzer import analyze
from commanalyzer.result.results import AnalysisResult, Decomposition
from tests.e2e.analysed import analyse_text
from tests.native import ROOT

N, STEPS, NODES = 48, 400, 4
PROGRAM = """
#define N 48
#define STEPS 400
double a[N], b[N], c[N], total[1];
static unsigned seed = 1;
#define APART __attribute__((noinline)) static
APART int next(void) { seed = seed * 1103515245u + 12345u; return (seed >> 16) % N; }
APART void add(int i) { total[0] += a[i] * a[i]; }
int main(void) {
  for (int i = 0; i < N; i++) a[i] = b[i] = i + 1;
  for (int s = 0; s < STEPS; s++) { int i = next(), j = next(); BODY }
  printf("%g\\n", a[3]);
}
"""
RING = """double e, *u = SWAP && s % 2 ? b : a, *w = SWAP && s % 2 ? a : b; SUM = 0;
for (int k = 0; k < N; k++) w[k] = 0.8 * u[k] + 0.1 * (u[(k + 1) % N] + u[(k + N - 1) % N]);
for (int k = 0; k < N; k++) { if (!SWAP) a[k] = b[k]; SUM += w[k] * w[k]; }
if (s % 20 == 19) printf("%g\\n", SUM);"""


def draws() -> Iterator[int]:
    seed = 1
    while True:
        seed = (seed * 1103515245 + 12345) % 2**32
        yield (seed >> 16) % N


class Run:
    """Versions of words, who has them, and bytes that were sent: the definition, one access at a time."""

    def __init__(self, owner: Callable[[str, int], int]) -> None:
        self.owner, self.made, self.sent_bytes = owner, 0, 0
        self.held: dict[tuple[str, int], tuple[int, int]] = {}  # version, and the node that made it
        self.has: set[tuple[int, int]] = set()
        self.contributed: set[int] = set()

    def store(self, name: str, i: int) -> None:
        self.made += 1
        self.held[name, i] = self.made, self.owner(name, i)

    def copy(self, to: tuple[str, int], name: str, i: int) -> None:
        self.held[to] = self.held[name, i]

    def read(self, name: str, i: int, node: int) -> None:
        version, maker = self.held[name, i]
        if node != maker and (version, node) not in self.has:
            self.has.add((version, node))
            self.sent_bytes += 8


Follow = Callable[[Run, int, int, int], None]


def updates(run: Run, i: int, j: int, _: int) -> None:
    run.read("a", j, run.owner("a", i))
    run.store("a", i)


def copies(run: Run, i: int, j: int, _: int) -> None:
    """The copy in b outlives its value: what is read there is an earlier version of a."""
    run.copy(("b", j), "a", i)
    for k in (j, (j + 1) % N):
        run.read("b", k, run.owner("c", i))
    run.store("c", i)
    run.read("b", j, run.owner("a", i))
    run.store("a", i)


def sums(run: Run, i: int, j: int, step: int) -> None:
    """Partial sums are sent when the sum is read, whatever the number of contributions before."""
    node, home = run.owner("a", i), run.owner("total", 0)
    if node != home and node not in run.contributed:
        run.contributed.add(node)
        run.sent_bytes += 8
    run.store("total", 0)
    if step % 8 == 7:
        run.contributed.clear()
        run.read("total", 0, run.owner("b", j))
        run.store("b", j)


CASES: dict[Follow, str] = {
    updates: "a[i] = a[i] * 0.5 - a[j] * a[j];",
    copies: "b[j] = a[i]; c[i] = b[j] * b[(j + 1) % N]; a[i] = 1 / (1 + b[j] * b[j]);",
    sums: "add(i); if (s % 8 == 7) b[j] = total[0] * 0.25;",
}


def owners_of(result: AnalysisResult, item: Decomposition) -> Callable[[str, int], int]:
    graph, part = result.graph, item.part
    names = [o.name for o in graph.objects]
    word = graph.home_offset // graph.width_bytes
    known = {(names[h], int(i)): int(p) for h, i, p in zip(graph.home_object, word, part, strict=True)}
    return lambda name, i: known[name, i]


@pytest.mark.parametrize("follow", CASES, ids=lambda f: f.__name__)
def test_every_version_that_another_node_reads_crosses_once(follow: Follow) -> None:
    rules = [f"{name}=cyclic" for name in "abc" if f"{name}[" in CASES[follow] or name == "a"]
    result = analyse_text(PROGRAM.replace("BODY", CASES[follow]), nodes=NODES, decompose=rules, exact=True)
    item = next(d for d in result.decompositions if "=" in d.method)
    run, draw = Run(owners_of(result, item)), draws()
    for name in ("a", "b"):
        for i in range(N):
            run.store(name, i)
    for step in range(STEPS):
        follow(run, next(draw), next(draw), step)
    assert item.is_replayed and result.best(NODES).is_replayed
    assert item.comm_bytes == item.communication.high_bytes == run.sent_bytes


@pytest.mark.parametrize("swap", "01")
@pytest.mark.parametrize("total", ["e", "total[0]"])
def test_a_sum_that_is_not_always_read_is_in_doubt(total: str, swap: str) -> None:
    """The borders of a ring in each step, and the sum, which each step makes, where it is printed."""
    theory = 8 * STEPS * 2 * NODES + 8 * (STEPS // 20) * (NODES - 1)
    text = PROGRAM.replace("BODY", RING.replace("SWAP", swap).replace("SUM", total))
    best = analyse_text(text, nodes=NODES, exact=True).best(NODES)
    assert best.is_replayed
    assert best.communication.low_bytes <= theory < best.communication.high_bytes


def test_terms_of_a_sum_are_what_was_read_when_they_were() -> None:
    """A sum over copies of cells of which some are renewed before it is done: borders, once in each step."""
    text = """
        static int g[16][16], h[16][16], sum;
        int main(void) {
          for (int k = 0; k < 256; k++) g[k / 16][k % 16] = (k / 16 * 7 + k % 16 * 13) % 5 < 2;
          for (int t = 0; t < 6; t++) {
            for (int i = 0; i < 16; i++) for (int j = 0; j < 16; j++) {
              int n = 0;
              for (int a = 15; a < 18; a++) for (int b = 15; b < 18; b++) n += g[(i + a) % 16][(j + b) % 16];
              h[i][j] = n == 3 || n == 4;
            }
            for (int k = 0; k < 256; k++) g[k / 16][k % 16] = h[k / 16][k % 16];
          }
          for (int k = 0; k < 256; k++) sum += g[k / 16][k % 16];
          printf("%d\\n", sum);
        }"""
    result = analyse_text(text, nodes=2, decompose=["g=block:1x2", "h=block:1x2"], exact=True)
    item = next(d for d in result.decompositions if "=" in d.method)
    assert item.comm_bytes == item.communication.high_bytes == 4 * (6 * 2 * 2 * 16 + 1)


@pytest.mark.parametrize(("exact", "least"), [(True, 1.0), (False, 0.5)])
def test_rows_of_other_inputs_read_other_versions(exact: bool, least: float) -> None:
    theory = (NODES - 1) * (2 * 4 * 23 + 4)  # borders, but the last; the sum
    text = (ROOT / "tests" / "e2e" / "fused" / "cheapest_path.c").read_text(encoding="utf-8")
    text = text.replace("REAL", "int").replace("CALL", "static")
    best = analyse_text(text, nodes=NODES, exact=exact).best(NODES)
    assert least * theory <= best.comm_bytes <= theory


def test_the_best_was_counted_event_by_event_where_many_turn_out_dearer() -> None:
    source = ROOT / "workloads" / "kernels" / "multigrid2d.c"
    result = analyze(source, [16, 2], nodes=NODES, exact=True, program_output="discard")
    best = result.best(NODES)
    counted = [d.comm_bytes for d in result.decompositions if d.is_replayed and d.is_balanced]
    assert best.is_replayed and best.comm_bytes == best.communication.high_bytes == min(counted)


def test_narrow_brackets_of_short_runs_are_counted_event_by_event() -> None:
    """Conjugate gradients of 8^3 points and 27 neighbours in 2 x 2 rods: five products, eight sums."""
    program = ROOT / "bench/foreign/cg_rows.cpp"
    found = analyze(program, ["8", "4"], nodes=[4], program_output="discard").decomposition(4)
    halo = 4 * (2 * 8 * 4 + 8)  # points beside two faces and an edge of each rod
    sums, to_all = 3 * (4 + 4), 3 * (3 + 4)  # r r and p q; beta and alpha
    assert found.communication.low_bytes == found.comm_bytes == 8 * (5 * halo + sums + to_all)


KNAPSACK = """
int v[257];
int main(void) {
  for (int k = 0; k < 12; k++) {
    int weight = 3 + k * 5 % 17, value = 10 + k * 7 % 23;
    for (int x = 256; x >= weight; x--)
      if (v[x - weight] + value > v[x]) v[x] = v[x - weight] + value;
  }
  printf("%d\\n", v[256]);
}
"""


def test_maxima_that_are_read_between_their_terms_are_computed_by_their_owners() -> None:
    """Work is even then: 12 maxima for each number, but for the first; each item reads the numbers before."""
    nodes = 16
    result = analyse_text(KNAPSACK, nodes=nodes)
    item = result.decomposition(nodes)
    owner, made, words = owners_of(result, item), Counter[int](), 0
    had: dict[tuple[int, int], int] = {}
    for weight in (3 + k * 5 % 17 for k in range(12)):
        for x in range(256, weight - 1, -1):
            pair = x - weight, owner("v", x)
            words += owner("v", x - weight) != pair[1] and had.get(pair) != made[x - weight]
            had[pair], made[x] = made[x - weight], made[x] + 1
    assert item.comm_bytes == item.communication.high_bytes == 4 * words
    most = max(Counter(owner("v", x) for x in made.elements()).values())
    assert item.imbalance == pytest.approx(most * nodes / made.total(), rel=1e-6)


@pytest.mark.parametrize("steps", [1, 2])
def test_a_norm_that_is_taken_twice_reads_the_same_values(steps: int) -> None:
    """Every other point in turn: what is new beside the cut is needed once, for the next half step or a norm.

    What was there at first is needed as well, and each norm is combined; the test of it goes back to all.
    """
    text = """
      static __attribute__((noinline)) double norm(const double *u) {
        double r = 0;
        for (int i = 1; i < 63; i++) { double q = 2 * u[i] - u[i - 1] - u[i + 1]; r += q * q; }
        return sqrt(r);
      }
      int main(int count, char **v) {
        static double u[64];
        for (int i = 0; i < 64; i++) u[i] = i % 5;
        for (int s = 0; s < atoi(v[1]); s++) {
          for (int c = 0; c < 2; c++) for (int i = 1 + c; i < 63; i += 2) u[i] = 0.5 * (u[i - 1] + u[i + 1]);
          if (norm(u) < 1e-9) break;
        }
        printf("%g\\n", norm(u));
      }"""
    found = analyse_text(text, steps, nodes=2).decomposition(2)
    assert found.comm_bytes == 8 * (1 + 2 * steps + 2 * steps + 1)
    assert found.communication.low_bytes == found.communication.high_bytes


SWEEPS = """
int main(void) {
  static double u[34], w[34];
  for (int i = 0; i < 34; i++) u[i] = 0;
  for (int i = 0; i < 34; i++) u[i] = 1.0 / (i + 1);
  for (int t = 0; t < 4; t++) {
    for (int s = 0; s < 2; s++) for (int i = 1; i < 33; i++) w[i] = 0.5 * w[i] + u[i - 1] - u[i + 1];
    for (int i = 1; i < 33; i++) u[i] += 0.1 * w[i];
    for (int i = 1; i < 33; i++) u[i] *= DAMPED;
  }
  double sum = 0;
  for (int i = 0; i < 34; i++) sum += u[i];
  printf("%g\\n", sum);
}"""


@pytest.mark.parametrize("damped", ["1", "0.99"])
@pytest.mark.parametrize("nodes", [2, 4])
def test_sweeps_that_read_a_version_twice_get_it_once(nodes: int, damped: str) -> None:
    """A step reads its neighbours in two sweeps; zeros, and what is not yet damped, are never read there."""
    found = analyse_text(SWEEPS.replace("DAMPED", damped), nodes=nodes).decomposition(nodes)
    assert found.comm_bytes == 8 * (nodes - 1) * (2 * 4 + 1)
    assert found.communication.low_bytes == found.communication.high_bytes
