/*
 * Sum of two vectors.
 *
 *     vecadd [N]        default: 256
 */
#include "tasks.h"

void vecadd(int n, const float *a, const float *b, float *c)
{
    for (int i = 0; i < n; i++)
        c[i] = a[i] + b[i];
}

static void initialise(int n, float *a, float *b)
{
    for (int i = 0; i < n; i++) {
        a[i] = (float)i;
        b[i] = (float)(2 * i + 1);
    }
}

int main(int argc, char **argv)
{
    int n = size_argument(argc, argv, 1, 256, 1, 1 << 26);
    size_t bytes = sizeof(float) * (size_t)n;
    float *a = malloc(bytes);
    float *b = malloc(bytes);
    float *c = malloc(bytes);
    require(a && b && c);
    initialise(n, a, b);
    vecadd(n, a, b, c);
    print_sum("c", c, n);
    free(a);
    free(b);
    free(c);
    return 0;
}
