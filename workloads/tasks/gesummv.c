/*
 * y = alpha A x + beta B x.
 *
 *     gesummv [N]        default: 16
 */
#include "tasks.h"

#define ALPHA 1.5f
#define BETA 1.2f

void gesummv(int n, const float *a, const float *b, const float *x, float *y, float *tmp)
{
    for (int i = 0; i < n; i++) {
        float first = 0.0f;
        float second = 0.0f;
        for (int j = 0; j < n; j++) {
            first += a[i * n + j] * x[j];
            second += b[i * n + j] * x[j];
        }
        tmp[i] = first;
        y[i] = ALPHA * first + BETA * second;
    }
}

static void initialise(int n, float *a, float *b, float *x)
{
    for (int i = 0; i < n; i++) {
        x[i] = (float)i / (float)n;
        for (int j = 0; j < n; j++) {
            a[i * n + j] = (float)(i * j) / (float)n;
            b[i * n + j] = (float)(i * j + 1) / (float)n;
        }
    }
}

int main(int argc, char **argv)
{
    int n = size_argument(argc, argv, 1, 16, 1, 8192);
    size_t bytes = sizeof(float) * (size_t)n * (size_t)n;
    float *a = malloc(bytes);
    float *b = malloc(bytes);
    float *x = malloc(sizeof(float) * (size_t)n);
    float *y = malloc(sizeof(float) * (size_t)n);
    float *tmp = malloc(sizeof(float) * (size_t)n);
    require(a && b && x && y && tmp);
    initialise(n, a, b, x);
    gesummv(n, a, b, x, y, tmp);
    print_sum("y", y, n);
    print_sum("tmp", tmp, n);
    free(a);
    free(b);
    free(x);
    free(y);
    free(tmp);
    return 0;
}
