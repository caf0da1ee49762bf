/*
 * Convolution of a matrix with nine weights.
 *
 *     2dconv [N]        default: 16
 */
#include "tasks.h"

void conv2d(int n, const float *a, float *b)
{
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < n - 1; j++)
            b[i * n + j] = 0.2f * a[(i - 1) * n + j - 1] + 0.5f * a[(i - 1) * n + j] - 0.8f * a[(i - 1) * n + j + 1]
                         - 0.3f * a[i * n + j - 1] + 0.6f * a[i * n + j] - 0.9f * a[i * n + j + 1]
                         + 0.4f * a[(i + 1) * n + j - 1] + 0.7f * a[(i + 1) * n + j] + 0.1f * a[(i + 1) * n + j + 1];
}

static void initialise(int n, float *a, float *b)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            a[i * n + j] = (float)((i * 31 + j * 17) % 101) / 101.0f;
            b[i * n + j] = 0.0f;
        }
}

int main(int argc, char **argv)
{
    int n = size_argument(argc, argv, 1, 16, 3, 8192);
    size_t bytes = sizeof(float) * (size_t)n * (size_t)n;
    float *a = malloc(bytes);
    float *b = malloc(bytes);
    require(a && b);
    initialise(n, a, b);
    conv2d(n, a, b);
    print_sum("b", b, n * n);
    free(a);
    free(b);
    return 0;
}
