"""Which operations count as work for which values; the numbers are counted by hand in the sources."""

import numpy as np
import pytest

from commanalyzer.foundation.work import Operations
from tests.recorded import Recorded
from tests.recorded import record_source as record

SETUP = "int n = 8, a[10], b[10]; double x[10], y[10];"


def _done(recorded: Recorded, line: int) -> Operations:
    """Operations of all sites of a source line."""
    found = [s.operations for s in recorded.graph.sites if s.line == line]
    return sum(found, Operations())


def _line_of(text: str, part: str) -> int:
    return 1 + next(i for i, line in enumerate(text.splitlines()) if part in line)


@pytest.mark.parametrize(
    ("statement", "integer", "memory"),
    [
        ("b[i] = a[i] + a[i + 1];", 1, 3),  # the sum; not i + 1, which is an address
        ("b[i] = (a[i] * 3 ^ a[i + 1]) >> 2;", 3, 3),
        ("b[i] = a[i] < a[i + 1] ? a[i] : a[i + 1];", 1, 3),  # a minimum
        ("b[i] = a[i] < 0 ? -a[i] : a[i];", 1, 2),  # an absolute value
        ("b[i] = a[i] / 3 % 5;", 2, 2),
        ("b[i] = i * i + 3;", 0, 1),  # from the loop counter alone
        ("b[i] = 7;", 0, 1),
        ("x[i] = y[i] < y[i + 1] ? y[i] : y[i + 1];", 1, 3),  # comparisons of any numbers
        ("x[i] = 2.0 * y[i] + 1.0;", 0, 2),
    ],
)
def test_operations_that_serve_values(statement: str, integer: int, memory: int) -> None:
    text = f"""
#include <stdio.h>
volatile int zero;
{SETUP}
__attribute__((noinline)) void run(void) {{
    for (int i = 0; i < 8; i++)
        {statement}
}}
int main(void) {{ run(); printf("%d %g\\n", b[zero], x[zero]); }}
"""
    recorded = record(text)
    done = _done(recorded, _line_of(text, statement))
    assert (done.integer, done.memory) == (8 * integer, 8 * memory)


@pytest.mark.parametrize("contract", ["on", "off"])
def test_fused_and_negated_operations_count_as_the_source_has_them(contract: str) -> None:
    flops = {
        "x[i] += y[i] * y[i + 1];": 2,
        "x[i] -= y[i] * y[i + 1];": 2,
        "x[i] = -(y[i] * y[i + 1]) - x[i];": 2,
        "x[i] = y[i] * y[i + 1] - x[i];": 2,
        "x[i] = -y[i];": 0,
    }
    body = "\n".join(f"    for (int i = 0; i < 8; i++)\n        {statement}" for statement in flops)
    text = f"""
#include <stdio.h>
volatile int zero;
{SETUP}
__attribute__((noinline)) void run(void) {{
{body}
}}
int main(void) {{ run(); printf("%g\\n", x[zero]); }}
"""
    recorded = record(text, flags=(f"-ffp-contract={contract}",))
    found = {statement: _done(recorded, _line_of(text, statement)).flops for statement in flops}
    assert found == {statement: 8 * count for statement, count in flops.items()}


def test_loop_control_and_addresses_are_no_work() -> None:
    recorded = record("""
#include <stdio.h>
double u[100], v[100];
__attribute__((noinline)) void run(int low, int high, int stride) {
    for (int i = low; i < high; i++)
        for (int j = low; j < high; j++)
            u[i * stride + j] += v[i * stride + j];
}
int main(void) { run(1, 9, 10); printf("%g\\n", u[11]); }
""")
    assert recorded.work.integer_ops == 0
    assert recorded.work.flops == 64


def test_a_count_in_a_register_is_the_work_of_the_reduction() -> None:
    recorded = record("""
#include <stdio.h>
int a[100], found;
__attribute__((noinline)) int many(int n) {
    int count = 0;
    for (int i = 0; i < n; i++) count += a[i] > 3;
    return count;
}
int main(void) { for (int i = 0; i < 100; i++) a[i] = i % 7; found = many(100); printf("%d\\n", found); }
""")
    # one comparison and one addition for each element
    assert recorded.work.integer_ops == 200


def test_work_of_vertices_is_that_of_their_sites() -> None:
    recorded = record("""
#include <stdio.h>
int a[64], b[64];
int main(void) {
    for (int i = 0; i < 64; i++) a[i] = i * 3;
    for (int t = 0; t < 4; t++)
        for (int i = 1; i < 63; i++) b[i] = a[i - 1] + 2 * a[i] + a[i + 1];
    printf("%d\\n", b[5]);
}
""")
    graph = recorded.graph
    # two additions and a multiplication (or shift) each; constants cost nothing
    assert recorded.work.integer_ops == 4 * 62 * 3
    assert graph.work_flops.sum() == pytest.approx(4 * 62 * 3)
    assert np.count_nonzero(graph.work_flops) == 62


@pytest.mark.parametrize(
    ("before", "between", "behind", "expected"),
    [
        ("", "", "", [8 * 3, 8 * 2]),  # one each of their own, three for both
        ("if (u[i] > 0.5) {", "zero = 0; } else {", "}", [2 * 4, 6 * 4]),  # each in its rounds
    ],
)
def test_what_two_sites_need_is_shared(before: str, between: str, behind: str, expected: list[int]) -> None:
    text = f"""
#include <stdio.h>
volatile int zero;
double u[8] = {{0, 0, 0, 1, 0, 1}}, v[8], x[8], y[8];
__attribute__((noinline)) void run(void) {{
    for (int i = 0; i < 8; i++) {{
        double both = (u[i] + v[i]) * (u[i] - v[i]);
        {before}
        x[i] = both + 1.0;
        {between}
        y[i] = both * 3.0;
        {behind}
    }}
}}
int main(void) {{ run(); printf("%g %g\\n", x[zero], y[zero]); }}
"""
    recorded = record(text)
    shares = [_done(recorded, _line_of(text, statement)).flops for statement in ("x[i] =", "y[i] =")]
    assert shares == expected
