/* C = A B by blocks; tiles of all three are copied to buffers and the product adds up in memory. */
#include <stdio.h>
#include <stdlib.h>

enum { BLOCK = 32 };

static void multiply(double *c, const double *a, const double *b) {
    for (int i = 0; i < BLOCK; i++)
        for (int j = 0; j < BLOCK; j++)
            for (int k = 0; k < BLOCK; k++)
                c[i * BLOCK + j] += a[i * BLOCK + k] * b[k * BLOCK + j];
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 256, rounds = argc > 2 ? atoi(argv[2]) : 1;
    double *a = malloc(sizeof *a * n * n), *b = malloc(sizeof *b * n * n), *c = calloc((size_t)n * n, sizeof *c);
    for (int i = 0; i < n * n; i++) {
        a[i] = 1.0 / (1 + i % 7);
        b[i] = 1.0 / (1 + i % 11);
    }
    double *ta = malloc(sizeof *ta * BLOCK * BLOCK), *tb = malloc(sizeof *tb * BLOCK * BLOCK);
    double *tc = malloc(sizeof *tc * BLOCK * BLOCK);
    for (int r = 0; r < rounds; r++)
        for (int i0 = 0; i0 < n; i0 += BLOCK)
            for (int j0 = 0; j0 < n; j0 += BLOCK) {
                for (int i = 0; i < BLOCK; i++)
                    for (int j = 0; j < BLOCK; j++)
                        tc[i * BLOCK + j] = c[(i0 + i) * n + j0 + j];
                for (int k0 = 0; k0 < n; k0 += BLOCK) {
                    for (int i = 0; i < BLOCK; i++)
                        for (int j = 0; j < BLOCK; j++) {
                            ta[i * BLOCK + j] = a[(i0 + i) * n + k0 + j];
                            tb[i * BLOCK + j] = b[(k0 + i) * n + j0 + j];
                        }
                    multiply(tc, ta, tb);
                }
                for (int i = 0; i < BLOCK; i++)
                    for (int j = 0; j < BLOCK; j++)
                        c[(i0 + i) * n + j0 + j] = tc[i * BLOCK + j];
            }
    printf("%.10e\n", c[(n / 3) * n + n / 5]);
    return 0;
}
