/* Sod's shock tube: Euler's equations in one dimension, Rusanov fluxes, the time step from the CFL minimum.
 *
 * Blocks of cells, per step: three numbers on both sides of p - 1 cuts, 6 (p - 1) words; the least time step
 * and its way back 2 (p - 1). All add up the time by themselves. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define GAMMA 1.4
typedef struct { double rho, mom, ene; } Cell;

static double pressure(Cell c) { return (GAMMA - 1) * (c.ene - 0.5 * c.mom * c.mom / c.rho); }
static double speed(Cell c) { return fabs(c.mom / c.rho) + sqrt(GAMMA * pressure(c) / c.rho); }

static Cell flux(Cell l, Cell r)
{
    double s = fmax(speed(l), speed(r)), pl = pressure(l), pr = pressure(r);
    Cell f;
    f.rho = 0.5 * (l.mom + r.mom) - 0.5 * s * (r.rho - l.rho);
    f.mom = 0.5 * (l.mom * l.mom / l.rho + pl + r.mom * r.mom / r.rho + pr) - 0.5 * s * (r.mom - l.mom);
    f.ene = 0.5 * (l.mom / l.rho * (l.ene + pl) + r.mom / r.rho * (r.ene + pr)) - 0.5 * s * (r.ene - l.ene);
    return f;
}

int solve(int n, double end, Cell *now, Cell *next)
{
    int steps = 0;
    double t = 0, dx = 1.0 / n;
    while (t < end) {
        double dt = 1e30;
        for (int i = 0; i < n; i++)
            dt = fmin(dt, 0.4 * dx / speed(now[i]));
        for (int i = 1; i < n - 1; i++) {
            Cell a = flux(now[i - 1], now[i]), b = flux(now[i], now[i + 1]);
            next[i].rho = now[i].rho - dt / dx * (b.rho - a.rho);
            next[i].mom = now[i].mom - dt / dx * (b.mom - a.mom);
            next[i].ene = now[i].ene - dt / dx * (b.ene - a.ene);
        }
        for (int i = 1; i < n - 1; i++)
            now[i] = next[i];
        t += dt;
        steps++;
    }
    return steps;
}

int main(void)
{
    int n = 64;
    Cell *now = malloc(n * sizeof *now), *next = malloc(n * sizeof *next);
    for (int i = 0; i < n; i++)
        now[i] = i < n / 2 ? (Cell){1, 0, 2.5} : (Cell){0.125, 0, 0.25};
    int steps = solve(n, 0.1, now, next);
    printf("steps %d rho %.6e\n", steps, now[n / 2].rho);
}
