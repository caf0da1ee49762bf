/*
 * C = alpha A B + beta C, the sum kept in C.
 *
 *     gemm [N]        default: 12
 */
#include "tasks.h"

#define ALPHA 1.5f
#define BETA 1.2f

void gemm(int n, const float *a, const float *b, float *c)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            c[i * n + j] *= BETA;
            for (int k = 0; k < n; k++)
                c[i * n + j] += ALPHA * a[i * n + k] * b[k * n + j];
        }
}

static void initialise(int n, float *a, float *b, float *c)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            a[i * n + j] = (float)(i * j) / (float)n;
            b[i * n + j] = (float)(i * j + 1) / (float)n;
            c[i * n + j] = (float)(i * j + 2) / (float)n;
        }
}

int main(int argc, char **argv)
{
    int n = size_argument(argc, argv, 1, 12, 1, 8192);
    size_t bytes = sizeof(float) * (size_t)n * (size_t)n;
    float *a = malloc(bytes);
    float *b = malloc(bytes);
    float *c = malloc(bytes);
    require(a && b && c);
    initialise(n, a, b, c);
    gemm(n, a, b, c);
    print_sum("c", c, n * n);
    free(a);
    free(b);
    free(c);
    return 0;
}
