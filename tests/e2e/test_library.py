"""Values on their way through library code: the exact chains of one small program per family."""

from __future__ import annotations

from pathlib import Path

import pytest

import commanalyzer as ca
from commanalyzer.interpreter.run import interpret
from commanalyzer.ir.library_files import library_with
from commanalyzer.vcg.graph import SourceRole
from tests.recorded import Recorded, record_source
from tests.reference.flows import describe_difference, native_chains, oracle_chains

HEADER = """
#include <math.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#define NOINLINE __attribute__((noinline))
double in[6], out[6];
static void start(void) { for (int i = 0; i < 6; i++) in[i] = i * 5 % 6 + 0.5; }
static int compare(const void *x, const void *y) {
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}
"""
SORTED = (0, 5, 4, 3, 2, 1)  # in[SORTED[k]] is the k-th smallest


def record(text: str, *, suffix: str = ".c", is_interpreted: bool = True) -> Recorded:
    """Record a program and hold it against the plain run and the interpreter."""
    recorded = record_source(text if suffix != ".c" else HEADER + text, suffix=suffix)
    assert recorded.traced.stdout == recorded.plain.stdout
    assert recorded.traced.exit_status == recorded.plain.exit_status
    assert recorded.plan.sites.externals == []
    if is_interpreted:
        oracle = interpret(recorded.module)
        assert oracle.stdout == recorded.plain.stdout
        native, expected = native_chains(recorded.graph), oracle_chains(oracle.chains, recorded.graph)
        assert native == expected, describe_difference(native, expected)
    return recorded


def sources(recorded: Recorded, sink: str) -> list[set[str]]:
    """Sources of every distinct chain into ``sink``, all of them data."""
    chains = [chain for chain in native_chains(recorded.graph) if str(chain.sink) == sink]
    assert {role for chain in chains for _, role in chain.sources} <= {SourceRole.DATA}
    return [{str(home) for home, _ in chain.sources} for chain in chains]


def into_out(recorded: Recorded) -> list[set[str]]:
    """Sources of ``out[0]``, ``out[1]``, ...; one chain each."""
    result = []
    for index in range(6):
        found = sources(recorded, f"@out+{8 * index}")
        assert len(found) <= 1, found
        result += found
    return result


def into_all(recorded: Recorded) -> dict[str, set[str]]:
    """Sources per sink, of sinks with one chain; roles left out."""
    return {str(c.sink): {str(h) for h, _ in c.sources} for c in native_chains(recorded.graph)}


def element(*indices: int) -> set[str]:
    """Names of elements of ``in``."""
    return {f"@in+{8 * index}" for index in indices}


# ---- callbacks ---------------------------------------------------------------------------------------------


def test_qsort_moves_values_and_its_comparison_reads_nothing() -> None:
    recorded = record("""
int main(void) {
    start();
    qsort(in, 6, sizeof *in, compare);
    for (int i = 0; i < 6; i++) out[i] = in[i] * 2;
    printf("%g %g\\n", out[0], out[5]);
}
""")
    assert into_out(recorded) == [element(k) for k in SORTED]
    # six inputs, six results, nothing else: no version was made by sorting, no register by comparing
    assert recorded.graph.num_vertices == 12
    assert recorded.graph.versions.tolist() == [1] * 12


def test_qsort_of_structures_moves_all_their_fields() -> None:
    recorded = record("""
struct item { int key; float weight; double value; } items[4];
static int by_key(const void *x, const void *y) {
    return ((const struct item *)x)->key - ((const struct item *)y)->key;
}
int main(void) {
    for (int i = 0; i < 4; i++) { items[i].key = 3 - i; items[i].weight = i; items[i].value = i + 0.5; }
    qsort(items, 4, sizeof *items, by_key);
    for (int i = 0; i < 4; i++) out[i] = items[i].weight * items[i].value;
    printf("%g %g\\n", out[0], out[3]);
}
""")
    assert into_out(recorded) == [{f"@items+{16 * k + 4}", f"@items+{16 * k + 8}"} for k in (3, 2, 1, 0)]


def test_equal_elements_keep_the_order_of_the_plain_program() -> None:
    recorded = record(
        """
struct item { int key, number; } items[64];
static int by_key(const void *x, const void *y) {
    return ((const struct item *)x)->key - ((const struct item *)y)->key;
}
int main(void) {
    for (int i = 0; i < 64; i++) { items[i].key = i * 7 % 4; items[i].number = i; }
    qsort(items, 64, sizeof *items, by_key);
    for (int i = 0; i < 64; i++) printf("%d ", items[i].number);
    for (int i = 0; i < 6; i++) out[i] = items[i].number * 0.5;
}
""",
        is_interpreted=False,  # the C library decides over the order of equal elements
    )
    order = [int(text) for text in recorded.plain.stdout.split()]
    assert into_out(recorded) == [{f"@items+{8 * k + 4}"} for k in order[:6]]


def test_sort_inside_a_comparison() -> None:
    recorded = record("""
static int nested(const void *x, const void *y) {
    double two[2] = {*(const double *)x, *(const double *)y};
    qsort(two, 2, sizeof *two, compare);
    return two[0] == *(const double *)x ? -(two[0] != two[1]) : 1;
}
int main(void) {
    start();
    qsort(in, 6, sizeof *in, nested);
    for (int i = 0; i < 6; i++) out[i] = in[i] * 2;
    printf("%g %g\\n", out[0], out[5]);
}
""")
    assert into_out(recorded) == [element(k) for k in SORTED]


def test_qsort_r_passes_its_context() -> None:
    recorded = record("""
extern void qsort_r(void *, size_t, size_t, int (*)(const void *, const void *, void *), void *);
static int directed(const void *x, const void *y, void *sign) { return *(int *)sign * compare(x, y); }
int main(void) {
    int sign = -1;
    start();
    qsort_r(in, 6, sizeof *in, directed, &sign);
    for (int i = 0; i < 6; i++) out[i] = in[i] * 2;
    printf("%g %g\\n", out[0], out[5]);
}
""")
    assert into_out(recorded) == [element(k) for k in reversed(SORTED)]


def test_searching_moves_nothing() -> None:
    recorded = record("""
int main(void) {
    for (int i = 0; i < 6; i++) in[i] = i;
    double key = 4;
    double *found = bsearch(&key, in, 6, sizeof *in, compare);
    out[0] = *found * 2;
    printf("%g\\n", out[0]);
}
""")
    assert into_out(recorded) == [element(4)]


def test_linear_and_tree_search() -> None:
    recorded = record(
        """
static void *root;
int main(void) {
    start();
    size_t count = 6;
    double *found = lfind(&in[3], in, &count, sizeof *in, compare);
    out[0] = *found * 2;
    for (int i = 0; i < 6; i++) tsearch(&in[i], &root, compare);
    double key = in[2];
    out[1] = **(double **)tfind(&key, &root, compare) + 1;
    printf("%g %g\\n", out[0], out[1]);
}
""",
        is_interpreted=False,
    )
    assert into_out(recorded) == [element(3), element(2)]


def test_functions_that_run_at_exit() -> None:
    recorded = record("""
static void last(void) { out[0] = in[0] + in[1]; printf("%g\\n", out[0]); }
int main(void) { atexit(last); start(); return 0; }
""")
    assert into_out(recorded) == [element(0, 1)]


def test_signal_handlers_and_long_jumps() -> None:
    recorded = record(
        """
#include <setjmp.h>
#include <signal.h>
static jmp_buf place;
static volatile int raised;
static void handler(int number) { raised = number; out[1] = in[1] * 2; }
NOINLINE static double leave(double x) { if (x > 0) longjmp(place, 3); return x; }
int main(void) {
    start();
    signal(SIGUSR1, handler);
    raise(SIGUSR1);
    if (setjmp(place) == 0) out[2] = leave(in[3]);
    out[0] = in[0] * 3;
    printf("%g %g %g %d\\n", out[0], out[1], out[2], raised);
}
""",
        is_interpreted=False,
    )
    assert into_out(recorded) == [element(0), element(1)]


# ---- numbers and texts -------------------------------------------------------------------------------------


def test_results_through_pointers_have_the_arguments_as_sources() -> None:
    recorded = record("""
int main(void) {
    int exponent;
    double whole;
    start();
    out[0] = modf(in[1], &whole);
    out[1] = whole * 2;
    out[2] = frexp(in[2], &exponent);
    out[3] = exponent * 0.5;
    printf("%g %g %g %g\\n", out[0], out[1], out[2], out[3]);
}
""")
    flows = into_all(recorded)
    assert (flows["@out+0"], flows["@out+16"]) == (element(1), element(2))
    [whole], [exponent] = flows["@out+8"], flows["@out+24"]
    assert (flows[whole], flows[exponent]) == (element(1), element(2))


def test_a_number_that_was_printed_and_read_back_is_a_copy_of_it() -> None:
    recorded = record("""
int main(void) {
    char text[32], copy[32];
    double number;
    start();
    sprintf(text, "%.17g", in[1]);
    out[0] = strtod(text, 0) * 2;
    strcpy(copy, text);
    out[1] = atof(copy) + in[0];
    snprintf(text, sizeof text, "%g %g", in[2], in[3]);
    sscanf(text, "%*f %lf", &number);
    out[2] = number * 3;
    strcpy(text, "7");
    out[3] = atof(text) * 2;
    printf("%g %g %g %g\\n", out[0], out[1], out[2], out[3]);
}
""")
    native = into_all(recorded)
    assert native["@out+0"] == element(1)
    assert native["@out+8"] == element(0, 1)
    assert native["@out+24"] == set()
    [number] = native["@out+16"]
    assert native[number] == element(2, 3)  # both numbers are in the text


def test_each_reading_makes_new_versions() -> None:
    text = """
int main(void) {
    double x[2];
    FILE *zeros = fopen("/dev/zero", "r");
    for (int step = 0; step < 3; step++) {
        if (fread(x, sizeof *x, 2, zeros) != 2) return 1;
        out[0] += x[0] * 2;
        out[1] += x[1] * 2;
    }
    fclose(zeros);
    printf("%g %g\\n", out[0], out[1]);
}
"""
    recorded = record(text, is_interpreted=False)
    graph = recorded.graph
    [x] = [i for i, item in enumerate(graph.objects) if item.name == "x"]
    assert graph.versions[graph.home_object == x].tolist() == [3, 3]
    assert not graph.is_input[graph.home_object == x].any()


def test_scanf_writes_what_its_format_says() -> None:
    recorded = record(
        """
int main(void) {
    int pipes[2], n = 7;
    short small[2] = {0, 9};
    float f;
    double copy[2];
    char word[8];
    start();
    copy[0] = in[0]; copy[1] = in[1];
    if (pipe(pipes) || write(pipes[1], "5 2.5 abc 1.5 6 x", 17) != 17 || close(pipes[1])) return 1;
    dup2(pipes[0], 0);
    int count = scanf("%hd %f %7s %lf%*d %d", small, &f, word, copy, &n);
    out[0] = copy[0] * 2;
    out[1] = copy[1] * 2;
    out[2] = f * 2;
    out[3] = n * 2;
    printf("%d %d %g %s %g %g %g\\n", count, small[0], f, word, out[0], out[1], out[3]);
}
""",
        is_interpreted=False,
    )
    assert b"4 5 2.5 abc 3" in recorded.plain.stdout
    flows = into_all(recorded)
    for sink in ("@out+0", "@out+16"):
        [read] = flows[sink]
        assert read.startswith("@main/")
        assert flows[read] == set()
    assert flows["@out+8"] == element(1)  # the second number was not read: it is still a copy


# ---- memory ------------------------------------------------------------------------------------------------


def test_reallocated_arrays_keep_their_values() -> None:
    recorded = record("""
int main(int argc, char **argv) {
    start();
    double *a = malloc(2 * sizeof *a);
    a[0] = in[0]; a[1] = in[1];
    a = realloc(a, 600 * sizeof *a);
    out[0] = a[1] * 2;
    double *b = calloc(4, sizeof *b);
    memcpy(b + 1, a, 2 * sizeof *b);
    out[1] = b[2] + b[1];
    memmove(b, b + 1, 3 * sizeof *b);
    out[2] = b[0] * 3;
    printf("%g %g %g\\n", out[0], out[1], out[2]);
    free(a);
    free(b);
}
""")
    assert into_out(recorded) == [element(1), element(0, 1), element(0)]


# ---- function pointers -------------------------------------------------------------------------------------

POINTERS = """
typedef double (*unary)(double);
unary table[3] = {sin, cos, fabs};
int same;
NOINLINE double apply(unary f, double x) { return f(x); }
typedef void *(*mover)(void *, const void *, size_t);
NOINLINE void move(mover m, void *to, void *from, size_t n) { m(to, from, n); }
NOINLINE void sort(void (*s)(void *, size_t, size_t, int (*)(const void *, const void *)), double *v, int n) {
    s(v, n, sizeof *v, compare);
}
int main(int argc, char **argv) {
    double copy[2];
    start();
    for (int i = 0; i < 3; i++) out[i] = table[i](in[i]);
    out[3] = apply(sqrt, in[3]);
    move(memcpy, copy, in, sizeof copy);
    out[4] = copy[1] * 2;
    sort(qsort, in, 6);
    out[5] = in[1] + in[2];
    same = table[0] == sin && table[1] != sin && table[2] == fabs;
    printf("%g %g %g %d @sin\\n", out[0], out[3], out[5], same);
}
"""


def test_library_functions_called_through_pointers() -> None:
    recorded = record(POINTERS)
    assert into_out(recorded) == [element(0), element(1), element(2), element(3), element(1), element(5, 4)]
    assert recorded.plain.stdout.endswith(b" 1 @sin\n")
    assert recorded.work.flops == interpret(recorded.module).flops


# ---- C++ ---------------------------------------------------------------------------------------------------

CXX_HEADER = """
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>
double in[6], out[6];
static void start() { for (int i = 0; i < 6; i++) in[i] = i * 5 % 6 + 0.5; }
"""


def record_cxx(text: str) -> Recorded:
    """Record a C++ program."""
    return record(CXX_HEADER + text, suffix=".cpp", is_interpreted=False)


def test_precompiled_std_sort_moves_values() -> None:
    recorded = record_cxx("""
int main() {
    start();
    std::vector<float> v;
    for (int i = 0; i < 3; i++) v.push_back(float(in[i]) * 2);
    std::sort(in, in + 6);
    std::sort(v.begin(), v.end());
    for (int i = 0; i < 6; i++) out[i] = in[i] * 2;
    std::printf("%g %g\\n", out[0], v[2]);
}
""")
    assert into_out(recorded) == [element(k) for k in SORTED]


def test_sort_with_a_comparison_of_the_program() -> None:
    recorded = record_cxx("""
int main() {
    start();
    std::sort(in, in + 6, [](double a, double b) { return a > b; });
    for (int i = 0; i < 6; i++) out[i] = in[i] * 2;
    std::printf("%g\\n", out[0]);
}
""")
    assert into_out(recorded) == [element(k) for k in reversed(SORTED)]


def test_algorithms_with_library_functions() -> None:
    recorded = record_cxx("""
int main() {
    start();
    std::transform(in, in + 6, out, static_cast<double (*)(double)>(std::sqrt));
    std::printf("%g\\n", out[0]);
}
""")
    assert into_out(recorded) == [element(k) for k in range(6)]


def test_streams_read_and_write() -> None:
    recorded = record_cxx("""
int main() {
    start();
    std::istringstream text("2.5 7");
    double x = in[0];
    int n;
    text >> x >> n;
    out[0] = x * n;
    std::cout << out[0] << ' ' << in[1] << std::endl;
}
""")
    flows = into_all(recorded)
    x, n = sorted(flows["@out+0"])
    assert x.startswith("@main/") and n.startswith("@main/")
    assert (flows[x], flows[n]) == (set(), set())


def test_numbers_through_strings() -> None:
    recorded = record_cxx("""
int main() {
    start();
    std::string text = std::to_string(in[2]);
    out[0] = std::stod(text) * 2;
    std::vector<std::string> words{"b", "a", "a word that is longer than a short string"};
    std::sort(words.begin(), words.end());
    out[1] = std::stoi("12") * 2;
    std::cout << words[0] << words[2] << text << out[0] << out[1] << std::endl;
}
""")
    assert into_out(recorded) == [element(2), set()]


# ---- what the user adds ------------------------------------------------------------------------------------

UNKNOWN = """
#include <stdio.h>
#include <string.h>
double in[6], out[6];
/* what other code of the process offers; found at run time, so that no body is analysed */
extern char *l64a(long);
extern long a64l(const char *);
int main(void) {
    for (int i = 0; i < 6; i++) in[i] = i + 1;
    out[0] = a64l("zz") * in[1];
    printf("%g\\n", out[0]);
}
"""


def test_unknown_functions_are_counted_and_named() -> None:
    recorded = record_source(UNKNOWN)
    assert recorded.plan.sites.externals == ["a64l"]
    assert into_out(recorded) == [element(1)]


def test_rows_of_the_user_are_followed(tmp_path: Path) -> None:
    rows = tmp_path / "rows.toml"
    rows.write_text("""
[functions]
a64l = { effect = "pure", reads = ["#0: 4"], width = 4 }
""")
    recorded = record_source(UNKNOWN.replace('"zz"', "(char *)(in + 2)"), library_models=(rows,))
    assert recorded.plan.sites.externals == []
    assert into_out(recorded) == [element(1, 2)]
    oracle = library_with(rows).call("a64l")
    assert oracle is not None
    assert oracle.reads_memory


def test_the_library_model_is_part_of_the_result(tmp_path: Path) -> None:
    source, rows = tmp_path / "program.c", tmp_path / "rows.toml"
    source.write_text(UNKNOWN)
    rows.write_text('[functions]\na64l = { effect = "pure", flops = 100 }\n')
    plain = ca.analyze(source, nodes=2, program_output="discard")
    modelled = ca.analyze(source, nodes=2, program_output="discard", library_models=rows)
    assert plain.recording.unmodelled_calls == (("a64l", 1),)
    assert modelled.recording.unmodelled_calls == ()
    assert modelled.work.flops == plain.work.flops + 100
    assert [path for path, _ in modelled.provenance.input_hashes] == [str(source), str(rows)]


def test_a_wrong_row_is_reported_before_the_program_runs(tmp_path: Path) -> None:
    source, rows = tmp_path / "program.c", tmp_path / "rows.toml"
    source.write_text(UNKNOWN)
    rows.write_text('[functions]\na64l = { effect = "pur" }\n')
    with pytest.raises(ca.CommAnalyzerError, match=r"rows\.toml, 'a64l': expected an effect"):
        ca.analyze(source, nodes=2, library_models=[rows])
