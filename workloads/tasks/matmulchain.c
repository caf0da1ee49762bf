/*
 * R = (A B) (C D): two independent products and the product of both.
 *
 *     matmulchain [N]        default: 12
 */
#include "tasks.h"

void matmul(int n, const float *a, const float *b, float *c)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            float sum = 0.0f;
            for (int k = 0; k < n; k++)
                sum += a[i * n + k] * b[k * n + j];
            c[i * n + j] = sum;
        }
}

static void initialise(int n, float *a, float *b, float *c, float *d)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            a[i * n + j] = (float)((i + 1) * (j + 2) % 7);
            b[i * n + j] = (float)((i + 2) * (j + 1) % 5 - 2);
            c[i * n + j] = (float)((i + 3) * (j + 1) % 3);
            d[i * n + j] = (float)((i + 1) * (j + 3) % 4);
        }
}

int main(int argc, char **argv)
{
    int n = size_argument(argc, argv, 1, 12, 1, 8192);
    size_t bytes = sizeof(float) * (size_t)n * (size_t)n;
    float *a = malloc(bytes);
    float *b = malloc(bytes);
    float *c = malloc(bytes);
    float *d = malloc(bytes);
    float *p = malloc(bytes);
    float *q = malloc(bytes);
    float *r = malloc(bytes);
    require(a && b && c && d && p && q && r);
    initialise(n, a, b, c, d);
    matmul(n, a, b, p);
    matmul(n, c, d, q);
    matmul(n, p, q, r);
    print_sum("r", r, n * n);
    free(a);
    free(b);
    free(c);
    free(d);
    free(p);
    free(q);
    free(r);
    return 0;
}
