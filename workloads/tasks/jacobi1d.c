/*
 * One step of Jacobi's relaxation on a line.
 *
 *     jacobi1d [N]        default: 64
 */
#include "tasks.h"

void jacobi1d(int n, const float *a, float *res)
{
    for (int i = 1; i < n - 1; i++)
        res[i] = 0.33333f * (a[i - 1] + a[i] + a[i + 1]);
}

static void initialise(int n, float *a, float *res)
{
    for (int i = 0; i < n; i++) {
        a[i] = (float)(i + 2) / (float)n;
        res[i] = (float)(i + 3) / (float)n;
    }
}

int main(int argc, char **argv)
{
    int n = size_argument(argc, argv, 1, 64, 3, 1 << 26);
    float *a = malloc(sizeof(float) * (size_t)n);
    float *res = malloc(sizeof(float) * (size_t)n);
    require(a && res);
    initialise(n, a, res);
    jacobi1d(n, a, res);
    print_sum("res", res, n);
    free(a);
    free(res);
    return 0;
}
