/* Transport by discrete ordinates: cells are swept from one of eight corners per octant, fluxes enter by faces. */
#include <stdio.h>
#include <stdlib.h>

enum { ANGLES = 4 };

static void sweep(double *flux, const double *source, double *x, double *y, double *z, int n, int octant) {
    static const double mu[ANGLES] = {0.9, 0.7, 0.4, 0.2}, weight[ANGLES] = {0.1, 0.2, 0.3, 0.4};
    for (int p = 0; p < n; p++)
        for (int q = 0; q < n; q++)
            for (int r = 0; r < n; r++) {
                int k = octant & 1 ? n - 1 - p : p, j = octant & 2 ? n - 1 - q : q, i = octant & 4 ? n - 1 - r : r;
                int c = (k * n + j) * n + i;
                double *px = x + (k * n + j) * ANGLES, *py = y + (k * n + i) * ANGLES, *pz = z + (j * n + i) * ANGLES;
                for (int a = 0; a < ANGLES; a++) {
                    double psi = (source[c] + mu[a] * px[a] + 0.5 * py[a] + (1 - mu[a]) * pz[a]) / (2.5 + mu[a]);
                    flux[c] += weight[a] * psi;
                    px[a] = 2 * psi - px[a];
                    py[a] = 2 * psi - py[a];
                    pz[a] = 2 * psi - pz[a];
                    if (px[a] < 0) px[a] = 0;
                    if (py[a] < 0) py[a] = 0;
                    if (pz[a] < 0) pz[a] = 0;
                }
            }
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 24, rounds = argc > 2 ? atoi(argv[2]) : 5, cells = n * n * n;
    double *flux = calloc(cells, sizeof *flux), *source = malloc(cells * sizeof *source), *face[3];
    for (int d = 0; d < 3; d++) face[d] = malloc(sizeof(double) * n * n * ANGLES);
    for (int c = 0; c < cells; c++) source[c] = c % 5 ? 0.1 : 1.0;
    for (int s = 0; s < rounds; s++) {
        for (int c = 0; c < cells; c++) flux[c] = 0;
        for (int octant = 0; octant < 8; octant++) {
            for (int d = 0; d < 3; d++)
                for (int k = 0; k < n * n * ANGLES; k++) face[d][k] = 0;
            sweep(flux, source, face[0], face[1], face[2], n, octant);
        }
        for (int c = 0; c < cells; c++) source[c] = 0.05 * flux[c] + (c % 5 ? 0.1 : 1.0);
    }
    printf("%.10e\n", flux[cells / 2]);
    return 0;
}
