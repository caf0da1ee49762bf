/* Symmetric Gauss-Seidel as two sparse triangular solves: compressed rows of a random banded matrix. */
#include <stdio.h>
#include <stdlib.h>

typedef struct { int n, *first, *column; double *value, *diagonal; } matrix_t;

static void lower(const matrix_t *m, const double *b, double *x) {
    for (int i = 0; i < m->n; i++) {
        double sum = b[i];
        for (int k = m->first[i]; k < m->first[i + 1] && m->column[k] < i; k++)
            sum -= m->value[k] * x[m->column[k]];
        x[i] = sum / m->diagonal[i];
    }
}

static void upper(const matrix_t *m, const double *b, double *x) {
    for (int i = m->n - 1; i >= 0; i--) {
        double sum = b[i] * m->diagonal[i];
        for (int k = m->first[i + 1] - 1; k >= m->first[i] && m->column[k] > i; k--)
            sum -= m->value[k] * x[m->column[k]];
        x[i] = sum / m->diagonal[i];
    }
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 50000, steps = argc > 2 ? atoi(argv[2]) : 50, most = 10;
    matrix_t m = {n, malloc((n + 1) * sizeof(int)), malloc((size_t)n * most * sizeof(int)),
                  malloc((size_t)n * most * sizeof(double)), malloc(n * sizeof(double))};
    double *b = malloc(n * sizeof *b), *x = calloc(n, sizeof *x), *y = calloc(n, sizeof *y);
    unsigned state = 5;
    int entries = 0;
    for (int i = 0; i < n; i++) {
        m.first[i] = entries;
        m.diagonal[i] = 4.0;
        b[i] = i % 9;
        int column = i - 40;
        while (column < i + 40 && entries - m.first[i] < most) {
            state = state * 1664525u + 1013904223u;
            column += 1 + (int)(state >> 28);
            if (column >= 0 && column < n && column != i) {
                m.column[entries] = column;
                m.value[entries++] = 0.1;
            }
        }
    }
    m.first[n] = entries;
    for (int s = 0; s < steps; s++) {
        lower(&m, b, y);
        upper(&m, y, x);
        for (int i = 0; i < n; i++)
            b[i] = 0.5 * b[i] + 0.1 * x[i];
    }
    printf("%.10e\n", x[n / 2]);
    return 0;
}
