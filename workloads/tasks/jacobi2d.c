/*
 * One step of Jacobi's relaxation in the plane, five points.
 *
 *     jacobi2d [N]        default: 16
 */
#include "tasks.h"

void jacobi2d(int n, const float *a, float *res)
{
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < n - 1; j++)
            res[i * n + j] = 0.2f * (a[i * n + j] + a[i * n + j - 1] + a[i * n + j + 1]
                                   + a[(i + 1) * n + j] + a[(i - 1) * n + j]);
}

static void initialise(int n, float *a, float *res)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            a[i * n + j] = (float)(i * (j + 2) + 2) / (float)n;
            res[i * n + j] = (float)(i * (j + 3) + 3) / (float)n;
        }
}

int main(int argc, char **argv)
{
    int n = size_argument(argc, argv, 1, 16, 3, 8192);
    size_t bytes = sizeof(float) * (size_t)n * (size_t)n;
    float *a = malloc(bytes);
    float *res = malloc(bytes);
    require(a && res);
    initialise(n, a, res);
    jacobi2d(n, a, res);
    print_sum("res", res, n * n);
    free(a);
    free(res);
    return 0;
}
