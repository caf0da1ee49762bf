/* Burgers' equation u_t + u u_x + u u_y = 0 on N x N points, upwind, until the time END.
 *
 *     advection [N [END]]                   default: 16 0.2
 *
 * The greatest |u| of each step limits its time step (CFL). q x q blocks, per step: halo of the upwind side
 * 2 N (q - 1) words, maximum and its way back 2 (p - 1). All add up the time by themselves. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

int solve(int n, double end, double *u, double *v)
{
    int steps = 0, w = n + 2;
    double t = 0.0, dx = 1.0 / n;
    while (t < end) {
        double fastest = 0.0;
        for (int i = 1; i <= n; i++)
            for (int j = 1; j <= n; j++)
                if (fabs(u[i * w + j]) > fastest)
                    fastest = fabs(u[i * w + j]);
        double c = 0.4 / fastest; /* dt / dx */
        for (int i = 1; i <= n; i++)
            for (int j = 1; j <= n; j++) {
                int k = i * w + j;
                v[k] = u[k] - c * u[k] * (2.0 * u[k] - u[k - 1] - u[k - w]);
            }
        for (int i = 1; i <= n; i++)
            for (int j = 1; j <= n; j++)
                u[i * w + j] = v[i * w + j];
        t += c * dx;
        steps++;
    }
    return steps;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 16, w = n + 2;
    double end = argc > 2 ? atof(argv[2]) : 0.2;
    double *u = malloc(sizeof(double) * w * w), *v = malloc(sizeof(double) * w * w);
    for (int i = 0; i < w; i++)
        for (int j = 0; j < w; j++)
            u[i * w + j] = 1.0 + 0.3 * sin(6.28 * i / n) * cos(6.28 * j / n);
    int steps = solve(n, end, u, v);
    double middle = u[(n + 1) / 2 * w + (n + 1) / 2];
    printf("steps %d middle %.6e\n", steps, middle);
    free(u);
    free(v);
    return 0;
}
