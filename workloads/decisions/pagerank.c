/* PageRank until the 1-norm of the change is below 1e-8. Pages in a ring link to the next one and the third.
 *
 * Blocks of pages, per iteration: three shares across each of p borders, 3 p words; the sum of the changes
 * and its way back 2 (p - 1). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct graph {
    int n;
    int *first; /* links to page i come from from[first[i]] to before from[first[i + 1]] */
    int *from;
    double *bias;
};

static double iterate(const struct graph *g, const double *old, double *new)
{
    double change = 0;
    for (int i = 0; i < g->n; i++) {
        double sum = 0;
        for (int k = g->first[i]; k < g->first[i + 1]; k++)
            sum += old[g->from[k]] / 2;
        new[i] = 0.15 * g->bias[i] + 0.85 * sum;
        change += fabs(new[i] - old[i]);
    }
    return change;
}

int solve(const struct graph *g, double *rank, double *new)
{
    for (int it = 1; it < 200; it++) {
        double change = iterate(g, rank, new);
        for (int i = 0; i < g->n; i++)
            rank[i] = new[i];
        if (change < 1e-8)
            return it;
    }
    return 0;
}

int main(void)
{
    struct graph g = {64, malloc(65 * sizeof(int)), malloc(128 * sizeof(int)), malloc(64 * sizeof(double))};
    double *rank = malloc(g.n * sizeof *rank), *new = malloc(g.n * sizeof *new);
    for (int i = 0; i < g.n; i++) {
        g.first[i] = 2 * i;
        g.from[2 * i] = (i + g.n - 1) % g.n;
        g.from[2 * i + 1] = (i + g.n - 3) % g.n;
        g.bias[i] = (1 + i % 3) / (2.0 * g.n);
        rank[i] = 1.0 / g.n;
    }
    g.first[g.n] = 2 * g.n;
    int steps = solve(&g, rank, new);
    printf("steps %d rank %.6e\n", steps, rank[1]);
}
