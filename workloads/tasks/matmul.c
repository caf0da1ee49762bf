/*
 * C = A B, the sum kept in a register.
 *
 *     matmul [N]        default: 12
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

static void initialise(int n, float *a, float *b)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            a[i * n + j] = (float)((i + 1) * (j + 2) % 7);
            b[i * n + j] = (float)((i + 2) * (j + 1) % 5 - 2);
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
    initialise(n, a, b);
    matmul(n, a, b, c);
    print_sum("c", c, n * n);
    free(a);
    free(b);
    free(c);
    return 0;
}
