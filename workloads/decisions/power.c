/* Power iteration on a dense matrix until the Rayleigh quotient changes by less than 1e-9 of itself.
 *
 * Blocks of rows, per iteration: all get x, N (p - 1) words; two scalar products that all get, 4 (p - 1). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

int solve(const int n, double a[n][n], double x[n], double y[n], double *lambda)
{
    int iterations = 0;
    for (;;) {
        double xy = 0, yy = 0;
        for (int i = 0; i < n; i++) {
            y[i] = 0;
            for (int j = 0; j < n; j++)
                y[i] += a[i][j] * x[j];
            xy += x[i] * y[i];
            yy += y[i] * y[i];
        }
        const double previous = *lambda, norm = sqrt(yy);
        *lambda = xy;
        for (int i = 0; i < n; i++)
            x[i] = y[i] / norm;
        iterations++;
        if (fabs(xy - previous) < 1e-9 * fabs(xy))
            return iterations;
    }
}

int main(void)
{
    const int n = 32;
    double(*a)[n] = malloc(sizeof(double[n][n])), *x = malloc(n * sizeof *x), *y = malloc(n * sizeof *y);
    double lambda = 0;
    for (int i = 0; i < n; i++) {
        x[i] = 1 / sqrt(n);
        for (int j = 0; j < n; j++)
            a[i][j] = 1.0 / (1 + i + j) + (i == j ? (i % 5) * 0.01 : 0);
    }
    int steps = solve(n, a, x, y, &lambda);
    printf("steps %d lambda %.9e\n", steps, lambda);
}
