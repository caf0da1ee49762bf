/*
 * One sweep of Gauss and Seidel's relaxation, in place: each point is the mean of the nine around it, of which
 * four are new already.
 *
 *     seidel [N]        default: 16
 */
#include "tasks.h"

void seidel(int n, float *a)
{
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < n - 1; j++)
            a[i * n + j] = (a[(i - 1) * n + j - 1] + a[(i - 1) * n + j] + a[(i - 1) * n + j + 1]
                          + a[i * n + j - 1] + a[i * n + j] + a[i * n + j + 1]
                          + a[(i + 1) * n + j - 1] + a[(i + 1) * n + j] + a[(i + 1) * n + j + 1]) / 9.0f;
}

static void initialise(int n, float *a)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            a[i * n + j] = (float)(i * (j + 2) + 2) / (float)n;
}

int main(int argc, char **argv)
{
    int n = size_argument(argc, argv, 1, 16, 3, 8192);
    float *a = malloc(sizeof(float) * (size_t)n * (size_t)n);
    require(a != NULL);
    initialise(n, a);
    seidel(n, a);
    print_sum("a", a, n * n);
    free(a);
    return 0;
}
