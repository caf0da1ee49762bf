"""Scratch memory of every kind against theory: what is computed there belongs to the element it is for.

Each of R rows of A is multiplied by C (m x m). Divided by rows, every part but one gets C once: 8 m^2 (p - 1)
bytes, however the row that is being made is kept, and however it gets into A. As one value per word of the
scratch row, all results would live at m places: everything is sent, and nothing is balanced.
"""

from functools import partial
from pathlib import Path

import numpy as np
import pytest

import commanalyzer as ca
from commanalyzer.foundation.progress import SilentProgress
from commanalyzer.recording.record import record
from commanalyzer.request import AnalysisRequest
from tests.e2e.analysed import analyse_text

PROGRAMS = Path(__file__).parent / "scratch"
M, PARTS = 8, 4
PLAIN = 8 * M * M * (PARTS - 1)

_FRAME = """
#define R %(rows)d
#define M 8
#define STEPS %(steps)d
static double A[R][M], C[M][M];
%(declared)s
__attribute__((noinline)) static void product(double *to, const double *from) {
  for (int p = 0; p < M; p++) {
    to[p] = 0;
    for (int s = 0; s < M; s++) to[p] += from[s] * C[s][p];
  }
}
__attribute__((noinline)) void kernel(void) {
  %(before)s
  for (int t = 0; t < STEPS; t++) {
    %(phase)s
    for (int r = 0; r < R; r++) { %(element)s }
  }
}
int main(void) {
  %(initial)s
  for (int i = 0; i < M; i++) for (int j = 0; j < M; j++) C[i][j] = 0.125 * (i * j %% 5);
  kernel();
  double total = 0;
  for (int r = 0; r < R; r++) for (int k = 0; k < M; k++) total += A[r][k];
  return total == 0.5;
}
"""
_INITIAL = "for (int r = 0; r < R; r++) for (int k = 0; k < M; k++) A[r][k] = (r * k) % 7;"
_BACK = "for (int k = 0; k < M; k++) A[r][k] = line[k];"
_MADE = "product(line, A[r]); "
_LINE = "static double line[M];"
_TWICE = """
  for (int k = 1; k < M; k++) line[k] = A[r][k] + A[r][k - 1];
  for (int k = 1; k < M; k++) A[r][k] = line[k];
"""
_IN_PLACE = """
  memcpy(line, A[r], sizeof line);
  for (int k = 1; k < M; k++) line[k] = line[k] + 0.5 * line[k - 1] * C[k][k];
  for (int k = M - 2; k >= 0; k--) line[k] = line[k] + 0.25 * line[k + 1] * C[k][k + 1];
"""
_ONE = """
  double now[M];
  for (int k = 0; k < M; k++) now[k] = 1.5 * A[r][k];
  for (int k = 0; k < M; k++) { make(&one, now, k); A[r][k] = one; }
"""
_ONE_MADE = """
static double one;
__attribute__((noinline)) static void make(double *to, const double *from, int p) {
  *to = 0;
  for (int s = 0; s < M; s++) *to += from[s] * C[s][p];
}
"""

KINDS = {
    "static": (_LINE, "", _MADE + _BACK),
    "global": ("double line[M];", "", _MADE + _BACK),
    "heap": ("", "double *line = malloc(M * sizeof *line);", _MADE + _BACK),
    "stack": ("", "", "double line[M]; " + _MADE + _BACK),
    "member": ("static struct { int n; double row[M]; } at;", "double *line = at.row;", _MADE + _BACK),
    "memcpy": (_LINE, "", _MADE + "memcpy(A[r], line, sizeof line);"),
    "structure": (
        "struct row { double value[M]; }; static struct row kept;",
        "",
        "product(kept.value, A[r]); *(struct row *)A[r] = kept;",
    ),
    "scaled": (_LINE, "", _MADE + "for (int k = 0; k < M; k++) A[r][k] = 1.01 * line[k];"),
    "table": (
        "static double line[M]; static const double tables[2][M] = {{1, 2, 3}, {4, 5, [7] = 6}};",
        "const double *w = tables[A[1][1] > 9];",
        "for (int k = 0; k < M; k++) line[k] = w[k] * w[1];"
        "for (int k = 0; k < M; k++) line[k] = line[k] * w[k] + 0.5 * A[r][k]; product(A[r], line);",
    ),
    "one scalar": (_ONE_MADE, "", _ONE),
    "two phases": (_LINE, "", _MADE + _BACK + _TWICE),
    "swapped": (
        "",
        "double *line = malloc(8 * M), *next = malloc(8 * M);",
        _MADE + _BACK + "double *held = line; line = next; next = held;",
    ),
    "in place": (_LINE, "", _IN_PLACE + _BACK),
}


def analysed(
    kind: tuple[str, str, str], *, steps: int = 1, rows: int = 120, phase: str = "", initial: str = _INITIAL
) -> ca.AnalysisResult:
    parts = dict(zip(("declared", "before", "element"), kind, strict=True))
    sizes = {"rows": rows, "steps": steps}
    text = _FRAME % (parts | sizes | {"phase": phase, "initial": initial})
    return analyse_text(text, nodes=PARTS, regions=["kernel"], check=True)


def is_plain(result: ca.AnalysisResult, expected: int = PLAIN) -> None:
    """No more than the plain division sends, in equal parts, and no doubt about it."""
    best = result.best(PARTS)
    assert best.comm_bytes <= expected
    assert best.imbalance <= 1.05
    assert best.communication.low_bytes == best.communication.high_bytes


@pytest.mark.parametrize("steps", [1, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_scratch_of_every_kind_costs_the_matrix_only(kind: str, steps: int) -> None:
    is_plain(analysed(KINDS[kind], steps=steps))


def test_values_that_were_first_made_in_the_scratch() -> None:
    """All values that anybody reads are known by the name of the scratch, from the first one on."""
    initial = """
      for (int r = 0; r < R; r++) {
        for (int k = 0; k < M; k++) line[k] = (r * k) % 7;
        for (int k = 0; k < M; k++) A[r][k] = line[k];
      }
    """
    is_plain(analysed(KINDS["static"], steps=3, initial=initial))


def test_few_elements_beside_arrays_that_are_rewritten_often() -> None:
    often = """
      if (t == 0)
        for (int round = 0; round < 100; round++)
          for (int r = 0; r < R; r++) for (int k = 0; k < M; k++) A[r][k] = 0.5 * A[r][k] + C[k][k];
    """
    is_plain(analysed(KINDS["static"], rows=8, phase=often))


def test_with_few_elements_both_readings_are_in_the_bracket() -> None:
    """Six rows may be stages of one array: what that would move is in the bracket, and said."""
    result = analysed(KINDS["static"], rows=6)
    best = result.best(PARTS)
    assert best.comm_bytes <= PLAIN
    assert best.imbalance <= 1.05
    assert best.communication.high_bytes > best.communication.low_bytes
    assert result.recording.doubt != 1
    assert any("in doubt" in text for text in result.warnings)


def test_a_vector_that_is_a_member_of_an_object() -> None:
    is_plain(
        analyse_text((PROGRAMS / "vector.cpp").read_text(), suffix=".cpp", nodes=PARTS, regions=["kernel"])
    )


@pytest.mark.parametrize(
    ("name", "expected"),
    [("neighbours.c", 2 * 8 * 10), ("list.cpp", 2 * 32 * 3 * 8 * 4), ("life.c", 2 * 2 * 4 * 8 * 10)],
)
def test_what_is_made_again_for_each_neighbour_is_made_where_it_is_read(name: str, expected: int) -> None:
    """Not the scratch of a cell is sent, which the program makes whenever it is needed, but the cell."""
    source = PROGRAMS / name
    best = analyse_text(source.read_text(), suffix=source.suffix, nodes=2, regions=["run"]).best(2)
    assert best.communication.low_bytes == best.communication.high_bytes == expected


def test_what_is_made_for_a_neighbour_is_sent_instead_of_what_it_is_made_of() -> None:
    text = """double a[240], b[240], c[240]; int main(int n, char **words) {
      for (int i = 0; i < 240; i++) a[i] = n * i % 7, b[i] = n * i % 5;
      for (int t = 0; t < 10; t++) {
        for (int i = 0; i < 240; i++) c[(i + 1) % 240] = a[i] * b[i] + a[i] / (b[i] + 2);
        for (int i = 0; i < 240; i++) a[i] = c[i] * 0.5, b[i] = c[i] * c[i] - 1;
      }
      double s = 0; for (int i = 0; i < 240; i++) s += a[i];
      printf("%g\\n", s); }"""
    for exact in (False, True):
        rules = [f"{name}=block" for name in "abc"]
        result = analyse_text(text, nodes=PARTS, decompose=rules, exact=exact)
        (given,) = (d for d in result.decompositions if "=" in d.method)
        # a number at each border of the ring, and partial sums; each part makes as many as the others
        assert given.comm_bytes == 8 * (10 * PARTS + PARTS - 1)
        assert given.imbalance < 1.01


@pytest.mark.parametrize(("kind", "words"), [(0, 20), (1, 4), (2, 0), (3, 0)])
def test_sums_of_constants_may_be_divided(kind: int, words: int) -> None:
    """Nodes that divide the iterations send p - 1 words per sum; sums of registers in turn share none."""
    text = f"#define KIND {kind}\n{(PROGRAMS / 'constants.c').read_text()}"
    result = analyse_text(text, nodes=PARTS, regions=["run"])
    sent = result.best(PARTS).communication
    assert sent.high_bytes - sent.low_bytes == 8 * words * (PARTS - 1)
    assert any("made of constants" in text for text in result.warnings) == bool(words)


_PREAMBLE = {  # a number of constants in a register, 12 kFlop at least, before sweeps over 64 points
    "sum": "for (int k = 0; k < 4000; k++) { double y = (k + 0.5) / 4000; x += 4.0 / (1.0 + y * y) / 4000; }",
    "draws": "unsigned s = 1; for (int k = 0; k < 4000; k++) { s = s * 1103515245u + 12345u;"
    " double y = s / 4294967296.0; if (y * y < 0.5) x += y; }",
    "least": "x = 9; for (int k = 0; k < 4000; k++) { double y = (k + 0.5) / 4000, f = 1 / (2 + y * y * y);"
    " if (f < x) x = f; }",
    "newton": "x = 1; for (int k = 0; k < 4000; k++) x = 0.5 * (x + 2.0 / x);",
    "chaos": "unsigned s = 1; for (int k = 0; k < 4000; k++) { s ^= s << 13; s ^= s >> 17; s ^= s << 5;"
    " double y = s / 4294967296.0; x += y * y * y; }",
    "few": "for (int k = 0; k < 2; k++) x += sqrt(k);",
}
_SWEEPS = """
    static double u[64], v[64];
    for (int i = 0; i < 64; i++) u[i] = i;
    for (int t = 0; t < 64; t++) {
        for (int i = 1; i < 63; i++) v[i] = x * (u[i - 1] + u[i + 1]);
        for (int i = 1; i < 63; i++) u[i] = v[i];
    }
"""


@pytest.mark.parametrize(
    ("kind", "partial_sums", "is_sent", "is_even"),
    [
        ("sum", 1, 1, True),
        ("draws", 1, 1, True),
        ("least", 1, 1, True),
        ("newton", 0, 1, False),
        ("chaos", 0, 1, False),
        ("few", 0, 0, True),
    ],
)
def test_a_number_made_of_constants_is_somebodys_work(
    kind: str, partial_sums: int, is_sent: int, is_even: bool
) -> None:
    """All nodes add up equal shares of a sum, and get it; a chain is made on one node; little work by all."""
    text = f'int main(void) {{ double x = 0; {_PREAMBLE[kind]} {_SWEEPS} printf("%g", x + u[9]); }}'
    result = analyse_text(text, nodes=PARTS, decompose="v=block", exact=kind == "sum")
    best = next(d for d in result.decompositions if d.method.startswith("v=block"))
    sweeps = 64 * 2 * (PARTS - 1)  # two words per border and step
    assert best.comm_bytes == 8 * (sweeps + (partial_sums + is_sent) * (PARTS - 1))
    assert best.communication.low_bytes == best.communication.high_bytes == best.comm_bytes
    assert (best.imbalance < 1.05) == is_even


@pytest.mark.parametrize(
    ("kind", "words"), [("sum", 1), ("draws", 1), ("least", 1), ("newton", 0), ("chaos", 0)]
)
def test_a_number_made_of_constants_may_be_all_there_is(kind: str, words: int) -> None:
    text = f'int main(void) {{ double x = 0; {_PREAMBLE[kind]} printf("%g", x); }}'
    best = analyse_text(text, nodes=PARTS, exact=True).best(PARTS)
    assert best.comm_bytes == 8 * words * (PARTS - 1)
    assert best.imbalance == pytest.approx(1.0 if words else PARTS, rel=1e-3)


def test_sums_that_go_on_with_constants_in_memory_are_scratch_of_their_element() -> None:
    """Forces between all bodies: in each step, every node sends its bodies to all others."""
    bodies, steps = 32, 4
    result = analyse_text(
        f"""enum {{ N = {bodies} }}; static double x[3 * N], v[3 * N];
        int main(void) {{
          for (int i = 0; i < 3 * N; i++) x[i] = 1.0 / (1 + i % 17) + 1e-3 * i;
          for (int t = 0; t < {steps}; t++) {{
            for (int i = 0; i < N; i++) {{
              double f[3] = {{0, 0, 0}};
              for (int j = 0; j < N; j++) {{
                double a = x[3 * j] - x[3 * i], b = x[3 * j + 1] - x[3 * i + 1];
                double c = x[3 * j + 2] - x[3 * i + 2];
                double r = 1 / (a * a + b * b + c * c + 0.01);
                f[0] += r * a; f[1] += r * b; f[2] += r * c;
              }}
              for (int k = 0; k < 3; k++) v[3 * i + k] += 1e-3 * f[k];
            }}
            for (int i = 0; i < 3 * N; i++) x[i] += 1e-3 * v[i];
          }}
          printf("%g", x[7]);
        }}""",
        nodes=PARTS,
    )
    best = result.best(PARTS)
    assert best.comm_bytes == 8 * 3 * bodies * (PARTS - 1) * steps
    assert best.imbalance < 1.03


@pytest.mark.parametrize("elements", [64, 1], ids=["each element", "one element"])
def test_iterations_on_a_number_are_work_of_what_they_make(elements: int) -> None:
    """Newton's iteration from one value has none of its own; where one element has it all, that is said."""
    result = analyse_text(
        f"""static double u[64], v[64];
        int main(void) {{
          for (int i = 0; i < 64; i++) u[i] = i + 1;
          for (int t = 0; t < 4; t++) {{
            for (int i = 0; i < {elements}; i++) {{
              double s = u[i];
              for (int k = 0; k < 300; k++) s = 0.5 * (s + u[i] / s);
              v[i] = s;
            }}
            for (int i = {elements}; i < 64; i++) v[i] = 2 * u[i];
            for (int i = 1; i < 64; i++) u[i] = v[i] + 0.1 * v[i - 1];
          }}
          printf("%g", u[7]);
        }}""",
        nodes=PARTS,
    )
    assert result.graph.work_flops.sum() == result.work.flops
    assert (result.best(PARTS).imbalance < 1.05) == (elements == 64)
    assert any("times the mean work" in text for text in result.warnings) == (elements == 1)


@pytest.mark.parametrize(
    ("condition", "is_said"), [("k < 9", False), ("fabs(d) > 1e-9", True), ("k < 50 && d * d > 1e-9", True)]
)
def test_work_of_loops_that_end_by_what_they_compute_is_said(condition: str, is_said: bool) -> None:
    text = f"""static double a[64], r[64];
    int main(void) {{
      for (int i = 0; i < 64; i++) a[i] = i * i + 1;
      for (int i = 0; i < 64; i++) {{
        double x = 1, d = 1;
        for (int k = 0; {condition}; k++) {{ d = 0.5 * (a[i] / x - x); x += d; }}
        r[i] = x;
      }}
      printf("%g", r[7]);
    }}"""
    warnings = analyse_text(text, nodes=PARTS).warnings
    assert any("need as many iterations" in warning for warning in warnings) == is_said


@pytest.mark.parametrize("levels", [2, 3])
def test_levels_in_time_of_one_array_are_sent_one_after_the_other(levels: int) -> None:
    """One message per border and step, as of buffers that are swapped, the first level included."""
    steps = 12
    result = analyse_text(
        f"static double u[{levels}][64]; int main(void) {{ for (int i = 0; i < 64; i++) u[0][i] = i * i;"
        f"for (int t = 0; t < {steps}; t++) for (int i = 1; i < 63; i++) u[(t + 1) % {levels}][i] ="
        f"u[t % {levels}][i - 1] + u[t % {levels}][i] / 2 + u[t % {levels}][i + 1];"
        f'printf("%g", u[{steps % levels}][9]); }}',
        nodes=PARTS,
    )
    slabs = next(d for d in result.decompositions if d.method == f"blocks 1x{PARTS}").communication
    borders = 2 * (PARTS - 1)
    assert (slabs.total_messages, slabs.total_bytes) == (steps * borders, 8 * steps * borders)


_ARRAYS = """
#define N 64
#define STEPS 40
static double a[N], b[N], saved[STEPS][N];
__attribute__((noinline)) void kernel(void) {
  for (int t = 0; t < STEPS; t++) {
    for (int i = 1; i < N - 1; i++) b[i] = 0.5 * (a[i - 1] + a[i + 1]);
    for (int i = 1; i < N - 1; i++) a[i] = b[i];
    SAVED
  }
}
int main(void) {
  for (int i = 0; i < N; i++) a[i] = i % 7;
  kernel();
  double total = 0;
  for (int i = 0; i < N; i++) total += a[i] + saved[STEPS / 2][i];
  return total == 0.5;
}
"""
_SAVED = "for (int i = 0; i < N; i++) saved[t][i] = a[i];"


@pytest.mark.parametrize("also", ["", _SAVED])
def test_an_array_that_is_rewritten_in_every_step_stays_one(also: str) -> None:
    """Three-point stencil with a copy back: two words per cut and step, however many steps are saved."""
    result = analyse_text(_ARRAYS.replace("SAVED", also), nodes=PARTS, regions=["kernel"])
    assert not result.graph.is_temporary.any()
    best = result.best(PARTS)
    assert best.comm_bytes == pytest.approx(8 * 2 * 40 * (PARTS - 1), rel=0.05)
    assert best.imbalance <= 1.05


_RING = """
enum { N = 64 };
double u[N], left[N], right[N];
__attribute__((noinline)) void turn(void) {
  for (int step = 0; step < 3; step++) {
    memcpy(left, u + 1, sizeof u - sizeof *u);
    memcpy(left + N - 1, u, sizeof *u);
    memcpy(right + 1, u, sizeof u - sizeof *u);
    memcpy(right, u + N - 1, sizeof *u);
    for (int i = 0; i < N; i++) u[i] = 0.5 * (left[i] + right[i]);
  }
}
int main(void) {
  for (int i = 0; i < N; i++) u[i] = 7 * i % 31;
  turn();
  return u[3] > 1000;
}
"""


def test_what_the_user_divides_is_an_array() -> None:
    """Values that are copied to two places are those of an array."""
    result = analyse_text(_RING, nodes=PARTS, regions=["turn"], decompose="u=block:4")
    found = next(d for d in result.decompositions if "u=block:4" in d.method).communication
    assert found.low_bytes == found.high_bytes == 3 * PARTS * 2 * 8


def test_an_array_that_is_copied_twice_per_step_moves_what_its_program_must() -> None:
    """A ring of four blocks sends one value each way across each cut in every step; fewer is no answer."""
    analyze = partial(analyse_text, _RING, nodes=PARTS, regions=["turn"])
    result, plain = analyze(), 3 * PARTS * 2 * 8
    best = result.best(PARTS)
    assert best.communication.low_bytes == best.communication.high_bytes == plain
    for shared, result in enumerate((analyze(private=["u"]), analyze(shared=["u"]))):
        sent = result.best(PARTS).communication
        assert (sent.low_bytes == plain) == bool(shared) and sent.low_bytes == sent.high_bytes
        assert not any("in doubt" in text for text in result.warnings)
    with pytest.raises(ca.CommAnalyzerError, match="name of an array, found 'w'"):
        analyze(shared=["w"])


def test_values_that_are_copied_out_of_a_workspace_keep_their_width(tmp_path: Path) -> None:
    """Nothing but copies ever stores to these arrays: values of 8 bytes in two words."""
    source = tmp_path / "ring.c"
    source.write_text(f"#include <string.h>\n{_RING}")
    request = AnalysisRequest(
        (source,), nodes=(PARTS,), regions=("turn",), program_output="discard", private=("u",)
    )
    graph = record(request, SilentProgress()).store.graph()
    arrays = [number for number, o in enumerate(graph.objects) if o.name in ("left", "right")]
    copied = graph.width_bytes[np.isin(graph.home_object, arrays)]
    assert len(copied) == 2 * 64
    assert set(copied) == {8}
