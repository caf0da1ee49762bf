/* V-cycles for a Poisson equation; all levels lie in one pool, the coarse ones behind the fine ones. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct {
    int n;
    double *u, *f, *r;
} level_t;

#define AT(a, i, j) (a)[(size_t)(i) * (l->n + 2) + (j)]

static void smooth(level_t *l, int sweeps) {
    double h2 = 1.0 / ((l->n + 1.0) * (l->n + 1.0));
    for (int s = 0; s < sweeps; s++)
        for (int colour = 0; colour < 2; colour++)
            for (int i = 1; i <= l->n; i++)
                for (int j = 1 + (i + colour) % 2; j <= l->n; j += 2)
                    AT(l->u, i, j) = 0.25 * (AT(l->u, i - 1, j) + AT(l->u, i + 1, j) + AT(l->u, i, j - 1)
                                             + AT(l->u, i, j + 1) + h2 * AT(l->f, i, j));
}

static void residual(level_t *l) {
    double ih2 = (l->n + 1.0) * (l->n + 1.0);
    for (int i = 1; i <= l->n; i++)
        for (int j = 1; j <= l->n; j++)
            AT(l->r, i, j) = AT(l->f, i, j)
                + ih2 * (AT(l->u, i - 1, j) + AT(l->u, i + 1, j) + AT(l->u, i, j - 1) + AT(l->u, i, j + 1)
                         - 4.0 * AT(l->u, i, j));
}

static void cycle(level_t *l, int depth) {
    if (depth == 1) {
        smooth(l, 20);
        return;
    }
    level_t *c = l + 1;
    smooth(l, 2);
    residual(l);
    int m = c->n + 2;
    for (int i = 1; i <= c->n; i++)
        for (int j = 1; j <= c->n; j++) {
            c->f[i * m + j] = 0.25 * AT(l->r, 2 * i, 2 * j)
                + 0.125 * (AT(l->r, 2 * i - 1, 2 * j) + AT(l->r, 2 * i + 1, 2 * j) + AT(l->r, 2 * i, 2 * j - 1)
                           + AT(l->r, 2 * i, 2 * j + 1))
                + 0.0625 * (AT(l->r, 2 * i - 1, 2 * j - 1) + AT(l->r, 2 * i - 1, 2 * j + 1)
                            + AT(l->r, 2 * i + 1, 2 * j - 1) + AT(l->r, 2 * i + 1, 2 * j + 1));
            c->u[i * m + j] = 0.0;
        }
    cycle(c, depth - 1);
    for (int i = 1; i <= c->n; i++)
        for (int j = 1; j <= c->n; j++) {
            double e = c->u[i * m + j];
            AT(l->u, 2 * i, 2 * j) += e;
            AT(l->u, 2 * i + 1, 2 * j) += 0.5 * (e + c->u[(i + 1) * m + j]);
            AT(l->u, 2 * i, 2 * j + 1) += 0.5 * (e + c->u[i * m + j + 1]);
            AT(l->u, 2 * i + 1, 2 * j + 1)
                += 0.25 * (e + c->u[(i + 1) * m + j] + c->u[i * m + j + 1] + c->u[(i + 1) * m + j + 1]);
        }
    smooth(l, 2);
}

int main(int argc, char **argv) {
    int depth = argc > 1 ? atoi(argv[1]) : 9, cycles = argc > 2 ? atoi(argv[2]) : 10;
    size_t words = 0;
    for (int d = depth; d >= 1; d--)
        words += 3 * (size_t)((1 << d) + 1) * ((1 << d) + 1);
    double *pool = calloc(words, sizeof *pool);
    level_t *levels = malloc(depth * sizeof *levels);
    for (int d = depth, k = 0; d >= 1; d--, k++) {
        size_t size = (size_t)((1 << d) + 1) * ((1 << d) + 1);
        levels[k].n = (1 << d) - 1;
        levels[k].u = pool;
        levels[k].f = pool + size;
        levels[k].r = pool + 2 * size;
        pool += 3 * size;
    }
    level_t *l = levels;
    for (int i = 1; i <= l->n; i++)
        for (int j = 1; j <= l->n; j++)
            AT(l->f, i, j) = sin(0.1 * i) * cos(0.2 * j);
    for (int k = 0; k < cycles; k++)
        cycle(levels, depth);
    printf("%.10e\n", AT(l->u, l->n / 2, l->n / 3));
    return 0;
}
