/* Laplace's equation on N x N points: Jacobi sweeps until the 2-norm of the change is at most TOL.
 *
 *     jacobi [N [TOL [MAX]]]                default: 16 1e-2 1000
 *
 * q x q blocks, per sweep: halo 4 N (q - 1) words, sum of squares and its way back 2 (p - 1). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static double sweep(int n, const double *u, double *w)
{
    double change = 0.0;
    for (int i = 1; i <= n; i++)
        for (int j = 1; j <= n; j++) {
            int k = i * (n + 2) + j;
            w[k] = 0.25 * (u[k - 1] + u[k + 1] + u[k - n - 2] + u[k + n + 2]);
            change += (w[k] - u[k]) * (w[k] - u[k]);
        }
    return change;
}

int solve(int n, double tol, int max, double **u, double **w)
{
    int it = 0;
    double change = HUGE_VAL;
    while (sqrt(change) > tol && it < max) {
        change = sweep(n, *u, *w);
        double *t = *u;
        *u = *w;
        *w = t;
        it++;
    }
    return it;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 16, max = argc > 3 ? atoi(argv[3]) : 1000;
    double tol = argc > 2 ? atof(argv[2]) : 1e-2;
    double *u = calloc((size_t)(n + 2) * (n + 2), sizeof *u);
    double *w = calloc((size_t)(n + 2) * (n + 2), sizeof *w);
    for (int j = 0; j < n + 2; j++)
        u[j] = w[j] = 1.0;
    int steps = solve(n, tol, max, &u, &w);
    printf("steps %d middle %.6e\n", steps, u[(n + 1) / 2 * (n + 2) + (n + 1) / 2]);
    free(u);
    free(w);
    return 0;
}
