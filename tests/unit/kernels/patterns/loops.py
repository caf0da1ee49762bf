"""Small loops with known patterns: declarations, the loop, and what it is.

The loop to look at stands on a line of its own that ends in ``/*!*/``. Expected patterns follow from the
definition of the pattern, not from what was found.
"""

# ruff: noqa: E501  (a table: a loop per row)
from typing import NamedTuple


class Sample(NamedTuple):
    """A loop.

    Attributes:
        code: Body of ``main``; arrays ``a``, ``b``, ``c`` of 64 doubles, ``g`` of 16 x 16, ``k`` of 64 ints,
            ``n`` is 16.
        says: Words that the forbidding flows, reductions or copies have to name.
        functions: Code in front of ``main``.
    """

    name: str
    code: str
    kind: str
    says: tuple[str, ...] = ()
    functions: str = ""


_WORK = """
__attribute__((noinline)) static double work(double x, int m) {
    for (int i = 0; i < m; i++) x = x * 0.5 + 1.0;
    return x;
}
"""
_RANDOM = """
static unsigned state = 1;
__attribute__((noinline)) static double draw(void) {
    state = state * 1103515245u + 12345u;
    return (double)(state >> 16) / 65536.0;
}
"""
_FIB = """
__attribute__((noinline)) static int fib(int m) { /*!*/
    int one, two;
    if (m < 2) return m;
    one = fib(m - 1); two = fib(m - 2);
    return one * one - two + one % 7 * two;
}
"""
_SORT = """
static double t[64];
__attribute__((noinline)) static void sort(double *x, int low, int high) { /*!*/
    if (high - low < 2) return;
    int mid = (low + high) / 2, i = low, j = mid, o = low;
    sort(x, low, mid); sort(x, mid, high);
    while (i < mid && j < high) { if (x[i] <= x[j]) t[o++] = x[i++]; else t[o++] = x[j++]; }
    while (i < mid) t[o++] = x[i++];
    while (j < high) t[o++] = x[j++];
    for (i = low; i < high; i++) x[i] = t[i];
}
"""
_TREE = """
static int visits;
__attribute__((noinline)) static void visit(int m) { /*!*/
    if (m < 1) return;
    visits = visits * 3 + m;
    visit(m - 1); visit(m - 2); visits ^= 5;
}
"""

LOOPS = (
    Sample("copy", "for (i = 0; i < n; i++) /*!*/\n b[i] = a[i] * 2 + 1;", "do-all"),
    Sample("scale in place", "for (i = 0; i < n; i++) /*!*/\n a[i] = a[i] * 2;", "do-all"),
    Sample("rows of a matrix", "for (i = 0; i < n; i++) /*!*/\n for (j = 0; j < n; j++) g[i][j] += i * j;", "do-all"),
    Sample("gather", "for (i = 0; i < n; i++) /*!*/\n b[i] = a[k[i]];", "do-all"),
    Sample("scatter by a permutation", "for (i = 0; i < n; i++) /*!*/\n b[(5 * i) % n] = a[i];", "do-all"),
    Sample(
        "anti-dependence", "for (i = 0; i + 1 < n; i++) /*!*/\n a[i] = a[i + 1] * 0.5;", "do-all", ("a copy of a",)
    ),
    Sample(
        "scratch",
        "double w[4]; for (i = 0; i < n; i++) { /*!*/\n"
        "  for (j = 0; j < 4; j++) w[j] = a[i] * j * n;\n  b[i] = w[0] / (w[k[i] % 4] + 1) + w[3]; }",
        "do-all",
        ("a copy of w",),
    ),
    Sample("scratch scalar", "for (i = 0; i < n; i++) { /*!*/\n x = a[i] * 2; c[i] = x * x; }", "do-all"),
    Sample("two arrays", "for (i = 0; i < n; i++) { /*!*/\n a[i] += 1; b[i] = a[i] * c[i]; }", "do-all"),
    Sample("odd and even", "for (i = 0; i < n; i++) /*!*/\n a[2 * i] = a[2 * i + 1] + 1;", "do-all"),
    Sample("matrix product", "for (i = 0; i < n; i++) /*!*/\n for (j = 0; j < n; j++) { x = 0;\n"
           "  for (int l = 0; l < n; l++) x += g[i][l] * p[l][j];\n  q[i][j] = x; }", "do-all"),
    Sample("calls without state", "for (i = 0; i < n; i++) /*!*/\n b[i] = work(a[i], 20);", "do-all", (), _WORK),
    Sample("condition", "for (i = 0; i < n; i++) /*!*/\n if (a[i] > 3) b[i] = a[i]; else b[i] = -a[i];", "do-all"),
    Sample("sum", "x = 0; for (i = 0; i < n; i++) /*!*/\n x += a[i] * b[i];\n s = x;", "reduction", ("reduces x",)),
    Sample("sum in memory", "for (i = 0; i < n; i++) /*!*/\n s += a[i];", "reduction"),
    Sample("product", "x = 1; for (i = 0; i < n; i++) /*!*/\n x *= a[i];\n s = x;", "reduction"),
    Sample("largest", "x = a[0]; for (i = 1; i < n; i++) /*!*/\n if (a[i] > x) x = a[i];\n s = x;", "reduction"),
    Sample("conditional sum", "x = 0; for (i = 0; i < n; i++) /*!*/\n if (a[i] > 2) x += a[i];\n s = x;", "reduction"),
    Sample("count of bits", "int z = 0; for (i = 0; i < n; i++) /*!*/\n z ^= k[i] * 7;\n s = z;", "reduction"),
    Sample("histogram", "for (i = 0; i < n; i++) /*!*/\n k[32 + k[i] % 4] += 1;", "reduction", ("reduces k",)),
    Sample("sums of columns", "for (i = 0; i < n; i++) /*!*/\n for (j = 0; j < n; j++) b[j] += g[i][j];",
           "reduction", ("reduces b",)),
    Sample("three points", "for (i = 1; i < n - 1; i++) /*!*/\n b[i] = a[i - 1] + a[i] + a[i + 1];", "stencil"),
    Sample("five points", "for (i = 1; i < n - 1; i++) /*!*/\n for (j = 1; j < n - 1; j++)\n"
           "  p[i][j] = g[i - 1][j] + g[i + 1][j] + g[i][j - 1] + g[i][j + 1];", "stencil"),
    Sample("wide stencil", "for (i = 2; i < n - 2; i++) /*!*/\n b[i] = a[i - 2] + a[i + 2];", "stencil"),
    Sample("triangle", "for (i = 0; i < n; i++) /*!*/\n for (j = 0; j <= i; j++) q[i][j] = g[j][i] * 2;", "task pool"),
    Sample("uneven tasks", "for (i = 0; i < n; i++) /*!*/\n b[i] = work(a[i], 3 * i * i);", "task pool", (), _WORK),
    Sample("recurrence", "for (i = 1; i < n; i++) /*!*/\n a[i] = a[i - 1] * 0.5 + b[i];", "sequential", ("a",)),
    Sample("far recurrence", "for (i = 4; i < n; i++) /*!*/\n a[i] = a[i - 4] + 1;", "sequential", ("a", "4 iter")),
    Sample("prefix sum", "x = 0; for (i = 0; i < n; i++) { /*!*/\n x += a[i]; b[i] = x; }", "sequential", ("x",)),
    Sample("prefix sum in memory", "for (i = 1; i < n; i++) /*!*/\n b[i] += b[i - 1];", "sequential", ("b",)),
    Sample("in place stencil", "for (i = 1; i < n - 1; i++) /*!*/\n a[i] = a[i - 1] + a[i + 1];", "sequential", ("a",)),
    Sample("time steps", "for (j = 0; j < 6; j++) { /*!*/\n for (i = 1; i < n - 1; i++) b[i] = a[i - 1] + a[i + 1];\n"
           "  for (i = 1; i < n - 1; i++) a[i] = b[i]; }", "sequential", ("a",)),
    Sample("search", "for (i = 0; i < n; i++) /*!*/\n if (a[i] > 4) break;\n s = i;", "sequential", ("ends on",)),
    Sample("until it converges", "x = 9; while (x > 0.6) /*!*/\n x = work(x, 3) * 0.3;\n s = x;", "sequential",
           ("x",), _WORK),
    Sample("scatter that may meet", "for (i = 0; i < n; i++) /*!*/\n a[k[i] % 3] = a[k[i + 1] % 3] * 0.5 + i;",
           "sequential", ("a",)),
    Sample("output", 'for (i = 0; i < n; i++) /*!*/\n printf("%g ", a[i]);', "sequential", ("printf",)),
    Sample("random numbers", "for (i = 0; i < n; i++) /*!*/\n a[i] = draw();", "sequential", ("state",), _RANDOM),
    Sample("wavefront", "for (i = 1; i < n; i++) /*!*/\n for (j = 1; j < n; j++)\n  g[i][j] = g[i - 1][j] + g[i][j - 1];",
           "sequential", ("g",)),
    Sample("triangular solve", "for (i = 0; i < n; i++) { /*!*/\n x = b[i];\n for (j = 0; j < i; j++) x -= g[i][j] * c[j];\n"
           "  c[i] = x / 3; }", "sequential", ("c",)),
    Sample("list", "for (i = k[0] % n; i != 63; i = k[i]) /*!*/\n s += 1;", "sequential", ("i",)),
    Sample("work and filter", "for (i = 0; i < n; i++) { /*!*/\n y = work(a[i], 40);\n x = 0.9 * x + y; b[i] = x; }\n s = x;",
           "pipeline", ("x",), _WORK),
    Sample("work and output", 'for (i = 0; i < n; i++) { /*!*/\n y = work(a[i], 40);\n printf("%g ", y); }', "pipeline",
           ("printf",), _WORK),
    Sample("three stages", "for (i = 1; i < n; i++) { /*!*/\n y = work(a[i], 40);\n c[i] = c[i - 1] * 0.5 + y;\n"
           "  b[i] = work(c[i], 30); }", "pipeline", ("c",), _WORK),
    Sample("two filters", "for (i = 1; i < n; i++) { /*!*/\n for (j = 0; j < n; j++) g[0][j] = g[0][j] * 0.5 + a[i];\n"
           "  for (j = 0; j < n; j++) p[0][j] = p[0][j] * 0.25 + g[0][j]; }", "pipeline", ("g", "p")),
    Sample("tree of calls", "s = fib(9);", "task pool", (), _FIB),
    Sample("merge sort", "for (i = 0; i < 64; i++) a[i] = (i * 37) % 64;\n sort(a, 0, 64);", "task pool", (), _SORT),
    Sample("calls in order", "visit(6); s = visits;", "sequential", ("visits",), _TREE),
)  # fmt: skip

_HEAD = """#include <stdio.h>
double a[64], b[64], c[64], g[16][16], p[16][16], q[16][16], s;
int k[64], n = 16;
static void prepare(void) {
    for (int i = 0; i < 64; i++) { a[i] = i * 0.25; b[i] = 64 - i; c[i] = 1; k[i] = (i * 13 + 5) % 64; }
    for (int i = 0; i < 256; i++) { g[i / 16][i % 16] = i; p[i / 16][i % 16] = 256 - i; }
}
"""
_FUNCTION = """
__attribute__((noinline)) static void sample{number}(void) {{
    double x = 0, y = 0;
    int i, j = 0;
    {code}
    s += x + y + i + j;
}}
"""
_MARK = "/*!*/"


class Program(NamedTuple):
    """All samples in one program.

    Attributes:
        lines: Line of the loop or function to look at, by name of the sample.
    """

    source: str
    lines: dict[str, int]


def program() -> Program:
    """A program that runs every sample once on fresh data."""
    parts = [_HEAD, *dict.fromkeys(sample.functions for sample in LOOPS if _MARK not in sample.functions)]
    for number, sample in enumerate(LOOPS):
        own = sample.functions if _MARK in sample.functions else ""
        code = sample.code if _MARK in sample.functions + sample.code else ""
        parts.append(own + _FUNCTION.format(number=number, code=code))
    calls = "".join(f"    prepare();\n    sample{number}();\n" for number in range(len(LOOPS)))
    text = 'printf("%g %g %g %g\\n", a[3] + b[3] + c[3], q[2][1] + p[2][1] + g[2][1], s, (double)k[33]);'
    parts.append(f"int main(void) {{\n{calls}    {text}\n    return 0;\n}}\n")
    source = "".join(parts)
    marked = [n for n, line in enumerate(source.splitlines(), 1) if line.endswith(_MARK)]
    return Program(source, dict(zip((sample.name for sample in LOOPS), marked, strict=True)))
