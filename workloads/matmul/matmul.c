/*
 * Dense matrix product C = A B, the textbook triple loop.
 *
 *     matmul [N]        default: 64
 *
 * A(i,j) = (i + 1)(j + 2) mod 7 and B(i,j) = (i + 2)(j + 1) mod 5 minus 2 are small integers, so the sums
 * are exact and the output does not depend on the order of the additions.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

void matmul(int n, const double *a, const double *b, double *c)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0.0;
            for (int k = 0; k < n; k++)
                sum += a[i * n + k] * b[k * n + j];
            c[i * n + j] = sum;
        }
}

static void initialise(int n, double *a, double *b)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            a[i * n + j] = (i + 1) * (j + 2) % 7;
            b[i * n + j] = (i + 2) * (j + 1) % 5 - 2;
        }
}

int main(int argc, char **argv)
{
    int n = 64;
    if (argc > 1) {
        char *end;
        errno = 0;
        long value = strtol(argv[1], &end, 10);
        if (argc > 2 || errno || end == argv[1] || *end || value < 1 || value > 20000) {
            fprintf(stderr, "usage: matmul [N], N from 1 to 20000\n");
            return 2;
        }
        n = (int)value;
    }

    size_t bytes = sizeof(double) * (size_t)n * (size_t)n;
    double *a = malloc(bytes);
    double *b = malloc(bytes);
    double *c = malloc(bytes);
    if (!a || !b || !c) {
        fprintf(stderr, "matmul: not enough memory for N = %d\n", n);
        free(a);
        free(b);
        free(c);
        return 1;
    }
    initialise(n, a, b);

    matmul(n, a, b, c);

    double sum = 0.0;
    double trace = 0.0;
    for (int i = 0; i < n; i++) {
        trace += c[i * n + i];
        for (int j = 0; j < n; j++)
            sum += c[i * n + j];
    }
    printf("matmul n %d\n", n);
    printf("sum %.1f\n", sum);
    printf("trace %.1f\n", trace);
    free(a);
    free(b);
    free(c);
    return 0;
}
