"""Regions by marks in the source are those by functions; without the tool, marks are nothing."""

import subprocess
import sys
from pathlib import Path

import pytest

import commanalyzer as ca
from commanalyzer.foundation.errors import ConfigError
from tests.e2e.analysed import analyse_text
from tests.e2e.command import succeed
from tests.native import ROOT
from tests.recorded import Recorded, record_source

HEAT = """
#include <stdio.h>
#include <commanalyzer.h>
#define N 16
double u[N][N], v[N][N], total;
static void sweep(double to[N][N], double from[N][N]) {
    for (int i = 1; i < N - 1; i++)
        for (int j = 1; j < N - 1; j++)
            to[i][j] = 0.25 * (from[i - 1][j] + from[i + 1][j] + from[i][j - 1] + from[i][j + 1]);
}
__attribute__((noinline)) void step(void) { sweep(v, u); sweep(u, v); }
int main(void) {
    for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) u[i][j] = i * j % 7;
    for (int t = 0; t < 5; t++) {
        total += 2.0 * u[3][t + 1];
        COMMANALYZER_BEGIN("time step");
        step();
        COMMANALYZER_END("time step");
        total += 3.0 * u[5][t + 1];
    }
    printf("%g %g\\n", u[5][5], total);
}
"""
FLOPS = 5 * 2 * 14 * 14 * 4


def summary(recorded: Recorded) -> tuple[object, ...]:
    """Everything that is counted about a region."""
    graph = recorded.graph
    rows = sorted(zip(graph.rows.row_count.tolist(), graph.rows.term_ptr[1:].tolist(), strict=True))
    return recorded.work, graph.num_vertices, len(graph.rows.source), int(graph.is_input.sum()), rows


def test_marks_around_a_call_are_the_region_of_the_function() -> None:
    by_function = record_source(HEAT, regions=("step",))
    by_marks = record_source(HEAT, regions=("time step",))
    assert by_marks.work.flops == FLOPS
    assert by_marks.traced.stdout == by_marks.plain.stdout
    assert summary(by_marks)[1:] == summary(by_function)[1:]
    assert by_marks.work.flops == by_function.work.flops
    assert by_marks.work.stores == by_function.work.stores


def test_same_bytes_by_function_and_by_marks() -> None:
    results = [analyse_text(HEAT, nodes=4, regions=[region], check=True) for region in ("step", "time step")]
    assert results[0].best(4).comm_bytes == results[1].best(4).comm_bytes > 0


SMOOTH = """
double *u, *w, *c;
__attribute__((noinline)) void smooth(int n) {
    for (int i = 1; i <= n; i++) w[i] = c[i - 1] * u[i - 1] + c[i] * u[i] + c[i + 1] * u[i + 1];
}
int main(int argc, char **argv) {
    int n = 1000, steps = atoi(argv[1]);
    u = calloc(n + 2, 8), w = calloc(n + 2, 8), c = calloc(n + 2, 8);
    for (int i = 0; i < n + 2; i++) u[i] = i % 7, c[i] = 0.3 + i % 3;
    for (int t = 0; t < steps; t++) {
        smooth(n);
        CHANGE
    }
    return w[n / 2] < 0.0;
}
"""


@pytest.mark.parametrize(
    ("change", "versions"),
    [
        ("", 1),
        ("for (int i = 1; i <= n; i++) u[i] = 0.5 * w[i] + t;", 6),
        ("for (int i = 1; i <= n; i++) u[i] = t;", 6),
        ("memset(u, 0, 8 * (n + 2));", 6),
        ("for (int k = 0; k < 3; k++) for (int i = 1; i <= n; i++) u[i] += 1.0;", 6),
        ("if (t % 2 == 0) for (int i = 1; i <= n; i++) u[i] = w[i] * t;", 4),
    ],
    ids=["never", "computed", "constant", "filled", "several times", "every second time"],
)
def test_values_that_change_between_calls_cross_again(change: str, versions: int) -> None:
    """Both borders of each of four blocks: the coefficients once, u once per version that a call sees."""
    for steps, seen in ((1, 1), (6, versions)):
        found = analyse_text(SMOOTH.replace("CHANGE", change), steps, nodes=4, regions=["smooth"])
        assert found.best(4).comm_bytes == 2 * 3 * 8 * (1 + seen)


STATIC_HALO = """
double u[256], v[256], k[256], g[256];
__attribute__((noinline)) void update(double *to, double *from, double a) {
    for (int i = 1; i < 255; i++) to[i] = a * from[i] + k[i - 1] * from[i] + k[i] + k[i + 1] * from[i];
}
__attribute__((noinline)) void prepare(int steps) {
    for (int i = 0; i < 256; i++) k[i] = 1 / (g[i] + 0.5 * g[i] * g[i]);
    for (int t = 0; t < steps; t++) update(v, u, 0.5), update(u, v, 0.25);
}
__attribute__((noinline)) void kernel(int steps) { prepare(steps); }
int main(int argc, char **argv) {
    for (int i = 0; i < 256; i++) u[i] = i % 9, g[i] = 1 + i % 4;
    SETUP;
    kernel(atoi(argv[1]));
    printf("%g\\n", u[5]);
}
"""


@pytest.mark.parametrize("setup", ["", "prepare(4)", "update(v, u, 0.5), update(u, v, 0.25)"])
@pytest.mark.parametrize("steps", [1, 6])
def test_what_the_region_makes_once_crosses_once(setup: str, steps: int) -> None:
    """Coefficients beside each border, whether or not the same was done before the region."""
    text = STATIC_HALO.replace("SETUP", setup)
    found = analyse_text(text, steps, nodes=4, regions=["kernel"])
    assert found.best(4).comm_bytes == found.best(4).communication.high_bytes == 3 * 2 * 8


@pytest.mark.parametrize("steps", [1, 6])
def test_forces_from_before_the_region_cross_as_often_as_positions_change(steps: int) -> None:
    """Velocity Verlet: the set-up computes the first forces by the same function."""
    text = """
double x[256], v[256], f[256];
__attribute__((noinline)) void force(void) {
    for (int i = 1; i < 255; i++) f[i] = x[i - 1] * x[i - 1] - 2 * x[i] + x[i + 1] * x[i + 1];
}
__attribute__((noinline)) void kernel(int steps) {
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < 255; i++) v[i] += 0.5 * f[i], x[i] += 0.1 * v[i];
        force();
        for (int i = 1; i < 255; i++) v[i] += 0.5 * f[i];
    }
}
int main(int argc, char **argv) {
    for (int i = 0; i < 256; i++) x[i] = i + 0.1 * (i % 3);
    force();
    kernel(atoi(argv[1]));
    printf("%g\\n", x[5]);
}
"""
    found = analyse_text(text, steps, nodes=4, regions=["kernel"], decompose="x=block")
    item = next(d for d in found.decompositions if "=" in d.method)
    assert item.comm_bytes == item.communication.high_bytes == 3 * 2 * 8 * steps


COPIED = """
double u[256][2], w[256][2], pair[2];
__attribute__((noinline)) void set(int i) { pair[0] = i % 7; pair[1] = i % 3; }
__attribute__((noinline)) void kernel(void) {
    for (int i = 1; i < 255; i++)
        for (int c = 0; c < 2; c++) w[i][c] = u[i - 1][c] * 0.3 + u[i + 1][1 - c] * u[i][c];
}
int main(int argc, char **argv) {
    for (int i = 0; i < 256; i++) { set(i); memcpy(u[i], pair, sizeof pair); }
    for (int t = 0; t < atoi(argv[1]); t++) { kernel(); memcpy(u, w, sizeof u); }
    printf("%g\\n", w[5][1]);
}
"""


def test_copies_are_inputs_of_the_region_where_it_finds_them_first() -> None:
    """Pairs beside each border in each step; between calls, a copy is of what the call before it made."""
    for steps, exact in ((1, False), (5, False), (5, True)):
        found = analyse_text(COPIED, steps, nodes=4, regions=["kernel"], exact=exact)
        assert found.best(4).comm_bytes == 3 * 2 * 2 * 8 * steps


SEGMENTS = """
#include <commanalyzer.h>
double x[4], out[4];
__attribute__((noinline)) double work(double a) { return a * 2.0; }
__attribute__((noinline)) void begin(void) { COMMANALYZER_BEGIN("part"); }
__attribute__((noinline)) void nested(int n) {
    COMMANALYZER_BEGIN("part");
    if (n) nested(n - 1);
    out[n] += x[n] * 0.5;
    COMMANALYZER_END("part");
}
int main(void) {
    for (int i = 0; i < 4; i++) x[i] = i;
    out[0] = work(x[0]) + 1.0;
    COMMANALYZER_BEGIN("other");
    out[1] = x[1] + 1.0;
    COMMANALYZER_END("other");
    begin();
    out[2] = x[2] * 3.0 + x[3];
    COMMANALYZER_END("part");
    out[3] = x[3] * 3.0;
    nested(2);
    out[3] = x[3] - 3.0;
    return 0;
}
"""


@pytest.mark.parametrize(
    ("regions", "flops", "stores"),
    [
        # a product and a sum, then two operations and one store in each of three nested calls
        (("part",), 2 + 3 * 2, 1 + 3),
        (("other",), 1, 1),
        (("other", "part"), 3 + 3 * 2, 2 + 3),
        (("nested", "part"), 2 + 3 * 2, 1 + 3),
        (("work",), 1, 0),
    ],
)
def test_only_what_lies_between_marks_is_counted(regions: tuple[str, ...], flops: int, stores: int) -> None:
    recorded = record_source(SEGMENTS, regions=regions)
    assert (recorded.work.flops, recorded.work.stores) == (flops, stores)


SCOPED = """
#include <commanalyzer.h>
#include <stdexcept>
double x = 2.0, y;
__attribute__((noinline)) void f(double a) {
    COMMANALYZER_SCOPE("scope");
    y = a * 3.0;
    if (a > 1.0) throw std::runtime_error("left");
    y = a * 4.0;
}
int main() {
    try { f(x); } catch (const std::runtime_error &) { y = y + 1.0; }
    f(0.5);
    y = y + 1.0;
    return 0;
}
"""


def test_scope_ends_when_an_exception_leaves_it() -> None:
    assert record_source(SCOPED, regions=("scope",), suffix=".cpp").work.flops == 1 + 2


def test_unknown_name_lists_functions_and_marks() -> None:
    known = "functions: begin, main, nested, work; marks: part, other"
    with pytest.raises(ConfigError, match=f"'nothing'.*{known}"):
        record_source(SEGMENTS.replace("void begin", "static void begin"), regions=("nothing",))


def compiled(source: Path, folder: Path, *flags: str) -> bytes:
    driver = "c++" if source.suffix == ".cpp" else "cc"
    command = [sys.executable, "-m", "ziglang", driver, "-O2", "-g0", "-c", *flags, str(source)]
    output = folder / f"{source.stem}.o"
    subprocess.run([*command, "-o", str(output)], check=True, capture_output=True)
    return output.read_bytes()


@pytest.mark.parametrize(("text", "suffix"), [(HEAT, ".c"), (SCOPED, ".cpp")])
def test_without_the_tool_marks_compile_to_nothing(text: str, suffix: str, tmp_path: Path) -> None:
    source = tmp_path / f"program{suffix}"
    source.write_text(text)
    include = ROOT / "runtime_shim" / "include"
    marked = compiled(source, tmp_path, f"-I{include}")
    lines = [line for line in text.splitlines() if "commanalyzer.h" not in line]
    source.write_text("\n".join("" if "COMMANALYZER_" in line else line for line in lines))
    assert compiled(source, tmp_path) == marked


def test_marks_are_seen_in_an_executable_too(tmp_path: Path) -> None:
    (tmp_path / "heat.c").write_text(HEAT)
    succeed(tmp_path, "cc", "-O2", "heat.c", "-o", "heat")
    of_executable, of_source = (
        ca.analyze(tmp_path / name, nodes=[4], regions=["time step"], program_output="discard")
        for name in ("heat", "heat.c")
    )
    assert of_executable.work.flops == FLOPS
    assert of_executable.best(4).comm_bytes == of_source.best(4).comm_bytes > 0
