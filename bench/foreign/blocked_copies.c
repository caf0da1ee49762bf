/* C = A B by blocks; tiles of A and B are copied to buffers (memcpy per row), as tuned libraries do. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void copy_tile(double *to, const double *from, int stride, int block) {
    for (int i = 0; i < block; i++)
        memcpy(to + i * block, from + (size_t)i * stride, block * sizeof *to);
}

static void multiply(double *c, const double *a, const double *b, int n, int block) {
    for (int i = 0; i < block; i++)
        for (int k = 0; k < block; k++) {
            double aik = a[i * block + k];
            for (int j = 0; j < block; j++)
                c[(size_t)i * n + j] += aik * b[k * block + j];
        }
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 512, block = 32;
    double *a = malloc(sizeof *a * n * n), *b = malloc(sizeof *b * n * n), *c = calloc((size_t)n * n, sizeof *c);
    double *ta = malloc(sizeof *ta * block * block), *tb = malloc(sizeof *tb * block * block);
    for (int i = 0; i < n * n; i++) {
        a[i] = 1.0 / (1 + i % 7);
        b[i] = 1.0 / (1 + i % 11);
    }
    for (int i = 0; i < n; i += block)
        for (int k = 0; k < n; k += block) {
            copy_tile(ta, a + (size_t)i * n + k, n, block);
            for (int j = 0; j < n; j += block) {
                copy_tile(tb, b + (size_t)k * n + j, n, block);
                multiply(c + (size_t)i * n + j, ta, tb, n, block);
            }
        }
    printf("%.10e\n", c[(n / 3) * n + n / 5]);
    return 0;
}
