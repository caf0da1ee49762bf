"""adi and pic, whose workspaces every line and every particle uses again, against theory."""

import numpy as np
import pytest

import commanalyzer as ca
from tests.e2e import irregular_models as models
from tests.e2e import theory_irregular as theory
from tests.e2e.analysed import analyse_text
from tests.e2e.conftest import Analyse
from tests.e2e.test_analysis_irregular import Ints, bytes_per_object, heap_objects
from tests.native import ROOT

WORD = 8
TOLERANCE = 0.10
ADI_ARRAYS = ("capacity", "u", "half", "cp", "dp")
PARTICLE_ARRAYS = ("x", "y", "vx", "vy")
GRID_ARRAYS = ("rho", "phi", "work", "ex", "ey")


# --- adi --------------------------------------------------------------------------------------------------


def adi_in_blocks(result: ca.AnalysisResult, n: int) -> int:
    """Bytes in 2 x 2 blocks."""
    number = heap_objects(result, ADI_ARRAYS)
    blocks = np.pad(models.square_blocks(n, 2).reshape(n, n), 1, mode="edge").ravel()
    arrays = {number[name]: blocks for name in ("capacity", "u", "half")}
    return int(bytes_per_object(result, arrays, 4).sum())


@pytest.mark.parametrize("steps", [3, 6])
def test_adi_in_square_blocks_hands_on_three_words_per_line(main_loop: Analyse, steps: int) -> None:
    expected = WORD * theory.adi_words(32, steps, 2, 2)
    assert adi_in_blocks(main_loop("adi", 32, steps), 32) == pytest.approx(expected, rel=TOLERANCE)


def test_adi_work(main_loop: Analyse) -> None:
    assert main_loop("adi", 32, 3).work.flops == theory.adi_flops(32, 3)


def test_adi_has_a_value_per_point_direction_and_workspace(main_loop: Analyse) -> None:
    result = main_loop("adi", 32, 3)
    number = heap_objects(result, ADI_ARRAYS)
    homes = np.bincount(result.graph.home_object, minlength=len(result.graph.objects))
    assert homes[number["cp"]] == homes[number["dp"]] == 2 * 32 * 32


def test_directions_that_share_work_arrays_are_divided_into_blocks() -> None:
    source = ROOT / "bench" / "foreign" / "split_hydro.f90"
    found = ca.analyze(source, (24, 2), nodes=(8,), program_output="discard").decomposition(8)
    # Rows at the walls have more work: no whole rows are within three percent of the mean.
    assert found.grid == (2, 4)
    assert found.comm_bytes == pytest.approx(WORD * 10 * 24 * 2 * (1 + 3), rel=0.02)


# --- pic --------------------------------------------------------------------------------------------------

N, PER_CELL, SWEEPS = 16, 4, 4


def pic_theory(steps: int) -> tuple[Ints, int]:
    """Owners of the particles by their first cells in 2 x 2 blocks, and the bytes."""
    blocks = models.square_blocks(N, 2)
    first = np.repeat(blocks, PER_CELL)
    corners = models.particles_in_cells(N, PER_CELL, steps, SWEEPS).corners
    foreign = sum(models.foreign_points(c, blocks, first) for c in corners)
    words = theory.pic_potential_words(N, 2, SWEEPS, steps) + theory.pic_particle_words(foreign)
    return first, WORD * words


@pytest.mark.parametrize("steps", [3, 6])
def test_pic_in_square_blocks_exchanges_charge_and_field(main_loop: Analyse, steps: int) -> None:
    result = main_loop("pic", N, PER_CELL, steps, SWEEPS)
    number = heap_objects(result, (*PARTICLE_ARRAYS, *GRID_ARRAYS))
    particles, expected = pic_theory(steps)
    arrays = {number[name]: particles for name in PARTICLE_ARRAYS}
    arrays |= {number[name]: models.square_blocks(N, 2) for name in GRID_ARRAYS}
    assert bytes_per_object(result, arrays, 4).sum() == pytest.approx(expected, rel=TOLERANCE)


@pytest.mark.parametrize("steps", [3, 6])
def test_pic_moves_about_what_square_blocks_move(main_loop: Analyse, steps: int) -> None:
    best = main_loop("pic", N, PER_CELL, steps, SWEEPS).best(4)
    blocks = pic_theory(steps)[1]
    # a particle may stay where it mostly is
    assert 0.8 * blocks < best.comm_bytes <= (1 + TOLERANCE) * blocks
    assert best.imbalance <= 1.04


def test_pic_grows_by_the_cells_that_particles_enter_only(main_loop: Analyse) -> None:
    few, many = (main_loop("pic", N, PER_CELL, steps, SWEEPS).graph for steps in (3, 6))
    cells = [c[:, 0] for c in models.particles_in_cells(N, PER_CELL, 6, SWEEPS).corners]
    particle = np.arange(len(cells[0]))
    pairs = [np.unique(np.concatenate([c * len(particle) + particle for c in cells[:k]])) for k in (3, 6)]
    entered = len(pairs[1]) - len(pairs[0])
    assert 0 < entered < len(cells[0])
    # Per entered cell: four charges, two components of the field and of the push, and the weights.
    assert many.num_rows - few.num_rows <= 16 * entered


# --- what every line makes again ---------------------------------------------------------------------------

ELIMINATIONS = """
static double b[64];
static void solve(int n, int stride, double *x, double r) {
    double factor[64];
    factor[0] = -r / DIAGONAL(0);
    x[0] /= DIAGONAL(0);
    for (int i = 1; i < n; i++) {
        double m = 1 / (DIAGONAL(i) + r * factor[i - 1]);
        factor[i] = -r * m;
        x[i * stride] = (x[i * stride] + r * x[(i - 1) * stride]) * m;
    }
    for (int i = n - 2; i >= 0; i--)
        x[i * stride] -= factor[i] * x[(i + 1) * stride];
}
int main(int argc, char **argv) {
    int n = 32, steps = 3;
    double r = PARAMETER;
    double *u = malloc(sizeof *u * n * n);
    for (int i = 0; i < n; i++)
        b[i] = 1 + 2 * r + 1.0 / (i + 1);
    for (int i = 0; i < n * n; i++)
        u[i] = i % 31;
    for (int s = 0; s < steps; s++) {
        for (int i = 0; i < n; i++)
            solve(n, 1, u + i * n, r);
        for (int j = 0; j < n; j++)
            solve(n, n, u + j, r);
    }
    printf("%.10e\\n", u[n * (n / 2) + n / 3]);
}
"""
TRANSFORM = """
int main(int argc, char **argv) {
    int n = 24;
    double h = argc > 1 ? atof(argv[1]) : 0.1, (*a)[n] = malloc(sizeof(double[n][n])), w[24], y[24];
    for (int i = 0; i < n * n; i++)
        a[0][i] = i % 31;
    for (int s = 0; s < 3; s++)
        for (int row = 0; row < n; row++) {
            for (int k = 0; k < n; k++)
                w[k] = cos(h * k);
            for (int k = 0; k < n; k++)
                y[k] = a[row][k] * w[n - 1 - k] + a[row][n - 1 - k] * w[k];
            for (int k = 0; k < n; k++)
                a[row][k] = y[k];
        }
    printf("%.10e\\n", a[n / 2][n / 3]);
}
"""
COEFFICIENTS = """
int main(void) {
    static double u[64], c[64];
    for (int s = 0; s < 10; s++) {
        for (int i = 0; i < 64; i++)
            c[i] = 1.0 / (i + 2);
        for (int i = 1; i < 64; i++)
            u[i] = 0.5 * u[i] + c[i - 1];
    }
    printf("%.10e\\n", u[33]);
}
"""


FILTER = """
static void blur(const double *in, double *out, int n, int stride, double sigma) {
    double kernel[3], sum = 0;
    for (int i = -1; i <= 1; i++) {
        kernel[i + 1] = exp(-i * i / sigma);
        sum += kernel[i + 1];
    }
    for (int i = 0; i < 3; i++)
        kernel[i] /= sum;
    for (int x = 1; x < n - 1; x++)
        out[x * stride] =
            kernel[0] * in[(x - 1) * stride] + kernel[1] * in[x * stride] + kernel[2] * in[(x + 1) * stride];
}
int main(int argc, char **argv) {
    int n = 34;
    double sigma = atof(argv[1]), *a = calloc(n * n, 8), *b = calloc(n * n, 8);
    for (int i = 0; i < n * n; i++)
        a[i] = i % 31;
    for (int s = 0; s < 2; s++) {
        for (int i = 1; i < n - 1; i++)
            blur(a + i * n, b + i * n, n, 1, sigma);
        for (int i = 1; i < n - 1; i++)
            blur(b + i, a + i, n, n, sigma);
    }
    printf("%.10e\\n", a[n * (n / 2) + n / 3]);
}
"""
CASES = """
static double p[2], w, out[8][64];
static __attribute__((noinline)) void fill(double *row) {
    for (int i = 0; i < 64; i++)
        row[i] = w * i;
}
int main(int argc, char **argv) {
    for (int c = 0; c < 2; c++)
        p[c] = atof(argv[c + 1]);
    for (int c = 0; c < 8; c++) {
        w = p[c % 2] * 2;
        fill(out[c]);
    }
    printf("%g\\n", out[3][4]);
}
"""


RESTARTS = """
int main(int argc, char **argv) {
    double rate = atof(argv[1]), u[64], out[8][64];
    for (int c = 0; c < 8; c++) {
        for (int i = 0; i < 64; i++)
            u[i] = sin(0.1 * i);
        for (int s = 0; s < 10; s++) {
            double left = u[0];
            for (int i = 1; i < 64; i++) {
                double old = u[i];
                u[i] += rate * (c + 1) * (left - u[i]);
                left = old;
            }
        }
        for (int i = 0; i < 64; i++)
            out[c][i] = u[i];
    }
    double t = 0;
    for (int i = 0; i < 8 * 64; i++)
        t += out[0][i];
    printf("%f\\n", t);
}
"""
REPEATS = """
int main(int argc, char **argv) {
    double a[48][48], x[48], y[48], z[48], t = 0;
    for (int i = 0; i < 48; i++) {
        x[i] = i % 5 + atof(argv[1]);
        for (int j = 0; j < 48; j++)
            a[i][j] = 1.0 / (i + j + 1);
    }
    for (int r = 0; r < 10; r++) {
        for (int i = 0; i < 48; i++) {
            double s = 0;
            for (int j = 0; j < 48; j++)
                s += a[i][j] * x[j];
            y[i] = s;
        }
        for (int i = 0; i < 48; i++)
            z[i] = y[i] + 0.5 * y[(i + 1) % 48];
    }
    for (int i = 0; i < 48; i++)
        t += z[i];
    printf("%f\\n", t);
}
"""


@pytest.mark.parametrize(
    ("diagonal", "parameter", "arguments", "most_for_parameters"),
    [
        ("2.5", "0.5", (), 0),
        ("(1 + 2 * r)", "atof(argv[1])", ("0.5",), 7 * WORD),
        ("b[i]", "0.5", (), 7 * 2 * 32 * WORD),  # everyone gets all of b, and the factors made of it
    ],
    ids=["constants", "parameter", "coefficients"],
)
def test_the_factors_of_an_elimination_are_made_by_every_line(
    diagonal: str, parameter: str, arguments: tuple[str, ...], most_for_parameters: int
) -> None:
    text = f"#define DIAGONAL(i) {diagonal}\n{ELIMINATIONS.replace('PARAMETER', parameter)}"
    crossing = 3 * 32 * 2 * (1 + 3) * WORD  # lines, there and back, cuts of both directions
    for regions in ((), ("main",)):
        found = analyse_text(text, *arguments, nodes=8, decompose="u[32x32]=block:2x4", regions=regions)
        one = found.decomposition(8)
        assert crossing <= one.comm_bytes <= crossing + most_for_parameters and one.imbalance < 1.1


WORK_ARRAYS = """#include <stdio.h>
enum { N = 32 };
static void solve(const double *a, const double *b, const double *c, double *d, double *w) {
    w[0] = c[0] / b[0];
    d[0] /= b[0];
    for (int i = 1; i < N; i++) {
        double m = b[i] - a[i] * w[i - 1];
        w[i] = c[i] / m;
        d[i] = (d[i] - a[i] * d[i - 1]) / m;
    }
    for (int i = N - 2; i >= 0; i--)
        d[i] -= w[i] * d[i + 1];
}
#define LINE(i, j, of)                            \\
    for (int of = 0; of < N; of++) {              \\
        a[of] = c[of] = -0.1 * k[i][j];           \\
        b[of] = 1 + 0.2 * k[i][j];                \\
        d[of] = u[i][j];                          \\
    }                                             \\
    solve(a, b, c, d, w);                         \\
    for (int of = 0; of < N; of++)                \\
        u[i][j] = d[of];
int main(void) {
    double(*u)[N] = malloc(sizeof(double[N][N])), (*k)[N] = malloc(sizeof(double[N][N]));
    double *a = malloc(8 * N), *b = malloc(8 * N), *c = malloc(8 * N), *d = malloc(8 * N), *w = malloc(8 * N);
    for (int i = 0; i < N * N; i++) {
        u[0][i] = i % 7;
        k[0][i] = 1 + i % 5;
    }
    for (int t = 0; t < 3; t++) {
        for (int i = 0; i < N; i++) {
            LINE(i, j, j)
        }
        for (int j = 0; j < N; j++) {
            LINE(i, j, i)
        }
    }
    printf("%f\\n", u[1][1]);
}
"""


def test_lines_that_are_solved_in_work_arrays_are_solved_where_they_lie() -> None:
    """Two words go on at every cut of a line, one comes back; what is made of k is made beside it."""
    found = analyse_text(WORK_ARRAYS, nodes=(4, 16))
    for nodes, cuts in ((4, 1), (16, 3)):
        one = found.decomposition(nodes)
        assert one.comm_bytes == one.communication.high_bytes == 3 * WORD * 32 * cuts * 2 * 3
        assert one.grid == (int(nodes**0.5),) * 2 and one.imbalance < 1.03


NEIGHBOURS = """
#include <stdio.h>
enum { N = 24 };
static double u[N * N], v[N * N];
static int beside[N * N][4];
static int along(const int *at, int axis, int step) {
    int there = at[axis] + step;
    return there < 0 || there >= N ? -1 : axis ? at[0] * N + there : there * N + at[1];
}
int main(void) {
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            const int at[2] = {i, j};
            for (int axis = 0; axis < 2; axis++) {
                beside[i * N + j][2 * axis] = along(at, axis, -1);
                beside[i * N + j][2 * axis + 1] = along(at, axis, 1);
            }
            u[i * N + j] = i * 0.5 + j;
        }
    for (int t = 0; t < 10; t++) {
        for (int c = 0; c < N * N; c++) {
            double s = 0;
            for (int k = 0; k < 4; k++)
                s += beside[c][k] < 0 ? 0.0 : u[beside[c][k]];
            v[c] = 0.25 * s;
        }
        for (int c = 0; c < N * N; c++)
            u[c] = v[c];
    }
    printf("%g\\n", u[N * N / 2]);
}
"""


def test_loop_counters_in_a_small_array_are_private_to_each_iteration() -> None:
    """Two borders of N points, both sides, per step; not the places that tables of neighbours are made of."""
    found = analyse_text(NEIGHBOURS, nodes=4, decompose="v[24x24]=block:2x2").decomposition(4)
    assert found.comm_bytes == found.communication.high_bytes == 10 * 2 * 2 * 24 * WORD


def test_a_table_that_every_row_makes_again_is_not_sent() -> None:
    for regions in ((), ("main",)):
        found = analyse_text(TRANSFORM, 0.1, nodes=4, regions=regions).decomposition(4)
        assert found.comm_bytes <= 3 * WORD and found.imbalance == pytest.approx(1, abs=0.02)  # h


def test_the_kernel_of_a_filter_is_made_for_every_line() -> None:
    found = analyse_text(FILTER, 1.5, nodes=8).decompositions
    moved = next(d for d in found if d.method == "blocks 2x4")
    crossing = 2 * 32 * 2 * (3 + 1) * WORD  # both directions: lines, both ways, cuts
    kernel = 2 * 7 * (3 + 1) * WORD  # once, in either direction, with its sum
    assert crossing <= moved.comm_bytes <= crossing + kernel


def test_what_differs_each_time_is_sent_each_time() -> None:
    rule = "out[8x64]=block:1x4"
    found = analyse_text(CASES, 0.5, 1.5, nodes=4, decompose=rule)
    assert "w" in {item.name for item in found.graph.objects}
    (asked,) = (d for d in found.decompositions if d.method == rule)
    assert 8 * 3 * WORD <= asked.comm_bytes <= (8 * 3 + 2) * WORD  # w, and its sources


def test_steps_in_time_that_begin_anew_are_sent() -> None:
    found = analyse_text(RESTARTS, 0.05, nodes=4, shared=["u"])  # else each case has a u of its own
    assert found.decomposition(4).comm_bytes == (8 * 10 * 3 + 3) * WORD  # cases, steps, cuts; the sum


def test_a_loop_that_is_only_repeated_sends_what_it_makes() -> None:
    found = analyse_text(REPEATS, 0.5, nodes=4).decomposition(4)
    assert found.comm_bytes == (3 * 48 + 10 * 4 + 3) * WORD  # x, once; y, each time; the sum
    assert found.imbalance < 1.03


def test_a_table_that_is_made_again_as_often_as_its_readers_is_an_array() -> None:
    alike = ["u=cyclic:1", "c=cyclic:1"]  # c may follow u, one to the left: then nothing is sent
    found = analyse_text(COEFFICIENTS, nodes=4, decompose=alike)
    sent = {d.method: d.comm_bytes for d in found.decompositions}
    assert (sent[", ".join(alike)], sent["slabs 4 of u, others follow"]) == (63 * 10 * WORD, 0)


TRANSPOSES = """
#include <stdio.h>
#define N 32
double a[N][N], b[N][N];
int main(void) {
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) a[i][j] = (7 * i + j) % 17;
  for (int step = 0; step < 2; step++) {
    for (int i = 0; i < N; i++)
      for (int j = 1; j < N; j++) a[i][j] += 0.5 * a[i][j - 1];
    for (int i = 0; i < N; i++)
      for (int j = 0; j < N; j++) b[i][j] = a[j][i];
    for (int i = 0; i < N; i++)
      for (int j = 1; j < N; j++) b[i][j] += 0.5 * b[i][j - 1];
    for (int i = 0; i < N; i++)
      for (int j = 0; j < N; j++) a[i][j] = b[j][i];
  }
  double sum = 0;
  for (int i = 0; i < N * N; i++) sum += a[0][i];
  printf("%g\\n", sum);
}
"""


def test_the_transpose_of_an_array_follows_it() -> None:
    """Rows of one array, columns of the other: sums along the lines of the latter cross each cut."""
    found = analyse_text(TRANSPOSES, nodes=4).decomposition(4)
    assert found.grid and found.comm_bytes == found.communication.high_bytes == (2 * 32 * 3 + 3) * WORD
    assert found.imbalance < 1.03


NEAREST = """
#define N 200
float pts[N][2], density[N];
int main(void) {
    for (int i = 0; i < N; i++) {
        pts[i][0] = i * 37 % N;
        pts[i][1] = i * 11 % N;
    }
    for (int i = 0; i < N; i++) {
        float best[4] = {1e30f, 1e30f, 1e30f, 1e30f}, sum = 0;
        for (int j = 0; j < N; j++) {
            float x = pts[i][0] - pts[j][0], y = pts[i][1] - pts[j][1], d = x * x + y * y + (i == j) * 1e9f;
            for (int k = 0; k < 4; k++)
                if (d < best[k]) {
                    float t = best[k];
                    best[k] = d;
                    d = t;
                }
        }
        for (int k = 0; k < 4; k++) sum += best[k];
        density[i] = 4 / sum;
    }
    float total = 0;
    for (int i = 0; i < N; i++) total += density[i];
    printf("%g\\n", total);
}
"""


def test_what_is_found_among_all_points_is_found_where_its_result_is() -> None:
    """Each part needs the points of the others, two floats each; then partial sums meet."""
    results = analyse_text(NEAREST, nodes=(2, 4))
    for nodes in (2, 4):
        found = results.decomposition(nodes)
        assert found.comm_bytes == (nodes - 1) * (2 * 200 + 1) * 4
        assert found.imbalance < 1.03
