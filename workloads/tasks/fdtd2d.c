/*
 * Electric and magnetic field in the plane by finite differences in time; four kernels per step.
 *
 *     fdtd2d [N [STEPS]]        default: 12 2
 *
 * ex is N x (N + 1), ey (N + 1) x N, hz N x N; fict drives the first row of ey.
 */
#include "tasks.h"

void fdtd2d_source(int n, int step, const float *fict, float *ey)
{
    for (int j = 0; j < n; j++)
        ey[j] = fict[step];
}

void fdtd2d_ey(int n, float *ey, const float *hz)
{
    for (int i = 1; i < n; i++)
        for (int j = 0; j < n; j++)
            ey[i * n + j] -= 0.5f * (hz[i * n + j] - hz[(i - 1) * n + j]);
}

void fdtd2d_ex(int n, float *ex, const float *hz)
{
    for (int i = 0; i < n; i++)
        for (int j = 1; j < n; j++)
            ex[i * (n + 1) + j] -= 0.5f * (hz[i * n + j] - hz[i * n + j - 1]);
}

void fdtd2d_hz(int n, const float *ex, const float *ey, float *hz)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            hz[i * n + j] -= 0.7f * (ex[i * (n + 1) + j + 1] - ex[i * (n + 1) + j] + ey[(i + 1) * n + j] - ey[i * n + j]);
}

static void initialise(int n, int steps, float *fict, float *ex, float *ey, float *hz)
{
    for (int t = 0; t < steps; t++)
        fict[t] = (float)t;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n + 1; j++)
            ex[i * (n + 1) + j] = (float)(i * (j + 1) + 1) / (float)n;
    for (int i = 0; i < n + 1; i++)
        for (int j = 0; j < n; j++)
            ey[i * n + j] = (float)((i - 1) * (j + 2) + 2) / (float)n;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            hz[i * n + j] = (float)((i - 9) * (j + 4) + 3) / (float)n;
}

int main(int argc, char **argv)
{
    int n = size_argument(argc, argv, 1, 12, 2, 8192);
    int steps = size_argument(argc, argv, 2, 2, 1, 100000);
    float *fict = malloc(sizeof(float) * (size_t)steps);
    float *ex = malloc(sizeof(float) * (size_t)n * (size_t)(n + 1));
    float *ey = malloc(sizeof(float) * (size_t)(n + 1) * (size_t)n);
    float *hz = malloc(sizeof(float) * (size_t)n * (size_t)n);
    require(fict && ex && ey && hz);
    initialise(n, steps, fict, ex, ey, hz);
    for (int t = 0; t < steps; t++) {
        fdtd2d_source(n, t, fict, ey);
        fdtd2d_ey(n, ey, hz);
        fdtd2d_ex(n, ex, hz);
        fdtd2d_hz(n, ex, ey, hz);
    }
    print_sum("hz", hz, n * n);
    free(fict);
    free(ex);
    free(ey);
    free(hz);
    return 0;
}
