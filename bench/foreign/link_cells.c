/* Molecular dynamics with linked cells: a head per cell, each atom names the next one; built in every step. */
#include <stdio.h>
#include <stdlib.h>

static int cells;
static double box, cutoff2 = 6.25;

static int cell_of(const double *x) {
    int c = 0;
    for (int d = 0; d < 3; d++) {
        int k = (int)(x[d] / box * cells);
        c = c * cells + (k < 0 ? 0 : k >= cells ? cells - 1 : k);
    }
    return c;
}

static void pair(double *f, const double *x, int i, int j, double *energy) {
    double t[3], r2 = 0;
    for (int d = 0; d < 3; d++) {
        t[d] = x[3 * i + d] - x[3 * j + d];
        r2 += t[d] * t[d];
    }
    if (r2 >= cutoff2) return;
    double s = 1 / r2, s6 = s * s * s, g = 24 * s6 * (2 * s6 - 1) * s;
    *energy += 4 * s6 * (s6 - 1);
    for (int d = 0; d < 3; d++) {
        f[3 * i + d] += g * t[d];
        f[3 * j + d] -= g * t[d];
    }
}

static double forces(double *f, const double *x, int n, int *head, int *next) {
    double energy = 0;
    for (int c = 0; c < cells * cells * cells; c++) head[c] = -1;
    for (int i = 0; i < n; i++) {
        int c = cell_of(x + 3 * i);
        next[i] = head[c];
        head[c] = i;
    }
    for (int i = 0; i < 3 * n; i++) f[i] = 0;
    for (int a = 0; a < cells; a++)
        for (int b = 0; b < cells; b++)
            for (int c = 0; c < cells; c++)
                for (int k = 13; k < 27; k++) { /* the cell itself and half of its neighbours */
                    int u = a + k / 9 - 1, v = b + k / 3 % 3 - 1, w = c + k % 3 - 1;
                    if (u < 0 || v < 0 || w < 0 || u >= cells || v >= cells || w >= cells) continue;
                    for (int i = head[(a * cells + b) * cells + c]; i >= 0; i = next[i])
                        for (int j = k == 13 ? next[i] : head[(u * cells + v) * cells + w]; j >= 0; j = next[j])
                            pair(f, x, i, j, &energy);
                }
    return energy;
}

int main(int argc, char **argv) {
    int side = argc > 1 ? atoi(argv[1]) : 10, steps = argc > 2 ? atoi(argv[2]) : 20, n = side * side * side;
    box = 1.1 * side;
    cells = (int)(box / 2.5);
    int *head = malloc(sizeof *head * cells * cells * cells), *next = malloc(sizeof *next * n);
    double *x = malloc(sizeof *x * 3 * n), *v = malloc(sizeof *v * 3 * n), *f = calloc(3 * n, sizeof *f);
    double dt = 0.002, energy = 0;
    for (int i = 0; i < n; i++) {
        int at[3] = {i % side, i / side % side, i / side / side};
        for (int d = 0; d < 3; d++) {
            x[3 * i + d] = 1.1 * at[d] + 0.55;
            v[3 * i + d] = 0.1 * ((i * 7 + d * 3) % 11 - 5);
        }
    }
    for (int s = 0; s < steps; s++) {
        energy = forces(f, x, n, head, next);
        for (int i = 0; i < 3 * n; i++) {
            v[i] += dt * f[i];
            x[i] += dt * v[i];
        }
    }
    printf("%.10e\n", energy);
    return 0;
}
