/* Conjugate gradients for the 5-point Laplacian on N x N points, to a relative residual of 1e-6.
 *
 * q x q blocks, per iteration: halo of the direction 4 N (q - 1) words, two scalar products that all get,
 * 4 (p - 1); and that of the first residual, 2 (p - 1). */
#include <math.h>
#include <stdio.h>

enum { N = 16, W = N + 2 };
typedef double Grid[W][W];
static Grid x, r, p, q;

static double dot(Grid a, Grid b)
{
    double sum = 0;
    for (int i = 1; i <= N; ++i)
        for (int j = 1; j <= N; ++j) sum += a[i][j] * b[i][j];
    return sum;
}

static void apply(Grid a, Grid y)
{
    for (int i = 1; i <= N; ++i)
        for (int j = 1; j <= N; ++j)
            y[i][j] = 4 * a[i][j] - a[i - 1][j] - a[i + 1][j] - a[i][j - 1] - a[i][j + 1];
}

int solve(void)
{
    int it = 0;
    double rr = dot(r, r), first = rr;
    while (rr > 1e-12 * first) {
        apply(p, q);
        double alpha = rr / dot(p, q), old = rr;
        for (int i = 1; i <= N; ++i)
            for (int j = 1; j <= N; ++j) {
                x[i][j] += alpha * p[i][j];
                r[i][j] -= alpha * q[i][j];
            }
        rr = dot(r, r);
        double beta = rr / old;
        for (int i = 1; i <= N; ++i)
            for (int j = 1; j <= N; ++j) p[i][j] = r[i][j] + beta * p[i][j];
        ++it;
    }
    return it;
}

int main(void)
{
    for (int i = 1; i <= N; ++i)
        for (int j = 1; j <= N; ++j) r[i][j] = p[i][j] = 1 + (3 * i + 5 * j) % 7;
    int steps = solve();
    printf("steps %d x %.6e\n", steps, x[3][4]);
}
