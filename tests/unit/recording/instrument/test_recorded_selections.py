"""Minima, arguments of minima, flags, limiters: sources derived by hand; the interpreter agrees."""

import pytest

from commanalyzer.foundation.flows import Fold
from commanalyzer.graph.value_graph import HomeKind, ValueGraph
from tests.property.test_flows import check
from tests.recorded import record_source
from tests.unit.recording.instrument.test_recorded_chains import CONTROL, DATA, Sources, sources_of

# x = 0.5, 3.5, 2.5, 1.5 and z = 3.5, 2.5, 1.5, 0.5
PROGRAM = """
#include <math.h>
#include <stdio.h>
double x[4], z[4], out;
__attribute__((noinline)) void f(int n) {{ {body} }}
int main(void) {{
    for (int i = 0; i < 4; i++) {{ x[i] = i * 7 % 4 + 0.5; z[i] = 3.5 - i; }}
    f(4);
    printf("%g\\n", out);
}}
"""
LOOP = "for (int i = 0; i < n; i++) "
X = {("@x+0", DATA), ("@x+8", DATA), ("@x+16", DATA), ("@x+24", DATA)}
X_SELECTS = {(name, CONTROL) for name, _ in X}
Z_SELECTS = {(name.replace("x", "z"), CONTROL) for name, _ in X}


def graph_of(body: str, *, control_flows: bool = True) -> ValueGraph:
    """Graph of a function body; with control flows, its chains are those of the interpreter."""
    text = PROGRAM.format(body=body)
    recorded = record_source(text, control_flows=control_flows)
    if control_flows:
        check(text, recorded)
    return recorded.graph


def register_rows(graph: ValueGraph) -> list[tuple[Fold, int, int]]:
    """Fold, terms and count of every named register value."""
    kinds = [graph.objects[int(graph.home_object[v])].kind for v in graph.rows.row_sink]
    return [
        (
            Fold(int(graph.rows.row_fold[r])),
            int(graph.rows.term_ptr[r + 1] - graph.rows.term_ptr[r]),
            int(graph.rows.row_count[r]),
        )
        for r, kind in enumerate(kinds)
        if kind is HomeKind.REGISTER
        and graph.objects[int(graph.home_object[graph.rows.row_sink[r]])].name != "return"
    ]


@pytest.mark.parametrize("control_flows", [True, False])
@pytest.mark.parametrize(
    ("body", "fold"),
    [
        ("double m = 1e9; " + LOOP + "if (x[i] < m) m = x[i]; out = m;", Fold.MIN),
        ("double m = 1e9; " + LOOP + "m = x[i] < m ? x[i] : m; out = m;", Fold.MIN),
        ("double m = 1e9; " + LOOP + "m = fmin(m, x[i]); out = m;", Fold.MIN),
        ("double m = -1; " + LOOP + "if (m < x[i]) m = x[i]; out = m;", Fold.MAX),
        (
            "double m = 1e9; for (int i = 0; i < n / 2; i++) for (int j = 0; j < 2; j++) "
            "if (x[2 * i + j] < m) m = x[2 * i + j]; out = m;",
            Fold.MIN,
        ),
    ],
)
def test_minimum_is_one_reduction_over_all_operands(body: str, fold: Fold, control_flows: bool) -> None:
    graph = graph_of(body, control_flows=control_flows)
    assert sources_of(graph, "@out+0") == [X]
    assert register_rows(graph) == [(fold, 4, 1)]


def test_minimum_and_maximum_in_one_loop() -> None:
    graph = graph_of(
        "double a = 9, b = 0; " + LOOP + "{ if (x[i] < a) a = x[i]; if (x[i] > b) b = x[i]; } out = b - a;"
    )
    assert sources_of(graph, "@out+0") == [X]
    assert sorted(register_rows(graph)) == [(Fold.MIN, 4, 1), (Fold.MAX, 4, 1)]


@pytest.mark.parametrize(
    "body",
    [
        "out = 9; " + LOOP + "if (x[i] < out) out = x[i];",
        "double *p = &out; *p = 9; " + LOOP + 'if (x[i] < *p) { *p = x[i]; printf("a"); }',
    ],
)
def test_conditional_minimum_in_memory_combines_losers_too(body: str) -> None:
    graph = graph_of(body)
    assert sources_of(graph, "@out+0") == [set(), *({element} for element in sorted(X, key=index))]
    into_out = [r for r in range(graph.num_rows) if graph.rows.row_accumulates[r]]
    assert [Fold(int(graph.rows.row_fold[r])) for r in into_out] == [Fold.MIN] * 4


def index(element: tuple[str, object]) -> int:
    """Offset of ``@x+8``."""
    return int(element[0].split("+")[1])


@pytest.mark.parametrize(
    ("body", "sources"),
    [
        ("double m = x[0]; int k = 0; " + LOOP + "if (x[i] < m) { m = x[i]; k = i; } out = k;", X_SELECTS),
        ("int k = 0; " + LOOP + "if (x[i] < x[k]) k = i; out = k;", X_SELECTS),
        (
            "double m = 9, k = 0; " + LOOP + "if (x[i] < m) { m = x[i]; k = z[i]; } out = k;",
            X_SELECTS | {("@z+0", DATA)},
        ),
        ("int k = 0; " + LOOP + "if (x[i] > 2) k = 1; out = k;", X_SELECTS),
        # only elements whose z is below 2 are compared
        (
            "double m = 9; int k = 0; " + LOOP + "if (z[i] < 2 && x[i] < m) { m = x[i]; k = i; } out = k;",
            Z_SELECTS | {("@x+16", CONTROL), ("@x+24", CONTROL)},
        ),
    ],
)
def test_selected_by_everything_that_was_compared(body: str, sources: Sources) -> None:
    graph = graph_of(body)
    assert sources_of(graph, "@out+0") == [sources]
    [(fold, terms, count)] = register_rows(graph)
    assert (fold, count) == (Fold.SELECTION, 1)
    assert 4 <= terms <= 8


@pytest.mark.parametrize(
    ("start", "sources"),
    [("0", set()), ("z[1]", {("@z+8", DATA)}), ("x[i] + s * 0.5", {*X} - {("@x+24", DATA)})],
)
def test_a_sum_that_a_select_starts_anew(start: str, sources: Sources) -> None:
    body = "double s = 0; " + LOOP + f"{{ s += x[i]; if (i == 2) s = {start}; }} out = s;"
    assert sources_of(graph_of(body), "@out+0") == [sources | {("@x+24", DATA)}]


def test_without_control_flows_an_argument_of_a_minimum_has_no_sources() -> None:
    body = "double m = 9; int k = 0; " + LOOP + "if (x[i] < m) { m = x[i]; k = i; } out = k;"
    assert sources_of(graph_of(body, control_flows=False), "@out+0") == [set()]


@pytest.mark.parametrize(
    ("body", "sources"),
    [
        (
            "double s = 0; " + LOOP + "if (x[i] > 2) s += z[i]; out = s;",
            {("@z+8", DATA), ("@z+16", DATA)} | X_SELECTS,
        ),
        ("int k = 0; " + LOOP + "if (x[i] > 2) k++; out = k;", X),
        (
            "double s = 0; " + LOOP + "if (x[i] > 2) s += x[i]; out = s;",
            {("@x+0", CONTROL), ("@x+8", DATA), ("@x+16", DATA), ("@x+24", CONTROL)},
        ),
    ],
)
def test_conditional_sum_is_one_reduction(body: str, sources: Sources) -> None:
    graph = graph_of(body)
    assert sources_of(graph, "@out+0") == [sources]
    [(fold, _, count)] = register_rows(graph)
    assert (fold, count) == (Fold.SUM, 1)


def test_clamp_depends_on_its_bounds() -> None:
    body = "double a = x[0]; if (a < z[0]) a = z[0]; if (a > z[1]) a = z[1]; out = a;"
    assert sources_of(graph_of(body), "@out+0") == [{("@x+0", DATA), ("@z+0", DATA), ("@z+8", DATA)}]


def test_minmod_takes_one_slope_by_looking_at_both() -> None:
    body = "double a = x[0], b = z[0]; out = a * b <= 0 ? 0 : fabs(a) < fabs(b) ? a : b;"
    assert sources_of(graph_of(body), "@out+0") == [{("@x+0", DATA), ("@z+0", CONTROL)}]


@pytest.mark.parametrize(
    "body",
    [  # the rotated loop is guarded by m > 0, and m is a value that the program stored
        'z[0] = n; __asm__ volatile("" ::: "memory"); int m = z[0]; for (int i = 0; i < m; i++) s += x[i];',
        "int i = 0; do s += x[i]; while (z[i++] > 1);",
    ],
)
def test_number_of_terms_selects_nothing(body: str) -> None:
    assert sources_of(graph_of(f"double s = 0; {body} out = s;"), "@out+0") == [X]


def test_condition_around_a_loop_still_selects() -> None:
    graph = graph_of("double s = 0; if (z[0] > 2) " + LOOP + "s += x[i]; out = s;")
    assert sources_of(graph, "@out+0") == [X | {("@z+0", CONTROL)}]


SUM, PRODUCT, NONE = Fold.SUM, Fold.PRODUCT, Fold.NONE
ONCE = [(NONE, 1, 1)]  # all sources in one piece: neither x - s nor Horner's scheme may be reordered


@pytest.mark.parametrize(
    ("body", "rows"),
    [
        ("double s = 1; " + LOOP + "s += x[i]; out = s;", [(SUM, 4, 1)]),
        ("double s = 1; " + LOOP + "s -= x[i]; out = s;", [(SUM, 4, 1)]),
        ("double s = 1; " + LOOP + "s *= x[i]; out = s;", [(PRODUCT, 4, 1)]),
        ("double s = 1; " + LOOP + "s = fma(x[i], x[i], s); out = s;", [(SUM, 4, 1)]),
        ("double s = 1; " + LOOP + "s = fma(s, 3.0, x[i]); out = s;", ONCE),
        ("double s = 1; " + LOOP + "s = s * 3 + x[i]; out = s;", ONCE),
        ("double s = 1; " + LOOP + "s = (s + x[i]) * 0.5; out = s;", ONCE),
        ("double s = 1; " + LOOP + "s = x[i] - s; out = s;", ONCE),
        ("double s = 1; " + LOOP + "s /= x[i]; out = s;", ONCE),
        (  # one reduction over both loops
            "double s = 0; for (int i = 0; i < n; i += 2) for (int k = 0; k < 2; k++) s += x[i + k]; "
            "out = s;",
            [(SUM, 4, 1)],
        ),
        (
            "double s = 0, t = 1; " + LOOP + "{ s += x[i]; t *= z[i]; } out = s / t;",
            [(SUM, 4, 1), (PRODUCT, 4, 1)],
        ),
        ("double s = 0; " + LOOP + "s = z[i] > 2 ? s + x[i] : s; out = s;", [(SUM, 6, 1)]),
        # what the running value only steers
        ("double s = 0; " + LOOP + '{ s += x[i]; if (s > 9) printf("a"); } out = s;', [(SUM, 4, 1)]),
        # what begins anew in each round of the loop around it
        (
            "double s = 0; for (int k = 0; k < 3; k++) { s = 0; " + LOOP + "s += x[i]; z[k] = s; }",
            [(SUM, 4, 3)],
        ),
        # a sum that sets what scales the next one, as a step size that the error of the last step sets
        (
            "double c = x[3]; for (int k = 0; k < 3; k++) { double s = 0; "
            + LOOP
            + "s += c * x[i]; c *= s; } "
            "out = c;",
            [(SUM, 4, 1), (SUM, 4, 2)],
        ),
        ("double u = x[0], v = z[0]; " + LOOP + "{ double t = u; u = v; v = t; } out = v;", []),
    ],
)
def test_what_a_loop_computes_for_behind_it_is_a_reduction(
    body: str, rows: list[tuple[Fold, int, int]]
) -> None:
    assert sorted(register_rows(graph_of(body))) == rows


@pytest.mark.parametrize(
    "body",
    [
        "double s = 0; " + LOOP + "{ s += x[i]; z[i] = s; } out = s;",
        "double s = 0; " + LOOP + "{ s += x[i]; z[i] = s * 2; } out = s;",
        "double s = 0; " + LOOP + "if (s < 3) s += x[i]; out = s;",
        "double u = x[0], v = z[0]; " + LOOP + "{ double t = u + v; u = v; v = t; } out = v;",
    ],
    ids=["prefix sum", "sum read inside the loop", "sum limited by itself", "Fibonacci"],
)
def test_recurrences_whose_partial_results_are_read_are_chains(body: str) -> None:
    rows = register_rows(graph_of(body))
    assert len(rows) > 1 and set(rows) == {(NONE, 1, 1)}


@pytest.mark.parametrize(
    ("body", "sources"),
    [
        ("double a = x[0] > 2 ? 1 : 2; out = a;", {("@x+0", CONTROL)}),
        (  # of two nested conditions each selects where it leads: here only the outer one is asked
            'double a = x[0]; if (z[0] < 9) { printf("a"); a = z[1] < 1 ? 0 : z[1]; } out = a;',
            {("@z+0", CONTROL), ("@z+8", DATA)},
        ),
        (
            'double a = x[0]; if (z[0] < 1) { printf("a"); a = z[1] < 1 ? 0 : z[1]; } out = a;',
            {("@z+0", CONTROL), ("@x+0", DATA)},
        ),
    ],
)
def test_conditions_select_where_they_lead(body: str, sources: Sources) -> None:
    assert sources_of(graph_of(body), "@out+0") == [sources]


def test_loops_are_one_row_whatever_was_copied_to_what_they_read() -> None:
    """What selects may be copied; which literal a number is a copy of makes no other chain."""
    text = """
#include <string.h>
static const double table[8] = {1, 2, 4, 8, 16, 32, 64, 128};
double a[200], flag[200], scale[200], x[200], out[200];
__attribute__((noinline)) void f(int n) {
    for (int i = 0; i < n; i++) out[i] = scale[i] * x[i] + (flag[i] > 1 ? 2 : -1);
}
int main(int argc, char **argv) {
    unsigned state = argc;
    for (int i = 0; i < 200; i++) { a[i] = i % 3; x[i] = i + 0.5; }
    memcpy(flag, a, sizeof a);
    for (int round = 0; round < 6; round++) {
        for (int i = 0; i < 200; i++) scale[i] = table[(state = state * 1664525u + 1013904223u) >> 29];
        f(200);
    }
}
"""
    recorded = record_source(text)
    check(text, recorded)
    assert sources_of(recorded.graph, "@out+8") == [{("@a+8", CONTROL), ("@x+8", DATA)}]
    assert len(recorded.trace.heads) < 20  # not one per element, or per round
