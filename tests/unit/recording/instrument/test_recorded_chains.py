"""Value-flow chains of small programs, derived by hand; the interpreter agrees.

Each program once went wrong or pins a rule.
"""

import pytest

from commanalyzer.foundation.flows import Fold, SourceRole
from commanalyzer.graph.value_graph import ValueGraph
from tests.property.test_flows import check
from tests.recorded import Recorded, record_source
from tests.reference.flows import native_chains

HEADER = """
#include <stdarg.h>
#include <stdio.h>
#define NOINLINE __attribute__((noinline))
"""
DATA, CONTROL, ADDRESS = SourceRole.DATA, SourceRole.CONTROL, SourceRole.ADDRESS
Sources = set[tuple[str, SourceRole]]


def record(text: str) -> Recorded:
    """Record a C program (standard headers are included): its chains are those of the interpreter."""
    recorded = record_source(HEADER + text)
    check(text, recorded)
    return recorded


def sources_of(graph: ValueGraph, sink: str) -> list[Sources]:
    """Sources of every distinct chain into ``sink`` (``@x+4``), named registers dissolved."""
    return [{(str(h), r) for h, r in c.sources} for c in native_chains(graph) if str(c.sink) == sink]


def test_second_word_of_a_pair_is_looked_up_when_it_is_loaded() -> None:
    recorded = record("""
struct pair { int a, b; };
struct pair p[2];
int out[2];
NOINLINE void swap(struct pair *x, struct pair *y) { struct pair t = *x; *x = *y; *y = t; }
int main(void) {
    for (int i = 0; i < 2; i++) { p[i].a = i; p[i].b = i + 2; }
    swap(p, p + 1);
    out[0] = p[0].b * 2;
    out[1] = p[1].b * 3;
    printf("%d %d\\n", out[0], out[1]);
}
""")
    assert sources_of(recorded.graph, "@out+0") == [{("@p+12", DATA)}]
    assert sources_of(recorded.graph, "@out+4") == [{("@p+4", DATA)}]


def test_small_variables_do_not_share_a_word() -> None:
    recorded = record("""
unsigned char a[1], b[5], c[3];
int out;
int main(void) {
    for (int k = 0; k < 5; k++) b[k] = (unsigned char)(k * 3);
    a[0] = 1; c[0] = 2;
    printf("%d %d %d\\n", a[0], b[3], c[0]);
    out = b[0] + a[0] * c[0];
    printf("%d\\n", out);
}
""")
    assert sources_of(recorded.graph, "@out+0") == [{("@a+0", DATA), ("@b+0", DATA), ("@c+0", DATA)}]


def test_count_whose_old_value_is_read_in_an_earlier_block() -> None:
    recorded = record("""
int h[4], b[8];
NOINLINE void start(int n) { for (int i = 0; i < n; i++) b[i] = i % 3; }
int main(int argc, char **argv) {
    int n = argc + 7;
    start(n);
    for (int i = 0; i < n; i++) {
        int k = b[i];
        if (h[k] != 100) printf(".");
        h[k] += 1;
    }
    printf("%d\\n", h[1]);
}
""")
    # h[1] counts the items 1, 4 and 7; only their addresses say so
    assert sorted(map(sorted, sources_of(recorded.graph, "@h+4"))) == [
        [(f"@b+{4 * i}", ADDRESS)]
        for i in (4, 7, 1)  # sorted as text
    ]


def test_widened_value_replicates_whichever_way_it_was_chosen() -> None:
    recorded = record("""
float narrow[2];
double wide[2], copy, out[2];
int main(int argc, char **argv) {
    for (int i = 0; i < 2; i++) { narrow[i] = i + 0.5f; wide[i] = i + 0.25; }
    for (int i = 0; i < 2; i++) {
        double x = wide[0];
        for (int k = 0; k < argc + i; k++) x = k == 0 ? narrow[1] : wide[1];
        copy = x;
        out[i] = copy * 3;
    }
    printf("%g %g %g\\n", out[0], out[1], copy);
}
""")
    assert sources_of(recorded.graph, "@out+0") == [{("@narrow+4", DATA)}]
    assert sources_of(recorded.graph, "@out+8") == [{("@wide+8", DATA)}]
    assert sources_of(recorded.graph, "@copy+0") == []


CONDITIONAL_SUM = """
double a[8], m[8], out;
int main(void) {
    for (int i = 0; i < 8; i++) { a[i] = i; m[i] = i % 2; }
    double s = 0;
    for (int i = 0; i < 8; i++)
        if (m[i] > 0.5) s += a[i] / m[i];
    out = s;
    printf("%g\\n", out);
}
"""


def test_conditional_sum_is_one_row_with_a_term_per_contribution() -> None:
    graph = record(CONDITIONAL_SUM).graph
    taken: Sources = {(f"@a+{8 * i}", DATA) for i in (1, 3, 5, 7)}
    taken |= {(f"@m+{8 * i}", DATA) for i in (1, 3, 5, 7)}
    assert sources_of(graph, "@out+0") == [taken | {(f"@m+{8 * i}", CONTROL) for i in (0, 2, 4, 6)}]
    sums = [r for r in range(graph.num_rows) if graph.rows.row_fold[r] == Fold.SUM]
    assert len(sums) == 1
    # four sums of two sources, and eight conditions
    assert graph.rows.term_ptr[sums[0] + 1] - graph.rows.term_ptr[sums[0]] == 12


def test_scalar_with_several_sources_is_named_once_before_the_loop_that_reads_it() -> None:
    graph = record("""
double r[16], p[16], x[16];
int main(void) {
    for (int i = 0; i < 16; i++) { r[i] = i; p[i] = i * 0.5; }
    double rr = 0, pp = 0;
    for (int i = 0; i < 16; i++) { rr += r[i] * r[i]; pp += p[i] * r[i]; }
    double alpha = rr / pp;
    for (int i = 0; i < 16; i++) x[i] += alpha * p[i];
    printf("%g\\n", x[3]);
}
""").graph
    # two reductions and their quotient; every x[i] reads the quotient and p[i], not 32 terms
    assert int(graph.is_register.sum()) == 3
    updates = [r for r in range(graph.num_rows) if graph.rows.row_accumulates[r]]
    assert len(updates) == 16
    assert {graph.rows.flows_of(r) for r in updates} == {2}


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("add(a[0], a[1])", {("@a+0", DATA), ("@a+8", DATA)}),
        ("table[n & 1](a[0], a[1])", {("@a+0", DATA), ("@a+8", DATA)}),
        ("depth(3, a[1])", {("@a+8", DATA)}),
        ("same(a[1], a[0])", {("@a+0", DATA), ("@a+8", DATA)}),
        ("by_value(s)", {("@s+0", DATA), ("@s+16", DATA)}),
    ],
)
def test_labels_pass_through_calls(call: str, expected: Sources) -> None:
    text = """
struct triple { double x, y, z; };
double a[2], out;
struct triple s;
volatile int n = 1;
NOINLINE double add(double x, double y) { return x + y; }
NOINLINE double mul(double x, double y) { return x * y; }
double (*table[2])(double, double) = {mul, add};
double same(double x, double y) __attribute__((alias("add")));
NOINLINE double depth(int d, double x) { return d == 0 ? x * 2 : 1 + depth(d - 1, x); }
NOINLINE double by_value(struct triple t) { return t.x + t.z; }
NOINLINE void start(double *x, int count) { for (int i = 0; i < count; i++) x[i] = n * 0.5 + i; }
int main(void) {
    start(a, 2);
    start(&s.x, 3);
    out = CALL + 1;
    printf("%g\\n", out);
}
""".replace("CALL", call)
    recorded = record(text)
    found = sources_of(recorded.graph, "@out+0")
    assert found == [expected]
    assert set(recorded.plan.sites.externals) <= {"printf"}


def test_flops_of_sites_and_the_unattributed_ones_are_all_flops() -> None:
    recorded = record("""
double a[8], out;
int main(void) {
    for (int i = 0; i < 8; i++) a[i] = i * 0.5;
    double s = 0;
    for (int i = 0; i < 8; i++) s += a[i] * a[i];
    out = s;
    double unused = out * 2;
    printf("%g\\n", unused);
}
""")
    # 8 products, 8 times multiply and add, one product that is printed
    assert recorded.work.flops == 8 + 16 + 1
    assert sum(site.flops for site in recorded.graph.sites) == 8 + 16 + 1
