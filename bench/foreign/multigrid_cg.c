/* Conjugate gradients on a cube, preconditioned by a cycle over grids that a list of structures holds. */
#include <stdio.h>
#include <stdlib.h>

typedef struct level {
    int n;
    double *x, *b, *r;
    struct level *coarse;
} level;

static double sum_of(const double *a, const double *b, int n) {
    double s = 0;
    for (int i = 0; i < n; i++) s += a[i] * b[i];
    return s;
}

static double around(const double *x, int n, int k, int j, int i) {
    const double *at = x + ((size_t)k * n + j) * n + i;
    double s = 0;
    if (k > 0) s += at[-n * n];
    if (k < n - 1) s += at[n * n];
    if (j > 0) s += at[-n];
    if (j < n - 1) s += at[n];
    if (i > 0) s += at[-1];
    if (i < n - 1) s += at[1];
    return s;
}

static void times(double *y, const double *x, int n) {
    for (int k = 0, c = 0; k < n; k++)
        for (int j = 0; j < n; j++)
            for (int i = 0; i < n; i++, c++) y[c] = 6 * x[c] - around(x, n, k, j, i);
}

static void smooth(level *l, int colour) {
    int n = l->n;
    for (int k = 0; k < n; k++)
        for (int j = 0; j < n; j++)
            for (int i = (k + j + colour) % 2; i < n; i += 2) {
                size_t c = ((size_t)k * n + j) * n + i;
                l->x[c] = (l->b[c] + around(l->x, n, k, j, i)) / 6;
            }
}

static void cycle(level *l) {
    int n = l->n, m = n / 2;
    for (int c = 0; c < n * n * n; c++) l->x[c] = 0;
    smooth(l, 0);
    smooth(l, 1);
    if (l->coarse) {
        level *h = l->coarse;
        times(l->r, l->x, n);
        for (int c = 0; c < n * n * n; c++) l->r[c] = l->b[c] - l->r[c];
        for (int k = 0; k < m; k++)
            for (int j = 0; j < m; j++)
                for (int i = 0; i < m; i++) {
                    double s = 0;
                    for (int q = 0; q < 8; q++)
                        s += l->r[((size_t)(2 * k + q / 4) * n + 2 * j + q / 2 % 2) * n + 2 * i + q % 2];
                    h->b[(k * m + j) * m + i] = 0.5 * s;
                }
        cycle(h);
        for (int k = 0; k < n; k++)
            for (int j = 0; j < n; j++)
                for (int i = 0; i < n; i++) l->x[(k * n + j) * n + i] += h->x[(k / 2 * m + j / 2) * m + i / 2];
    }
    smooth(l, 1);
    smooth(l, 0);
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 16, steps = argc > 2 ? atoi(argv[2]) : 3, cells = n * n * n;
    level *finest = NULL, **at = &finest;
    for (int m = n; m >= 4; m /= 2) {
        level *l = malloc(sizeof *l);
        *l = (level){m, malloc(sizeof(double) * m * m * m), malloc(sizeof(double) * m * m * m),
                     malloc(sizeof(double) * m * m * m), NULL};
        *at = l;
        at = &l->coarse;
    }
    double *x = calloc(cells, sizeof *x), *r = malloc(cells * sizeof *r), *p = malloc(cells * sizeof *p);
    double *q = malloc(cells * sizeof *q), rho = 0;
    for (int c = 0; c < cells; c++) r[c] = 1 + c % 5, p[c] = 0;
    for (int s = 0; s < steps; s++) {
        for (int c = 0; c < cells; c++) finest->b[c] = r[c];
        cycle(finest);
        double next = sum_of(r, finest->x, cells), beta = s ? next / rho : 0;
        rho = next;
        for (int c = 0; c < cells; c++) p[c] = finest->x[c] + beta * p[c];
        times(q, p, n);
        double alpha = rho / sum_of(p, q, cells);
        for (int c = 0; c < cells; c++) x[c] += alpha * p[c], r[c] -= alpha * q[c];
    }
    printf("%.10e\n", sum_of(x, x, cells));
    return 0;
}
