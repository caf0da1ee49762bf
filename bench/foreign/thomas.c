/* Many tridiagonal systems: each is copied to local arrays, solved there and copied back. */
#include <stdio.h>
#include <stdlib.h>

static void solve(int n, int stride, const double *rhs, double *x) {
    double upper[n], value[n];
    for (int i = 0; i < n; i++)
        value[i] = rhs[(size_t)i * stride];
    upper[0] = -1.0 / 2.5;
    value[0] /= 2.5;
    for (int i = 1; i < n; i++) {
        double m = 1.0 / (2.5 + upper[i - 1]);
        upper[i] = -m;
        value[i] = (value[i] + value[i - 1]) * m;
    }
    for (int i = n - 2; i >= 0; i--)
        value[i] -= upper[i] * value[i + 1];
    for (int i = 0; i < n; i++)
        x[(size_t)i * stride] = value[i];
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 300, steps = argc > 2 ? atoi(argv[2]) : 20;
    double *u = malloc(sizeof *u * n * n), *w = malloc(sizeof *w * n * n);
    for (int i = 0; i < n * n; i++)
        u[i] = 0.1 * (i % 31);
    for (int s = 0; s < steps; s++) {
        for (int i = 0; i < n; i++)
            solve(n, 1, u + (size_t)i * n, w + (size_t)i * n);
        for (int j = 0; j < n; j++)
            solve(n, n, w + j, u + j);
    }
    printf("%.10e\n", u[n * (n / 2) + n / 3]);
    return 0;
}
