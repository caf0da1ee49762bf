/* Molecular dynamics with a cut-off: structures of positions, lists of neighbours built every tenth step. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct { double x[3], v[3], f[3]; } atom_t;
enum { MOST = 96 };

static double box, cutoff2 = 6.25, skin2 = 7.84;

static double wrapped(double d) {
    if (d > 0.5 * box) d -= box;
    if (d < -0.5 * box) d += box;
    return d;
}

static void build(const atom_t *atoms, int n, int *count, int *list) {
    for (int i = 0; i < n; i++)
        count[i] = 0;
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++) {
            double r2 = 0;
            for (int d = 0; d < 3; d++) {
                double t = wrapped(atoms[i].x[d] - atoms[j].x[d]);
                r2 += t * t;
            }
            if (r2 < skin2 && count[i] < MOST)
                list[i * MOST + count[i]++] = j;
        }
}

static double forces(atom_t *atoms, int n, const int *count, const int *list) {
    double energy = 0;
    for (int i = 0; i < n; i++)
        for (int d = 0; d < 3; d++)
            atoms[i].f[d] = 0;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < count[i]; k++) {
            int j = list[i * MOST + k];
            double t[3], r2 = 0;
            for (int d = 0; d < 3; d++) {
                t[d] = wrapped(atoms[i].x[d] - atoms[j].x[d]);
                r2 += t[d] * t[d];
            }
            if (r2 < cutoff2) {
                double s = 1 / r2, s6 = s * s * s, g = 24 * s6 * (2 * s6 - 1) * s;
                energy += 4 * s6 * (s6 - 1);
                for (int d = 0; d < 3; d++) {
                    atoms[i].f[d] += g * t[d];
                    atoms[j].f[d] -= g * t[d];
                }
            }
        }
    return energy;
}

int main(int argc, char **argv) {
    int side = argc > 1 ? atoi(argv[1]) : 10, steps = argc > 2 ? atoi(argv[2]) : 20, n = side * side * side;
    atom_t *atoms = malloc(n * sizeof *atoms);
    int *count = malloc(n * sizeof *count), *list = malloc((size_t)n * MOST * sizeof *list);
    double dt = 0.002, energy = 0;
    box = 1.1 * side;
    for (int i = 0; i < n; i++) {
        int at[3] = {i % side, i / side % side, i / side / side};
        for (int d = 0; d < 3; d++) {
            atoms[i].x[d] = 1.1 * at[d];
            atoms[i].v[d] = 0.1 * ((i * 7 + d * 3) % 11 - 5);
        }
    }
    for (int s = 0; s < steps; s++) {
        if (s % 10 == 0)
            build(atoms, n, count, list);
        energy = forces(atoms, n, count, list);
        for (int i = 0; i < n; i++)
            for (int d = 0; d < 3; d++) {
                atoms[i].v[d] += dt * atoms[i].f[d];
                atoms[i].x[d] += dt * atoms[i].v[d];
            }
    }
    printf("%.10e\n", energy);
    return 0;
}
