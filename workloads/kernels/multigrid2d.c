/* V-cycles for a Poisson equation on n x n cells, n = 4 * 2^k: smoothing, residual, averages of four cells to the next level,
 * injection back, smoothing; all levels of u, v and f as sub-arrays of one pool.
 *
 * Plain division: p1 x p2 blocks of cells on each level. Each smoothing and each residual reads one layer of neighbours
 * (also of the zeros that levels start from); sums of residuals and corrections cross where blocks of two levels do not
 * match. vcycle_words counts these sets. */
#include <stdio.h>
#include <stdlib.h>
struct level {
  int n;
  double *u, *v, *f;
};
static double around(const double *x, int n, int i, int j) {
  double sum = 0;
  if (i > 0) sum += x[(i - 1) * n + j];
  if (i < n - 1) sum += x[(i + 1) * n + j];
  if (j > 0) sum += x[i * n + j - 1];
  if (j < n - 1) sum += x[i * n + j + 1];
  return sum;
}
static void smooth(int n, const double *from, const double *f, double *to) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) to[i * n + j] = 0.2 * from[i * n + j] + 0.2 * (f[i * n + j] + around(from, n, i, j));
}
static void cycle(struct level *l, int levels) {
  int n = l->n;
  smooth(n, l->u, l->f, l->v);
  if (levels == 1) {
    for (int i = 0; i < n * n; i++) l->u[i] = l->v[i];
    return;
  }
  for (int i = 0; i < n / 2; i++)
    for (int j = 0; j < n / 2; j++) {
      double sum = 0;
      for (int a = 2 * i; a < 2 * i + 2; a++)
        for (int b = 2 * j; b < 2 * j + 2; b++) sum += l->f[a * n + b] - 4 * l->v[a * n + b] + around(l->v, n, a, b);
      l[1].f[i * n / 2 + j] = sum;
      l[1].u[i * n / 2 + j] = 0;
    }
  cycle(l + 1, levels - 1);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) l->v[i * n + j] += l[1].u[i / 2 * (n / 2) + j / 2];
  smooth(n, l->v, l->f, l->u);
}
static void kernel(struct level *l, int levels, int cycles) {
  for (int c = 0; c < cycles; c++) cycle(l, levels);
}
int main(int argc, char **argv) {
  int n = atoi(argv[1]), cycles = atoi(argv[2]), levels = 0;
  struct level l[16];
  double *pool = malloc(sizeof(double) * 4 * n * n), *next = pool;
  for (int s = n; s >= 4; s /= 2) {
    l[levels].n = s;
    l[levels].u = next;
    l[levels].v = next + s * s;
    l[levels].f = next + 2 * s * s;
    next += 3 * s * s;
    levels++;
  }
  for (int i = 0; i < n * n; i++) l[0].u[i] = 0, l[0].f[i] = i % 7;
  kernel(l, levels, cycles);
  double sum = 0;
  for (int i = 0; i < n * n; i++) sum += l[0].u[i];
  printf("%.10e\n", sum);
}
