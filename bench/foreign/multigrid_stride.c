/* Hierarchical smoothing: coarse levels are every 2nd, 4th, 8th ... point of the same array. */
#include <stdio.h>
#include <stdlib.h>

static void relax(double *u, const double *f, int n, int s) {
    for (int i = s; i < n - s; i += s)
        for (int j = s; j < n - s; j += s)
            u[i * n + j] = 0.2 * (u[i * n + j] + u[(i - s) * n + j] + u[(i + s) * n + j] + u[i * n + j - s]
                                  + u[i * n + j + s] + s * s * f[i * n + j]);
}

static void interpolate(double *u, int n, int s) {
    int h = s / 2;
    for (int i = 0; i < n; i += s)
        for (int j = h; j < n; j += s)
            u[i * n + j] = 0.5 * (u[i * n + j - h] + u[i * n + j + h]);
    for (int i = h; i < n; i += s)
        for (int j = 0; j < n; j += h)
            u[i * n + j] = 0.5 * (u[(i - h) * n + j] + u[(i + h) * n + j]);
}

int main(int argc, char **argv) {
    int depth = argc > 1 ? atoi(argv[1]) : 10, cycles = argc > 2 ? atoi(argv[2]) : 5;
    int n = (1 << depth) + 1;
    double *u = calloc((size_t)n * n, sizeof *u), *f = malloc(sizeof *f * n * n);
    for (int i = 0; i < n * n; i++)
        f[i] = 1e-6 * (i % 97);
    for (int c = 0; c < cycles; c++)
        for (int s = n / 4; s >= 1; s /= 2) {
            for (int k = 0; k < 3; k++)
                relax(u, f, n, s);
            if (s > 1)
                interpolate(u, n, s);
        }
    printf("%.10e\n", u[(n / 2) * n + n / 3]);
    return 0;
}
