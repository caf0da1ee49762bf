/* Factors a symmetric positive definite matrix in place, row by row, and solves with the factor. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 400;
    double *a = malloc(sizeof *a * n * n), *x = malloc(n * sizeof *x);
    for (int i = 0; i < n; i++) {
        x[i] = 1.0;
        for (int j = 0; j < n; j++)
            a[i * n + j] = i == j ? n : 1.0 / (1 + abs(i - j));
    }
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < i; j++) {
            for (int k = 0; k < j; k++)
                a[i * n + j] -= a[i * n + k] * a[j * n + k];
            a[i * n + j] /= a[j * n + j];
        }
        for (int k = 0; k < i; k++)
            a[i * n + i] -= a[i * n + k] * a[i * n + k];
        a[i * n + i] = sqrt(a[i * n + i]);
    }
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < i; k++)
            x[i] -= a[i * n + k] * x[k];
        x[i] /= a[i * n + i];
    }
    printf("%.10e\n", x[n / 2]);
    return 0;
}
