"""Loops in the styles of public codes, met for the first time: recorded as hooks would record them."""

import pytest

from tests.e2e.analysed import HEAD
from tests.property.test_flows import check
from tests.recorded import record_source

_HEAD = HEAD + "#define NOINLINE __attribute__((noinline))\n"

_PROGRAMS = {
    "tiles": """
enum { B = 12, N = 24 };
NOINLINE static void multiply(double *c, const double *a, const double *b) {
    for (int i = 0; i < B; i++)
        for (int j = 0; j < B; j++)
            for (int k = 0; k < B; k++) c[i * B + j] += a[i * B + k] * b[k * B + j];
}
int main(void) {
    static double a[N * N], b[N * N], c[N * N], ta[B * B], tb[B * B], tc[B * B];
    for (int i = 0; i < N * N; i++) { a[i] = i; b[i] = 0.5 * i; c[i] = 1; }
    for (int i = 0; i < N; i += B)
        for (int j = 0; j < N; j += B) {
            for (int r = 0; r < B; r++) memcpy(tc + r * B, c + (i + r) * N + j, B * sizeof *c);
            for (int k = 0; k < N; k += B) {
                for (int r = 0; r < B; r++) memcpy(ta + r * B, a + (i + r) * N + k, B * sizeof *a);
                for (int r = 0; r < B; r++) memcpy(tb + r * B, b + (k + r) * N + j, B * sizeof *b);
                multiply(tc, ta, tb);
            }
            for (int r = 0; r < B; r++) memcpy(c + (i + r) * N + j, tc + r * B, B * sizeof *c);
        }
    printf("%g\\n", c[N + 3]);
}
""",
    "outer products": """
NOINLINE static void add(double *c, const double *a, const double *b, int n, int m) {
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++)
            for (int j = 0; j < n; j++) c[i * m + j] += a[i * n + k] * b[k * n + j];
}
int main(void) {
    static double a[900], b[900], c[900], ta[100], tb[100];
    for (int i = 0; i < 900; i++) { a[i] = i; b[i] = 0.5 * i; }
    for (int r = 0; r < 10; r++) {
        memcpy(ta + r * 10, a + r * 30, 80);
        memcpy(tb + r * 10, b + r * 30 + 10, 80);
    }
    add(c, ta, tb, 10, 30);
    add(c, ta, tb, 10, 30);
    printf("%g\\n", c[33]);
}
""",
    "in place": """
int main(void) {
    int n = 20;
    double *a = malloc(n * n * sizeof *a), *y = malloc(n * sizeof *y), *x = malloc(n * sizeof *x);
    for (int i = 0; i < n; i++) {
        x[i] = i; y[i] = 0;
        for (int j = 0; j < n; j++) a[i * n + j] = i == j ? n : 1.0 / (1 + i + j);
    }
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < i; j++) {
            for (int k = 0; k < j; k++) a[i * n + j] -= a[i * n + k] * a[j * n + k];
            a[i * n + j] /= a[j * n + j];
        }
        for (int k = 0; k < i; k++) a[i * n + i] -= a[i * n + k] * a[i * n + k];
    }
    for (int s = 0; s < 3; s++)
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                a[i * n + j] = 0.25 * (a[i * n + j - 1] + a[i * n + j + 1] + a[(i - 1) * n + j]);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) y[i] += a[i * n + j] * x[j];
    printf("%g %g\\n", a[n + 1], y[3]);
}
""",
    "strides": """
NOINLINE static void relax(double *u, int n, int s) {
    for (int i = s; i < n - s; i += s)
        for (int j = s; j < n - s; j += s)
            u[i * n + j] = 0.2 * (u[i * n + j] + u[(i - s) * n + j] + u[(i + s) * n + j] + u[i * n + j - s]);
}
NOINLINE static void downward(double *u, int n, int s) {
    for (int j = n - 1; j >= s; j -= s) u[j] = u[j - s] + 1;
}
int main(void) {
    int n = 33;
    double *u = calloc(n * n, sizeof *u);
    for (int c = 0; c < 3; c++)
        for (int s = 4; s >= 1; s /= 2) { relax(u, n, s); downward(u, n, s); }
    printf("%g\\n", u[5 * n + 7]);
}
""",
    "bytes": """
static int least(int a, int b) { return a < b ? a : b; }
int main(void) {
    enum { N = 37 };
    static char a[64], b[64], up[64], low[64];
    static short s[64], t[64];
    static const char letters[] __attribute__((aligned(4))) = "acgt";
    int *before = malloc((N + 1) * sizeof *before), *row = malloc((N + 1) * sizeof *row), total = 0;
    for (int i = 0; i < 64; i++) { a[i] = letters[i * 7 % 4]; b[i] = letters[i * 5 % 4]; s[i] = (short)i; }
    for (int p = 0; p < 2; p++) {
        for (int j = 0; j <= N; j++) before[j] = j;
        for (int i = 1; i <= N; i++) {
            row[0] = i;
            for (int j = 1; j <= N; j++)
                row[j] = least(least(before[j], row[j - 1]) + 1, before[j - 1] + (a[i - 1] != b[j + p - 1]));
            int *x = before; before = row; row = x;
        }
        total += before[N];
    }
    for (int i = 1; i < 60; i++) up[i] = (char)(a[i] + 1);
    for (int i = 3; i < 50; i++) low[i - 1] = (char)(up[i] + up[i + 1] + a[i - 3]);
    for (int i = 1; i < 62; i++) t[i] = (short)(s[i] + s[i + 1]);
    for (int i = 0; i < 64; i++) total += up[i] + low[i] + t[i];
    printf("%d\\n", total);
}
""",
    "members": """
typedef struct { float x, v; double weight; int cell; } particle;
int main(void) {
    enum { N = 40 };
    particle *p = malloc(N * sizeof *p);
    static float field[16];
    static double density[16];
    for (int i = 0; i < 16; i++) field[i] = 0.1f * (i % 5 - 2);
    for (int i = 0; i < N; i++) { p[i].x = 0.39f * i; p[i].v = 0; p[i].weight = 1; }
    for (int s = 0; s < 12; s++) {
        for (int i = 0; i < N; i++) {
            p[i].cell = (int)p[i].x;
            p[i].v += field[p[i].cell];
            p[i].x += 0.5f * p[i].v;
            if (p[i].x < 0 || p[i].x > 15.5f) { p[i].v = -p[i].v; p[i].x = p[i].x < 0 ? 0 : 15.5f; }
        }
        for (int i = 0; i < 16; i++) density[i] = 0;
        for (int i = 0; i < N; i++) density[p[i].cell] += p[i].weight;
    }
    printf("%g %g\\n", density[3], p[7].x);
}
""",
    "scaled": """
NOINLINE static void scale(double *c, const double *a, const double *x, int n, int m) {
    double sum = 0;
    for (int k = 0; k < n; k++) sum += x[k] * x[k];
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) c[i * m + j] = sum * a[i * n + j];
}
int main(void) {
    static double a[900], x[10], c[900], copy[100];
    for (int i = 0; i < 900; i++) a[i] = i;
    for (int i = 0; i < 10; i++) x[i] = 0.5 * i;
    for (int r = 0; r < 10; r++) memcpy(copy + r * 10, a + r * 30, 80);
    scale(c, copy, x, 10, 30);
    scale(c, copy, x, 10, 30);
    printf("%g\\n", c[33]);
}
""",
}


@pytest.mark.parametrize("name", _PROGRAMS)
def test_chains_are_those_of_the_interpreter(name: str) -> None:
    text = _HEAD + _PROGRAMS[name]
    check(text, record_source(text))
