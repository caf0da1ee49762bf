/*
 * Heat conduction in a square plate: explicit (Jacobi) time stepping with the 5-point stencil.
 *
 *     heat2d [N [STEPS [copy|swap]]]        default: 256 50 copy
 *
 * N x N interior points, boundary held at zero, first sine mode as initial temperature. The discrete
 * problem has an exact solution: every step multiplies the field by 1 - 8 R sin^2(pi / (2 (N + 1))).
 *
 * copy: the new field is computed into a work array and copied back (one array holds the solution);
 * swap: the two arrays change roles after every step.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define R 0.2 /* diffusivity * dt / dx^2, stable below 0.25 */
#define PI 3.14159265358979323846

/* One explicit step on the interior of the (n + 2) x (n + 2) arrays. */
void heat_step(int n, const double *u, double *u_new)
{
    int w = n + 2;
    for (int i = 1; i <= n; i++)
        for (int j = 1; j <= n; j++) {
            double centre = u[i * w + j];
            double around = u[(i - 1) * w + j] + u[(i + 1) * w + j] + u[i * w + j - 1] + u[i * w + j + 1];
            u_new[i * w + j] = centre + R * (around - 4.0 * centre);
        }
}

void copy_interior(int n, const double *from, double *to)
{
    int w = n + 2;
    for (int i = 1; i <= n; i++)
        for (int j = 1; j <= n; j++)
            to[i * w + j] = from[i * w + j];
}

/* The main loop; returns the array that holds the final temperature. */
double *heat_solve(int n, int steps, int swap, double *u, double *u_new)
{
    for (int step = 0; step < steps; step++) {
        heat_step(n, u, u_new);
        if (swap) {
            double *old = u;
            u = u_new;
            u_new = old;
        } else {
            copy_interior(n, u_new, u);
        }
    }
    return u;
}

static void initialise(int n, double *u, double *u_new)
{
    int w = n + 2;
    double h = PI / (n + 1);
    for (int i = 0; i < w; i++)
        for (int j = 0; j < w; j++) {
            int on_boundary = i == 0 || j == 0 || i == n + 1 || j == n + 1;
            u[i * w + j] = on_boundary ? 0.0 : sin(h * i) * sin(h * j);
            u_new[i * w + j] = 0.0;
        }
}

static int argument(const char *name, const char *text, int low, int high)
{
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno || end == text || *end || value < low || value > high) {
        fprintf(stderr, "heat2d: %s must be an integer from %d to %d, found '%s'\n", name, low, high,
                text);
        exit(2);
    }
    return (int)value;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? argument("N", argv[1], 1, 20000) : 256;
    int steps = argc > 2 ? argument("STEPS", argv[2], 0, 1000000) : 50;
    const char *mode = argc > 3 ? argv[3] : "copy";
    int swap = strcmp(mode, "swap") == 0;
    if (argc > 4 || (!swap && strcmp(mode, "copy") != 0)) {
        fprintf(stderr, "usage: heat2d [N [STEPS [copy|swap]]]\n");
        return 2;
    }

    int w = n + 2;
    double *a = malloc(sizeof(double) * w * w);
    double *b = malloc(sizeof(double) * w * w);
    if (!a || !b) {
        fprintf(stderr, "heat2d: not enough memory for N = %d\n", n);
        free(a);
        free(b);
        return 1;
    }
    initialise(n, a, b);

    double *u = heat_solve(n, steps, swap, a, b);

    double sum = 0.0;
    for (int i = 1; i <= n; i++)
        for (int j = 1; j <= n; j++)
            sum += u[i * w + j];
    printf("heat2d n %d steps %d mode %s\n", n, steps, mode);
    printf("sum %.10e\n", sum);
    printf("centre %.10e\n", u[(n + 1) / 2 * w + (n + 1) / 2]);
    free(a);
    free(b);
    return 0;
}
