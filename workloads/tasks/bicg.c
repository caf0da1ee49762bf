/*
 * q = A p and s = A^T r, the two products of the BiCG method.
 *
 *     bicg [N]        default: 16
 */
#include "tasks.h"

void bicg_rows(int n, const float *a, const float *p, float *q)
{
    for (int i = 0; i < n; i++) {
        float sum = 0.0f;
        for (int j = 0; j < n; j++)
            sum += a[i * n + j] * p[j];
        q[i] = sum;
    }
}

void bicg_columns(int n, const float *a, const float *r, float *s)
{
    for (int j = 0; j < n; j++) {
        float sum = 0.0f;
        for (int i = 0; i < n; i++)
            sum += r[i] * a[i * n + j];
        s[j] = sum;
    }
}

static void initialise(int n, float *a, float *p, float *r)
{
    for (int i = 0; i < n; i++) {
        p[i] = (float)(i % 5) * 0.25f;
        r[i] = (float)(i % 3) * 0.5f;
        for (int j = 0; j < n; j++)
            a[i * n + j] = (float)(i * j) / (float)n;
    }
}

int main(int argc, char **argv)
{
    int n = size_argument(argc, argv, 1, 16, 1, 8192);
    float *a = malloc(sizeof(float) * (size_t)n * (size_t)n);
    float *p = malloc(sizeof(float) * (size_t)n);
    float *q = malloc(sizeof(float) * (size_t)n);
    float *r = malloc(sizeof(float) * (size_t)n);
    float *s = malloc(sizeof(float) * (size_t)n);
    require(a && p && q && r && s);
    initialise(n, a, p, r);
    bicg_rows(n, a, p, q);
    bicg_columns(n, a, r, s);
    print_sum("q", q, n);
    print_sum("s", s, n);
    free(a);
    free(p);
    free(q);
    free(r);
    free(s);
    return 0;
}
