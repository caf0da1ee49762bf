/* C += A B by blocks, several times; matrices are arrays of rows, tiles are copied by loops, sums in a register. */
#include <stdio.h>
#include <stdlib.h>

enum { BLOCK = 32 };

static double **matrix(int n) {
    double **rows = malloc(n * sizeof *rows);
    for (int i = 0; i < n; i++)
        rows[i] = calloc(n, sizeof **rows);
    return rows;
}

static void product(double **c, double **a, double **b, int n) {
    static double ta[BLOCK][BLOCK], tb[BLOCK][BLOCK], tc[BLOCK][BLOCK];
    for (int i0 = 0; i0 < n; i0 += BLOCK)
        for (int j0 = 0; j0 < n; j0 += BLOCK) {
            for (int i = 0; i < BLOCK; i++)
                for (int j = 0; j < BLOCK; j++)
                    tc[i][j] = c[i0 + i][j0 + j];
            for (int k0 = 0; k0 < n; k0 += BLOCK) {
                for (int i = 0; i < BLOCK; i++)
                    for (int k = 0; k < BLOCK; k++) {
                        ta[i][k] = a[i0 + i][k0 + k];
                        tb[i][k] = b[k0 + k][j0 + i]; /* transposed */
                    }
                for (int i = 0; i < BLOCK; i++)
                    for (int j = 0; j < BLOCK; j++) {
                        double sum = tc[i][j];
                        for (int k = 0; k < BLOCK; k++)
                            sum += ta[i][k] * tb[j][k];
                        tc[i][j] = sum;
                    }
            }
            for (int i = 0; i < BLOCK; i++)
                for (int j = 0; j < BLOCK; j++)
                    c[i0 + i][j0 + j] = tc[i][j];
        }
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 256, rounds = argc > 2 ? atoi(argv[2]) : 5;
    double **a = matrix(n), **b = matrix(n), **c = matrix(n);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            a[i][j] = 1.0 / (1 + (i + j) % 7);
            b[i][j] = 1.0 / (1 + (i + 2 * j) % 11);
        }
    for (int r = 0; r < rounds; r++)
        product(c, a, b, n);
    printf("%.10e\n", c[n / 3][n / 5]);
    return 0;
}
