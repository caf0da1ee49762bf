/*
 * E = (A B) D: two products after one another.
 *
 *     2mm [N]        default: 12
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

static void initialise(int n, float *a, float *b, float *d)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            a[i * n + j] = (float)((i + 1) * (j + 2) % 7);
            b[i * n + j] = (float)((i + 2) * (j + 1) % 5 - 2);
            d[i * n + j] = (float)((i + 3) * (j + 1) % 3);
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
    float *e = malloc(bytes);
    require(a && b && c && d && e);
    initialise(n, a, b, d);
    matmul(n, a, b, c);
    matmul(n, c, d, e);
    print_sum("e", e, n * n);
    free(a);
    free(b);
    free(c);
    free(d);
    free(e);
    return 0;
}
