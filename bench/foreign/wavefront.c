/* Symmetric Gauss-Seidel of a system with five components per cell, cells visited by diagonals. */
#include <stdio.h>
#include <stdlib.h>

enum { PARTS = 5 };

static void solve(double *v, const double *west, const double *south, const double *rhs) {
    double t[PARTS];
    for (int m = 0; m < PARTS; m++) {
        t[m] = rhs[m];
        for (int k = 0; k < PARTS; k++)
            t[m] += 0.05 / (1 + m + k) * (west[k] + south[k]);
    }
    for (int m = 0; m < PARTS; m++)
        v[m] = 0.5 * (v[m] + t[m] / (2.0 + 0.1 * m));
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 200, sweeps = argc > 2 ? atoi(argv[2]) : 10;
    double(*v)[PARTS] = calloc((size_t)(n + 2) * (n + 2), sizeof *v);
    double(*rhs)[PARTS] = calloc((size_t)(n + 2) * (n + 2), sizeof *rhs);
    for (int i = 0; i < (n + 2) * (n + 2); i++)
        for (int m = 0; m < PARTS; m++)
            rhs[i][m] = 0.01 * ((i + m) % 13);
    for (int s = 0; s < sweeps; s++) {
        for (int d = 2; d <= 2 * n; d++)
            for (int i = d - n > 1 ? d - n : 1; i <= n && i < d; i++) {
                int c = i * (n + 2) + d - i;
                solve(v[c], v[c - 1], v[c - n - 2], rhs[c]);
            }
        for (int d = 2 * n; d >= 2; d--)
            for (int i = d - n > 1 ? d - n : 1; i <= n && i < d; i++) {
                int c = i * (n + 2) + d - i;
                solve(v[c], v[c + 1], v[c + n + 2], rhs[c]);
            }
    }
    printf("%.10e\n", v[(n / 2) * (n + 2) + n / 3][2]);
    return 0;
}
