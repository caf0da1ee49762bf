"""Registers that hold several values: every scalar inside has its own sources, derived by hand."""

import subprocess
from collections import Counter
from pathlib import Path

import pytest

from commanalyzer.program.frontend.toolchain import bundled_toolchain
from commanalyzer.recording.instrument import rewrite
from tests.graphs import assert_same_graph
from tests.recorded import Recorded, record_file, record_source
from tests.reference.flows import native_chains
from tests.unit.recording.instrument.test_recorded_chains import CONTROL, DATA, sources_of

HEADER = """
#include <complex.h>
#include <stdio.h>
#define NOINLINE __attribute__((noinline))
"""


def check(recorded: Recorded, expected: dict[str, set[str]]) -> None:
    """Same output, and the data sources of every named sink."""
    assert recorded.traced.stdout == recorded.plain.stdout
    assert recorded.traced.exit_status == recorded.plain.exit_status
    found = {sink: sources_of(recorded.graph, sink) for sink in expected}
    assert found == {sink: [{(s, DATA) for s in sources}] for sink, sources in expected.items()}


PAIRS = """
struct pair { int a, b; };
struct mixed { int i; float f; };
struct quad { int a, b, c, d; };
struct pair p[2], q, r;
struct mixed m;
struct quad w, v;
int out[10];
float fout;
NOINLINE struct pair swapped(struct pair s) { return (struct pair){s.b, s.a}; }
NOINLINE struct pair same(struct pair s) { return s; }
NOINLINE struct pair make(int a, int b) { return (struct pair){a, b}; }
NOINLINE int second(struct pair s) { return s.b * 3; }
NOINLINE void keep(struct pair s, struct pair *to) { *to = s; }
NOINLINE struct quad rotated(struct quad s) { return (struct quad){s.b, s.c, s.d, s.a}; }
NOINLINE struct mixed mix(int i, float f) { return (struct mixed){i, f}; }
struct pair (*table[2])(struct pair) = {same, swapped};
NOINLINE void start(int n) {
    for (int i = 0; i < 2; i++) { p[i].a = n + i; p[i].b = n + i + 2; }
    w.a = n; w.b = n + 1; w.c = n + 2; w.d = n + 3;
    m.i = n; m.f = n;
}
int main(int argc, char **argv) {
    start(argc);
    q = swapped(p[0]); out[0] = q.a * 2; out[1] = q.b * 2;
    out[2] = second((struct pair){p[1].a, p[0].b});
    struct pair made = make(p[0].a, p[1].b); out[3] = made.a * 5; out[4] = made.b * 5;
    keep((struct pair){p[1].b, p[0].a}, &r); out[5] = r.a * 7; out[6] = r.b * 7;
    v = rotated(w); out[7] = v.d * 2;
    m = mix(w.c, m.f); fout = m.f * 2;
    q = table[argc](p[1]); out[8] = q.a * 2; out[9] = q.b * 2;
    printf("%d %d %d %d %g\\n", out[0], out[2], out[6], out[8], fout);
}
"""


def test_two_words_in_one_register_keep_their_sources_through_calls() -> None:
    out = ["@p+4", "@p+0", "@p+4", "@p+0", "@p+12", "@p+12", "@p+0", "@w+0", "@p+12", "@p+8"]
    expected = {f"@out+{4 * k}": {source} for k, source in enumerate(out)}
    check(record_source(HEADER + PAIRS), {**expected, "@fout+0": {"@m+4"}})


FLOATS = """
struct fpair { float x, y; };
struct wide { double x; int a, b; };
struct fpair f[2], g;
struct wide z, y;
double complex c[2], cr;
float complex h[2], hr;
float fout[4];
double out[6];
NOINLINE struct fpair fswap(struct fpair s) { return (struct fpair){s.y, s.x}; }
NOINLINE float second(struct fpair s) { return s.y * 2; }
NOINLINE struct wide widen(double x, int a, int b) { return (struct wide){x + 1, a, b}; }
NOINLINE double complex cross(double complex x, double complex y) { return CMPLX(creal(x), cimag(y)); }
NOINLINE float complex crossf2(float complex x, float complex y) { return CMPLXF(crealf(x), cimagf(y)); }
NOINLINE double complex times(double complex x, double complex y) { return x * y; }
NOINLINE void start(int n) {
    for (int i = 0; i < 2; i++) { f[i].x = i + n; f[i].y = i + n + 5; }
    for (int i = 0; i < 2; i++) { c[i] = CMPLX(n, i); h[i] = CMPLXF(n, i); }
    z.x = n; z.a = n; z.b = n;
}
int main(int argc, char **argv) {
    start(argc);
    g = fswap(f[0]); fout[0] = g.x * 2;
    fout[1] = second((struct fpair){f[0].x, f[1].y});
    y = widen(z.x, z.a, z.b); out[0] = y.b * 3; out[1] = y.x * 2;
    cr = cross(c[0], c[1]); out[2] = creal(cr) * 2; out[3] = cimag(cr) * 2;
    hr = crossf2(h[0], h[1]); fout[2] = crealf(hr) * 2; fout[3] = cimagf(hr) * 2;
    cr = times(c[0], c[1]); out[4] = creal(cr) + 1;
    printf("%g %g %g %g %g\\n", fout[0], fout[1], out[0], out[3], out[4]);
}
"""


def test_structures_and_complex_numbers_in_vector_registers_keep_their_sources() -> None:
    singles = {"@fout+0": {"@f+4"}, "@fout+4": {"@f+12"}, "@fout+8": {"@h+0"}, "@fout+12": {"@h+12"}}
    doubles = {"@out+0": {"@z+12"}, "@y+0": {"@z+0"}, "@out+16": {"@c+0"}, "@out+24": {"@c+24"}}
    check(record_source(HEADER + FLOATS), singles | doubles)


KERNELS = """
#include <stdio.h>
#define NOINLINE __attribute__((noinline))
enum { N = 16 };
double a[N], b[N], c[N], d[N], total, product, top;
float f[N], g[N];
int small[N], kept[N];
NOINLINE void start(int n) {
    for (int i = 0; i < N; i++) { a[i] = n + i; b[i] = 2 * i; f[i] = i; small[i] = i; }
}
NOINLINE void mul(double *restrict x, const double *restrict y, const double *restrict z, int n) {
    for (int i = 0; i < n; i++) x[i] = y[i] * z[i] + y[i];
}
NOINLINE void reverse(double *restrict x, const double *restrict y) {
    for (int i = 0; i < N; i++) x[i] = y[N - 1 - i] * 3;
}
NOINLINE void limit(float *restrict x, const float *restrict y) {
    for (int i = 0; i < N; i++) x[i] = y[i] > 4 ? y[i] * 2 : 1.0f;
}
NOINLINE void copy(int *restrict x, const int *restrict y) { for (int i = 0; i < N; i++) x[i] = y[i]; }
NOINLINE void widen(double *restrict x, const int *restrict y) {
    for (int i = 0; i < N; i++) x[i] = y[i] * 0.5;
}
int main(int argc, char **argv) {
    start(argc);
    mul(c, a, b, N);
    reverse(d, a);
    limit(g, f);
    copy(kept, small);
    widen(a, kept);
    double s = 0, p = 1, m = c[0];
    for (int i = 0; i < N; i++) s += c[i] * b[i];
    for (int i = 0; i < N; i++) p *= c[i] + 1;
    total = s; product = p;
    printf("%g %g %g %g %d %g\\n", c[5], d[2], g[7], total, kept[3], a[3]);
}
"""


def vectorised(text: str, folder: Path, *flags: str) -> Path:
    """IR of ``text`` as clang -O3 writes it: loops vectorised, unrolled and interleaved."""
    source, ir = folder / "vector.c", folder / "vector.ll"
    source.write_text(text)
    tools = bundled_toolchain()
    command = [*tools.cc, *tools.target_flags, "-O3", "-fno-sanitize=all", "-ffast-math", *flags]
    subprocess.run([*command, "-S", "-emit-llvm", str(source), "-o", str(ir)], check=True)
    return ir


@pytest.mark.parametrize("flags", [(), ("-fno-vectorize",), ("-fno-slp-vectorize", "-fno-unroll-loops")])
def test_vectorised_code_has_the_chains_of_the_scalar_loops(flags: tuple[str, ...], tmp_path: Path) -> None:
    scalar = record_source(KERNELS, flags=("-ffast-math",))
    vector = record_file(vectorised(KERNELS, tmp_path, *flags))
    assert vector.traced.stdout == vector.plain.stdout
    found, expected = (
        # what is printed is stored to variables that are numbered from the start of the module
        Counter({c: n for c, n in native_chains(r.graph).items() if "commanalyzer." not in str(c.sink)})
        for r in (vector, scalar)
    )
    assert found == expected


def test_the_vectorised_code_of_these_tests_has_vectors(tmp_path: Path) -> None:
    module = record_file(vectorised(KERNELS, tmp_path)).module
    lines = "\n".join(module.lines)
    for part in ("load <2 x double>", "store <2 x double>", "shufflevector", "select <4 x i1>"):
        assert part in lines


MASKED = Path(__file__).parents[3] / "ir" / "masked.ll"


def test_masked_accesses_gathers_and_scatters_follow_the_lanes_that_are_on() -> None:
    recorded = record_file(MASKED)
    assert recorded.traced.exit_status == recorded.plain.exit_status != 0
    found = {s: sources_of(recorded.graph, s) for s in ("@o+0", "@o+8", "@o+16", "@o+24")}
    # lanes 1 and 3 are on (m = 0, 1, 0, 2)
    assert found == {"@o+0": [], "@o+8": [{("@b+8", DATA)}], "@o+16": [], "@o+24": [{("@b+24", DATA)}]}
    assert sources_of(recorded.graph, "@z+0") == [{("@m+0", CONTROL)}]
    assert sources_of(recorded.graph, "@z+8") == [{("@b+8", DATA), ("@m+4", CONTROL)}]
    # i = 3, 2, 1, 0
    assert sources_of(recorded.graph, "@g+0") == [{("@a+24", DATA), ("@a+0", DATA)}]
    assert sources_of(recorded.graph, "@g+8") == [{("@a+16", DATA), ("@a+8", DATA)}]
    # the scatter copies a[3] to s[0] and a[1] to s[2]
    assert sources_of(recorded.graph, "@t+0") == [{(f"@a+{8 * k}", DATA) for k in range(4)}]
    assert sources_of(recorded.graph, "@s+0") == []


EXCHANGES = """
long a[4], t[2], out[2];
NOINLINE void start(int n) { for (int i = 0; i < 4; i++) a[i] = n + i; t[0] = n; t[1] = n; }
int main(int argc, char **argv) {
    start(argc);
    __atomic_exchange_n(&t[0], a[1], __ATOMIC_SEQ_CST);
    __atomic_exchange_n(&t[1], a[2] * 3, __ATOMIC_SEQ_CST);
    out[0] = t[0] * 2; out[1] = t[1] * 2;
    printf("%ld %ld\\n", out[0], out[1]);
}
"""


def test_an_atomic_exchange_is_a_store() -> None:
    recorded = record_source(HEADER + EXCHANGES)
    check(recorded, {"@out+0": {"@a+8"}, "@out+8": {"@t+8"}})  # the first was a copy of a[1]
    of_products = [s for s in sources_of(recorded.graph, "@t+8") if s]
    assert of_products == [{("@a+16", DATA)}]


def test_hooks_that_are_called_record_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "pairs.c"
    source.write_text(HEADER + PAIRS)
    usual = record_file(source)
    monkeypatch.setattr(rewrite, "MOST_INLINED", 0)
    other = record_file(source)
    assert other.traced.stdout == usual.traced.stdout
    assert_same_graph(other.graph, usual.graph)
