/*
 * y = A^T (A x) in three kernels: y becomes 0, tmp = A x, y = A^T tmp.
 *
 *     atax [N]        default: 16
 */
#include "tasks.h"

void atax_clear(int n, float *y)
{
    for (int i = 0; i < n; i++)
        y[i] = 0.0f;
}

void atax_rows(int n, const float *a, const float *x, float *tmp)
{
    for (int i = 0; i < n; i++) {
        float sum = 0.0f;
        for (int j = 0; j < n; j++)
            sum += a[i * n + j] * x[j];
        tmp[i] = sum;
    }
}

void atax_columns(int n, const float *a, const float *tmp, float *y)
{
    for (int j = 0; j < n; j++) {
        float sum = 0.0f;
        for (int i = 0; i < n; i++)
            sum += a[i * n + j] * tmp[i];
        y[j] = sum;
    }
}

static void initialise(int n, float *a, float *x)
{
    for (int i = 0; i < n; i++) {
        x[i] = 1.0f + (float)(i % 3);
        for (int j = 0; j < n; j++)
            a[i * n + j] = (float)(i * j) / (float)n;
    }
}

int main(int argc, char **argv)
{
    int n = size_argument(argc, argv, 1, 16, 1, 8192);
    float *a = malloc(sizeof(float) * (size_t)n * (size_t)n);
    float *x = malloc(sizeof(float) * (size_t)n);
    float *y = malloc(sizeof(float) * (size_t)n);
    float *tmp = malloc(sizeof(float) * (size_t)n);
    require(a && x && y && tmp);
    initialise(n, a, x);
    atax_clear(n, y);
    atax_rows(n, a, x, tmp);
    atax_columns(n, a, tmp, y);
    print_sum("y", y, n);
    free(a);
    free(x);
    free(y);
    free(tmp);
    return 0;
}
