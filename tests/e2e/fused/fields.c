#include <math.h>
#include <stdio.h>
#include <stdlib.h>
/* Two fields are updated and two reductions made in one loop. */
typedef double real;
struct sums { real change, most; };
static inline struct sums both(int n, const real *restrict u, const real *restrict v, real *restrict a, real *restrict b) {
  struct sums s = {0, 0};
  for (int i = 1; i <= n; i++)
    for (int j = 1; j <= n; j++) {
      int k = i * (n + 2) + j, m = n + 2;
      a[k] = (real)0.2 * (u[k] + u[k - 1] + u[k + 1] + u[k - m] + u[k + m]);
      b[k] = (real)0.2 * (v[k] + v[k - 1] + v[k + 1] + v[k - m] + v[k + m]);
      s.change += (a[k] - u[k]) * (a[k] - u[k]) + (b[k] - v[k]) * (b[k] - v[k]);
      if (b[k] > s.most) s.most = b[k];
    }
  return s;
}
int main(void) {
  int n = 12, steps = 5, all = (n + 2) * (n + 2);
  real *u = calloc(all, sizeof *u), *v = calloc(all, sizeof *v);
  real *a = calloc(all, sizeof *a), *b = calloc(all, sizeof *b);
  struct sums *hist = malloc(steps * sizeof *hist);
  for (int j = 0; j < n + 2; j++) u[j] = a[j] = 1, v[j] = b[j] = 2;
  for (int t = 0; t < steps; t++) {
    hist[t] = both(n, u, v, a, b);
    real *x = u; u = a; a = x;
    x = v; v = b; b = x;
  }
  for (int t = 0; t < steps; t++) printf("%g %g\n", hist[t].change, hist[t].most);
}
