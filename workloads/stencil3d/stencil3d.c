/*
 * 7-point averaging stencil on a cube: the main loop of a 3-D explicit hydrodynamics mini-app.
 *
 *     stencil3d [N [STEPS [copy|swap]]]     default: 32 10 copy
 *
 * N x N x N interior points surrounded by a layer of zeros. Every step replaces each point by the mean of
 * itself and its six neighbours; the first sine mode used as initial field shrinks by the factor
 * (1 + 6 cos(pi / (N + 1))) / 7 per step.
 *
 * copy: the step writes a work array that is copied back; swap: the two arrays change roles.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PI 3.14159265358979323846

typedef struct {
    long n;      /* interior points per edge */
    long row;    /* distance between neighbours in y */
    long plane;  /* distance between neighbours in z */
} Grid;

static long at(const Grid *g, long i, long j, long k)
{
    return i * g->plane + j * g->row + k;
}

void stencil_step(const Grid *g, const double *grid, double *work)
{
    for (long i = 1; i <= g->n; i++)
        for (long j = 1; j <= g->n; j++)
            for (long k = 1; k <= g->n; k++) {
                const double *c = &grid[at(g, i, j, k)];
                double sum = c[0] + c[-1] + c[1] + c[-g->row] + c[g->row] + c[-g->plane] + c[g->plane];
                work[at(g, i, j, k)] = sum / 7.0;
            }
}

void copy_back(const Grid *g, const double *work, double *grid)
{
    for (long i = 1; i <= g->n; i++)
        for (long j = 1; j <= g->n; j++)
            for (long k = 1; k <= g->n; k++)
                grid[at(g, i, j, k)] = work[at(g, i, j, k)];
}

/* The main loop; returns the array that holds the final field. */
double *stencil_run(const Grid *g, int steps, int swap, double *grid, double *work)
{
    for (int step = 0; step < steps; step++) {
        stencil_step(g, grid, work);
        if (swap) {
            double *old = grid;
            grid = work;
            work = old;
        } else {
            copy_back(g, work, grid);
        }
    }
    return grid;
}

static void initialise(const Grid *g, double *grid)
{
    double h = PI / (double)(g->n + 1);
    for (long i = 1; i <= g->n; i++)
        for (long j = 1; j <= g->n; j++)
            for (long k = 1; k <= g->n; k++)
                grid[at(g, i, j, k)] = sin(h * (double)i) * sin(h * (double)j) * sin(h * (double)k);
}

static int argument(const char *name, const char *text, int low, int high)
{
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno || end == text || *end || value < low || value > high) {
        fprintf(stderr, "stencil3d: %s must be an integer from %d to %d, found '%s'\n", name, low, high,
                text);
        exit(2);
    }
    return (int)value;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? argument("N", argv[1], 1, 1000) : 32;
    int steps = argc > 2 ? argument("STEPS", argv[2], 0, 1000000) : 10;
    const char *mode = argc > 3 ? argv[3] : "copy";
    int swap = strcmp(mode, "swap") == 0;
    if (argc > 4 || (!swap && strcmp(mode, "copy") != 0)) {
        fprintf(stderr, "usage: stencil3d [N [STEPS [copy|swap]]]\n");
        return 2;
    }

    Grid g = {n, n + 2, (long)(n + 2) * (n + 2)};
    size_t points = (size_t)g.plane * (size_t)(n + 2);
    double *a = calloc(points, sizeof(double));
    double *b = calloc(points, sizeof(double));
    if (!a || !b) {
        fprintf(stderr, "stencil3d: not enough memory for N = %d\n", n);
        free(a);
        free(b);
        return 1;
    }
    initialise(&g, a);

    double *field = stencil_run(&g, steps, swap, a, b);

    double sum = 0.0;
    for (long i = 1; i <= g.n; i++)
        for (long j = 1; j <= g.n; j++)
            for (long k = 1; k <= g.n; k++)
                sum += field[at(&g, i, j, k)];
    long middle = (n + 1) / 2;
    printf("stencil3d n %d steps %d mode %s\n", n, steps, mode);
    printf("sum %.10e\n", sum);
    printf("centre %.10e\n", field[at(&g, middle, middle, middle)]);
    free(a);
    free(b);
    return 0;
}
