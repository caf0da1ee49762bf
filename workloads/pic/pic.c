/*
 * Particles in cells: electrons in a periodic box before a fixed background of ions.
 *
 *     pic [N [PER_CELL [STEPS [SWEEPS [CHARGE]]]]]       default: 16 4 5 4 1
 *
 * N x N cells of size one with a grid point at their lower left corner, PER_CELL particles per cell at the
 * start, each of mass 1 and charge -CHARGE. Charge and potential are counted in units of CHARGE. A time step
 *   1. deposits the charge of each particle on the four grid points around it, with linear weights;
 *   2. improves the potential by SWEEPS Jacobi sweeps of the Poisson equation, from that of the last step;
 *   3. differentiates it to the electric field;
 *   4. interpolates the field to the particles and pushes them. They move to other cells.
 */
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define DT 0.1
#define THERMAL 0.5 /* largest initial velocity component */

typedef struct {
    int count;
    double *x, *y;   /* position in cells, from 0 to N */
    double *vx, *vy; /* velocity in cells per unit of time */
    double kick;     /* change of velocity in a step, per field */
} Particles;

typedef struct {
    int n;
    double background;   /* charge of the ions per grid point */
    double *rho;         /* charge */
    double *phi, *work;  /* potential */
    double *ex, *ey;     /* electric field */
} Grid;

/* The four grid points around a position, and their weights. */
typedef struct {
    int point[4];
    double weight[4];
} Corners;

static int wrap(int i, int n)
{
    return i < 0 ? i + n : i >= n ? i - n : i;
}

static Corners corners_of(int n, double x, double y)
{
    int j = (int)x, i = (int)y;
    double fx = x - j, fy = y - i;
    j = wrap(j, n); /* a position just below N may have been rounded to it */
    i = wrap(i, n);
    int right = wrap(j + 1, n), above = wrap(i + 1, n);
    Corners c = {{i * n + j, i * n + right, above * n + j, above * n + right},
                 {(1.0 - fx) * (1.0 - fy), fx * (1.0 - fy), (1.0 - fx) * fy, fx * fy}};
    return c;
}

void deposit(const Particles *p, Grid *g)
{
    for (int k = 0; k < g->n * g->n; k++)
        g->rho[k] = 0.0;
    for (int k = 0; k < p->count; k++) {
        Corners c = corners_of(g->n, p->x[k], p->y[k]);
        for (int corner = 0; corner < 4; corner++)
            g->rho[c.point[corner]] += c.weight[corner];
    }
}

void solve_field(Grid *g, int sweeps)
{
    int n = g->n;
    for (int sweep = 0; sweep < sweeps; sweep++) {
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) {
                double around = g->phi[wrap(i - 1, n) * n + j] + g->phi[wrap(i + 1, n) * n + j] +
                                g->phi[i * n + wrap(j - 1, n)] + g->phi[i * n + wrap(j + 1, n)];
                g->work[i * n + j] = 0.25 * (around + g->background - g->rho[i * n + j]);
            }
        for (int k = 0; k < n * n; k++)
            g->phi[k] = g->work[k];
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            g->ex[i * n + j] = 0.5 * (g->phi[i * n + wrap(j - 1, n)] - g->phi[i * n + wrap(j + 1, n)]);
            g->ey[i * n + j] = 0.5 * (g->phi[wrap(i - 1, n) * n + j] - g->phi[wrap(i + 1, n) * n + j]);
        }
}

/* Gather the field and move. */
void push(Particles *p, const Grid *g)
{
    double n = g->n;
    for (int k = 0; k < p->count; k++) {
        Corners c = corners_of(g->n, p->x[k], p->y[k]);
        double ex = 0.0, ey = 0.0;
        for (int corner = 0; corner < 4; corner++) {
            ex += c.weight[corner] * g->ex[c.point[corner]];
            ey += c.weight[corner] * g->ey[c.point[corner]];
        }
        p->vx[k] -= p->kick * ex;
        p->vy[k] -= p->kick * ey;
        double x = p->x[k] + DT * p->vx[k];
        double y = p->y[k] + DT * p->vy[k];
        p->x[k] = x - n * floor(x / n);
        p->y[k] = y - n * floor(y / n);
    }
}

/* The main loop. */
void pic_run(Particles *p, Grid *g, int steps, int sweeps)
{
    for (int step = 0; step < steps; step++) {
        deposit(p, g);
        solve_field(g, sweeps);
        push(p, g);
    }
}

/* Scrambles an index into 32 well mixed bits. */
static uint32_t scramble(uint32_t x)
{
    x = (x ^ (x >> 16)) * 0x7feb352du;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    return x ^ (x >> 16);
}

/* Number 0 to 3 of a particle, in [0, 1). */
static double uniform(int particle, int number)
{
    return scramble(4u * (uint32_t)particle + (uint32_t)number + 1u) / 4294967296.0;
}

static void initialise(Particles *p, Grid *g, int per_cell)
{
    int n = g->n;
    for (int k = 0; k < p->count; k++) {
        int cell = k / per_cell;
        p->x[k] = cell % n + uniform(k, 0);
        p->y[k] = cell / n + uniform(k, 1);
        p->vx[k] = THERMAL * (2.0 * uniform(k, 2) - 1.0);
        p->vy[k] = THERMAL * (2.0 * uniform(k, 3) - 1.0);
    }
    for (int k = 0; k < n * n; k++)
        g->phi[k] = 0.0;
}

static int argument(const char *name, const char *text, int low, int high)
{
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno || end == text || *end || value < low || value > high) {
        fprintf(stderr, "pic: %s must be an integer from %d to %d, found '%s'\n", name, low, high, text);
        exit(2);
    }
    return (int)value;
}

static double positive(const char *name, const char *text, double high)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end || !(value > 0.0 && value <= high)) {
        fprintf(stderr, "pic: %s must be a number above 0, at most %g, found '%s'\n", name, high, text);
        exit(2);
    }
    return value;
}

static double *allocate(int count)
{
    double *memory = malloc((size_t)count * sizeof(double));
    if (!memory) {
        fprintf(stderr, "pic: not enough memory for %d numbers\n", count);
        exit(1);
    }
    return memory;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? argument("N", argv[1], 2, 2000) : 16;
    int per_cell = argc > 2 ? argument("PER_CELL", argv[2], 1, 100) : 4;
    int steps = argc > 3 ? argument("STEPS", argv[3], 0, 1000000) : 5;
    int sweeps = argc > 4 ? argument("SWEEPS", argv[4], 1, 10000) : 4;
    double charge = argc > 5 ? positive("CHARGE", argv[5], 1000.0) : 1.0;
    if (argc > 6) {
        fprintf(stderr, "usage: pic [N [PER_CELL [STEPS [SWEEPS [CHARGE]]]]]\n");
        return 2;
    }

    int points = n * n, count = points * per_cell;
    /* The force is the charge times the field, which is proportional to the charge itself. */
    Particles p = {count,           allocate(count), allocate(count),
                   allocate(count), allocate(count), DT * charge * charge};
    Grid g = {n,
              per_cell,
              allocate(points),
              allocate(points),
              allocate(points),
              allocate(points),
              allocate(points)};
    initialise(&p, &g, per_cell);

    pic_run(&p, &g, steps, sweeps);

    double potential = 0.0, kinetic = 0.0, positions = 0.0;
    for (int k = 0; k < points; k++)
        potential += g.phi[k] * g.phi[k];
    for (int k = 0; k < count; k++)
        kinetic += 0.5 * (p.vx[k] * p.vx[k] + p.vy[k] * p.vy[k]);
    for (int k = 0; k < count; k++)
        positions += p.x[k] + 2.0 * p.y[k];
    printf("pic n %d particles %d steps %d sweeps %d\n", n, count, steps, sweeps);
    printf("potential %.10e\n", charge * charge * potential);
    printf("kinetic %.10e\n", kinetic);
    printf("positions %.10e\n", positions);
    free(p.x);
    free(p.y);
    free(p.vx);
    free(p.vy);
    free(g.rho);
    free(g.phi);
    free(g.work);
    free(g.ex);
    free(g.ey);
    return 0;
}
