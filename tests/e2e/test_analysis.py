"""Whole analyses against theory: communication, work and graph size of every workload."""

import math

import numpy as np
import pytest

import commanalyzer as ca
from commanalyzer.division.regular.rules import parse_rule
from commanalyzer.report.result.json_document import json_document
from commanalyzer.result.results import SingletonCounts
from tests.e2e import theory
from tests.e2e.analysed import analyse_text
from tests.e2e.conftest import Analyse
from tests.native import ROOT
from tests.reference.counting import bytes_of, rows_of, volume_transfers

WORD = theory.WORD_BYTES
TOLERANCE = 0.10

HEAT = ("heat2d", 256, 10)
STENCIL = ("stencil3d", 32, 5)
KMEANS = ("kmeans", 2000, 8, 5, 5)
DENSE = ("spmv", 256, "dense", 1, 10)
PLAIN = ("spmv", 128, "dense", 1, 1)
BANDED = ("spmv", 1024, "banded", 9, 10)
RANDOM = ("spmv", 512, "random", 8, 10)
MATMUL = ("matmul", 24)

Workload = tuple[str | int, ...]


# --- communication ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["copy", "swap"])
@pytest.mark.parametrize("q", [2, 4])
def test_heat2d_moves_no_more_than_square_blocks_do(main_loop: Analyse, q: int, mode: str) -> None:
    _, n, steps = HEAT
    best = main_loop(*HEAT, mode).best(q * q)
    expected = WORD * steps * theory.heat2d_words_per_step(n, q, q)
    assert best.comm_bytes <= 1.01 * expected  # the initial values come on top
    assert best.comm_bytes >= WORD * steps * theory.heat2d_lower_bound_per_step(n, q * q) / best.imbalance**2
    assert best.imbalance <= 1.04


def test_stencil3d_moves_no_more_than_cubes_do(main_loop: Analyse) -> None:
    _, n, steps = STENCIL
    best = main_loop(*STENCIL).best(8)
    expected = WORD * steps * theory.stencil3d_words_per_step(n, 2, 2, 2)
    assert 0.75 * expected <= best.comm_bytes <= 1.01 * expected
    assert best.imbalance <= 1.04


@pytest.mark.parametrize("p", [4, 16])
def test_kmeans_broadcasts_centroids_and_folds_sums_and_counts(main_loop: Analyse, p: int) -> None:
    _, _, m, k, iterations = KMEANS
    best = main_loop(*KMEANS).best(p)
    assert best.comm_bytes == theory.kmeans_bytes(m, k, iterations, p)
    assert best.imbalance <= 1.04


def test_kmeans_has_a_reduction_singleton_for_each_centroid_component(main_loop: Analyse) -> None:
    _, n, m, k, _ = KMEANS
    # The first centroids are inputs of the loop, made anew later; every label depends on all of them (sink).
    expected = SingletonCounts(source=0, sink=n, reduction=k * m)
    assert main_loop(*KMEANS).singletons == expected


@pytest.mark.parametrize("p", [4, 16])
@pytest.mark.parametrize("workload", [BANDED, DENSE])
def test_spmv_broadcasts_x_or_exchanges_the_half_band(main_loop: Analyse, workload: Workload, p: int) -> None:
    best = main_loop(*workload).best(p)
    words: dict[Workload, int] = {
        DENSE: theory.spmv_dense_words(256, p),
        BANDED: theory.spmv_banded_words(1024, p, 9 // 2),
    }
    assert best.comm_bytes == pytest.approx(WORD * 10 * words[workload], rel=TOLERANCE)
    if workload is DENSE:
        assert best.imbalance <= 1.07  # 256 equal rows among 16 parts: one row too many is 6 per cent


def test_dense_spmv_has_n_input_and_n_output_singletons(main_loop: Analyse) -> None:
    result = main_loop(*PLAIN)
    n = int(PLAIN[1])
    assert result.singletons == SingletonCounts(source=n, sink=n, reduction=0)
    for p in (4, 16):
        # Paper Section 6.2: p - 1 words for each of 2 n singletons, and nothing else crosses.
        best = result.best(p, "hpdc18")
        assert best.comm_bytes == best.communication.singleton_bytes == WORD * 2 * n * (p - 1)


@pytest.mark.parametrize(("p", "least"), [(4, 0.5), (16, 0.45)])
def test_random_spmv_stays_below_row_blocks(main_loop: Analyse, p: int, least: float) -> None:
    # Entries of the matrix may be anywhere: products are made there, and sums of them sent instead of x
    # (fine-grain division: Catalyurek, Aykanat, IPDPS 2001), which saves a third to a half.
    _, n, _, per_row, iterations = RANDOM
    best = main_loop(*RANDOM).best(p)
    blocks = WORD * iterations * theory.spmv_random_expected_words(n, p, per_row)
    assert least * blocks < best.comm_bytes < 1.02 * blocks


def test_random_spmv_sends_what_its_products_need(main_loop: Analyse) -> None:
    _, _, _, _, iterations = workload = ("spmv", 64, "random", 4, 3)
    result = main_loop(*workload)
    graph, best = result.graph, result.best(4)
    part = best.part.tolist()
    sent, summed = volume_transfers(graph, part, [False] * graph.num_vertices)
    assert best.comm_bytes == bytes_of(graph, sent) + bytes_of(graph, summed)
    # Every product is made where its factors are, and that part has y_i or sends its sum to who has it.
    made = set[tuple[int, int]]()
    for sink, _, foldable, _, terms in rows_of(graph):
        for factors in terms:
            places = [q for q in range(4) if all(part[v] == q or (v, q) in sent for v in factors)]
            ways = {q for q in places if part[sink] == q or (foldable and (sink, q) in summed)}
            assert ways
            made.add((sink, part[sink]) if part[sink] in ways else (sink, min(ways)))
    assert set(summed) <= made
    # New sums and x in each product, y between two: nothing is sent rarer than needed, no entries ever.
    assert {count for _, count, _ in summed.values()} == {iterations}
    names = {(graph.objects[graph.home_object[v]].name, count) for (v, _), (_, count, _) in sent.items()}
    assert ("x", iterations) in names <= {("x", iterations), ("y", iterations - 1)}


@pytest.mark.parametrize("p", [4, 16])
def test_matmul_moves_no_more_than_square_blocks_do(main_loop: Analyse, p: int) -> None:
    n = int(MATMUL[1])
    best = main_loop(*MATMUL).best(p)
    assert best.comm_bytes == best.communication.high_bytes
    assert theory.matmul_fold_bound(n, p) < best.comm_bytes / WORD
    assert best.comm_bytes <= WORD * theory.matmul_words(n, math.isqrt(p), math.isqrt(p))


@pytest.mark.parametrize("workload", [HEAT, STENCIL, KMEANS, DENSE, BANDED, RANDOM, MATMUL])
def test_best_is_the_cheapest_candidate_and_all_are_reported(main_loop: Analyse, workload: Workload) -> None:
    result = main_loop(*workload)
    for p in result.nodes:
        for model in ("volume", "hpdc18"):
            group = [d for d in result.decompositions if (d.nodes, d.model) == (p, model)]
            assert any(d.method.startswith("metis ") for d in group)
            assert len({d.method for d in group}) == len(group)
            best = result.best(p, model)
            balanced = [d for d in group if d.imbalance <= max(1.03, best.imbalance)]
            assert min(d.comm_bytes for d in balanced) == best.comm_bytes


# --- work ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("workload", "flops"),
    [
        (HEAT, theory.heat2d_flops(256, 10)),
        (STENCIL, theory.stencil3d_flops(32, 5)),
        (KMEANS, theory.kmeans_flops(2000, 8, 5, 5)),
        (DENSE, theory.spmv_flops(256, 256 * 256, 10)),
        (PLAIN, theory.spmv_flops(128, 128 * 128, 1)),
        (BANDED, theory.spmv_flops(1024, theory.spmv_banded_entries(1024, 4), 10)),
        (RANDOM, theory.spmv_flops(512, 512 * 8, 10)),
        (MATMUL, theory.matmul_flops(24)),
    ],
)
def test_work_of_the_main_loop_is_that_of_theory(main_loop: Analyse, workload: Workload, flops: int) -> None:
    result = main_loop(*workload)
    assert result.work.flops == flops
    members = 2000 * 5 if workload is KMEANS else 0  # counted for each object in each round, an integer
    assert result.work.integer_ops == members
    assert result.graph.work_flops.sum() == pytest.approx(flops + members)


@pytest.mark.parametrize("workload", [HEAT, STENCIL, KMEANS, DENSE, BANDED, RANDOM, MATMUL])
def test_arrays_made_before_the_region_are_inputs(main_loop: Analyse, workload: Workload) -> None:
    graph = main_loop(*workload).graph
    made = graph.versions - graph.is_input
    sink = np.zeros(graph.num_vertices, dtype=np.bool_)
    sink[graph.rows.row_sink] = True
    assert np.array_equal(made > 0, sink)
    assert np.all(graph.is_input[graph.rows.source] | sink[graph.rows.source])


# --- graph size, paper Table 2 ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("workload", "words", "tolerance"),
    [
        # 12 n for the time loop, and 12 n more because the initial field has other homes than the work array:
        # 2 n vertices and the boundary (4 sides), 5 n edges in the first step and 4 n - 4 sides later, n to
        # themselves: 12 n vertices and edges, two words each.
        (HEAT, 2 * theory.heat2d_vcg_words(256), 0),
        (STENCIL, 2 * theory.stencil3d_vcg_words(32), 0),
        # Once x and y are taken out, the matrix entries are left: 2 n. So are a few parsed arguments.
        (PLAIN, 2 * 128**2, 0.01),
        # 4 n^1.5 edges' words of the paper (n elements) and 2 words for each of the 3 n vertices.
        (MATMUL, theory.matmul_vcg_words(24) + 6 * 24 * 24, 0),
        # Features without those that are first centroids: 2 n if n counts features.
        (KMEANS, 2 * (2000 * 8 - 5 * 8), 0.01),
    ],
)
def test_graph_size(main_loop: Analyse, workload: Workload, words: int, tolerance: float) -> None:
    assert main_loop(*workload).vcg_words == pytest.approx(words, rel=tolerance)


# --- reproducibility -------------------------------------------------------------------------------------


@pytest.mark.parametrize("workload", [("kmeans", 200, 3, 4, 2), ("spmv", 60, "random", 5, 2), ("matmul", 10)])
def test_same_input_same_document(workload: Workload) -> None:
    source = ROOT / "workloads" / str(workload[0]) / f"{workload[0]}.c"
    documents = []
    for _ in range(2):
        result = ca.analyze(
            source, workload[1:], nodes=[2, 4], model=("volume", "hpdc18"), program_output="discard"
        )
        document = json_document(result)
        for section, names in (
            ("provenance", ["created"]),
            ("recording", ["native_s", "instrumented_s", "peak_rss_bytes"]),
            ("machine", ["throughput"]),
            ("vcg", ["bytes"]),  # compressed with addresses of the C library's memory, which are random
        ):
            part = document[section]
            assert isinstance(part, dict)
            for name in names:
                del part[name]
        del document["peak_memory_bytes"]
        for item in document["decompositions"]:  # type: ignore[union-attr]
            del item["seconds"]  # type: ignore[arg-type, union-attr]
        documents.append(document)
    assert documents[0] == documents[1]


POPULATIONS = """
enum { N = 18, STEPS = 3 };
static double f[2][5][N][N];
int main(void) {
    for (int q = 0; q < 5; q++)
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) f[0][q][i][j] = f[1][q][i][j] = 1.0 + (i * 7 + j * 3 + q) % 11;
    for (int t = 0; t < STEPS; t++) {
        double (*a)[N][N] = f[t % 2], (*b)[N][N] = f[1 - t % 2];
        for (int i = 1; i < N - 1; i++)
            for (int j = 1; j < N - 1; j++) {
                double c = a[0][i][j];
                double n = a[1][i - 1][j], s = a[2][i + 1][j], w = a[3][i][j - 1], e = a[4][i][j + 1];
                double mean = 0.2 * (c + n + s + w + e);
                b[0][i][j] = 0.5 * (mean + c);
                b[1][i][j] = 0.5 * (mean + n), b[2][i][j] = 0.5 * (mean + s);
                b[3][i][j] = 0.5 * (mean + w), b[4][i][j] = 0.5 * (mean + e);
            }
    }
    double sum = 0.0;
    for (int i = 1; i < N - 1; i++)
        for (int j = 1; j < N - 1; j++) sum += f[STEPS % 2][0][i][j];
    printf("%.9f\\n", sum);
}
"""


def test_arrays_of_four_dimensions_are_divided_along_the_last_two() -> None:
    found = analyse_text(POPULATIONS, nodes=4).decomposition(4)
    assert found.grid == (1, 1, 2, 2)
    # Each step one of five populations crosses each side of two lines of 16 points; then three partial sums.
    assert found.comm_bytes == WORD * (3 * 2 * 2 * 16 + 3)
    rule = parse_rule("f[2x5x18x18]=block:1x1x2x2")
    assert (rule.extents, rule.numbers) == ((2, 5, 18, 18), found.grid)


RANK_K_UPDATE = """
static double a[N][K], c[N][N];
int main(void) {
    double sum = 0.0;
    for (int i = 0; i < N; i++)
        for (int k = 0; k < K; k++) a[i][k] = (i * 3 + k * 5) % 13;
    for (int i = 0; i < N; i++)
        for (int j = 0; j <= i; j++) {
            double s = 0.0;
            for (int k = 0; k < K; k++) s += a[i][k] * a[j][k];
            c[i][j] = s;
        }
    for (int i = 0; i < N; i++)
        for (int j = 0; j <= i; j++) sum += c[i][j];
    printf("%g\\n", sum);
}
"""


@pytest.mark.parametrize(("n", "k"), [(24, 500), (40, 300)])  # sums that are hubs; a large graph
def test_products_that_are_long_are_cut_along_what_is_summed_over(n: int, k: int) -> None:
    found = analyse_text(f"enum {{ N = {n}, K = {k} }};{RANK_K_UPDATE}", nodes=4).decomposition(4)
    assert found.grid == (1, 4)
    assert found.comm_bytes == pytest.approx(WORD * 3 * n * (n + 1) // 2, rel=0.01)


WEIGHTS = """
enum { N = 32 };
static double u[2][N][N];
static const double tables[2][9] = {{1, 2, 3, 4, 5, 6, 7, 8, 9}, {9, 8, 7, 6, 5, 4, 3, 2, 1}};
static void step(double (*a)[N], double (*b)[N], const double *w) {
    for (int i = 1; i < N - 1; i++)
        for (int j = 1; j < N - 1; j++) {
            double s = 0.0;
            for (int k = 0; k < 9; k++) s += WEIGHT * a[i + k / 3 - 1][j + k % 3 - 1];
            b[i][j] = s;
        }
}
int main(int argc, char **argv) {
    double local[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, copied[9];
    for (int k = 0; k < 9; k++) copied[k] = tables[argc > 1][k];
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) u[0][i][j] = u[1][i][j] = (i * 7 + j * 3) % 11;
    for (int t = 0; t < 4; t++) step(u[t % 2], u[1 - t % 2], FROM);
    printf("%g\\n", u[0][5][5] + local[argc] + copied[argc]);
}
"""


@pytest.mark.parametrize("table", ["", "tables[argc > 1]", "local", "copied"])
def test_tables_of_constants_move_nothing(table: str) -> None:
    text = WEIGHTS.replace("WEIGHT", "w[k]" if table else "0.5").replace("FROM", table or "0")
    result = analyse_text(text, nodes=4, model=("volume", "hpdc18"), check=True)
    # Both sides of two lines of 30 points, and four corners, in each of four steps.
    assert result.best(4).comm_bytes == WORD * 4 * (2 * 2 * 30 + 4)
    assert not {"tables", "local", "copied"} & {item.name for item in result.graph.objects}
    assert result.singletons == SingletonCounts(0, 0, 0)
