/*
 * C = alpha A A^T + beta C in two kernels.
 *
 *     syrk [N]        default: 12
 */
#include "tasks.h"

#define ALPHA 1.5f
#define BETA 1.2f

void syrk_scale(int n, float *res)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            res[i * n + j] *= BETA;
}

void syrk_product(int n, const float *a, float *res)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int k = 0; k < n; k++)
                res[i * n + j] += ALPHA * a[i * n + k] * a[j * n + k];
}

static void initialise(int n, float *a, float *res)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            a[i * n + j] = (float)(i * j) / (float)n;
            res[i * n + j] = (float)(i * j + 2) / (float)n;
        }
}

int main(int argc, char **argv)
{
    int n = size_argument(argc, argv, 1, 12, 1, 8192);
    size_t bytes = sizeof(float) * (size_t)n * (size_t)n;
    float *a = malloc(bytes);
    float *res = malloc(bytes);
    require(a && res);
    initialise(n, a, res);
    syrk_scale(n, res);
    syrk_product(n, a, res);
    print_sum("res", res, n * n);
    free(a);
    free(res);
    return 0;
}
