/* A sweep returns the sum of squared changes and the greatest change side by side in one register. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { n = 12, steps = 5, m = n + 2 };
struct norms {
  float change, most;
};

static struct norms sweep(const float *restrict u, float *restrict w) {
  struct norms r = {0, 0};
  for (int i = 1; i <= n; i++)
    for (int j = 1; j <= n; j++) {
      int k = i * m + j;
      w[k] = 0.2f * (u[k] + u[k - 1] + u[k + 1] + u[k - m] + u[k + m]);
      float e = fabsf(w[k] - u[k]);
      r.change += e * e;
      if (e > r.most) r.most = e;
    }
  return r;
}

int main(void) {
  float *u = calloc(m * m, sizeof *u), *w = calloc(m * m, sizeof *w);
  struct norms *hist = calloc(steps, sizeof *hist);
  for (int j = 0; j < m; j++) u[j] = w[j] = 1;
  for (int t = 0; t < steps; t++) {
    hist[t] = sweep(u, w);
    float *x = u;
    u = w;
    w = x;
  }
  for (int t = 0; t < steps; t++) printf("%g %g\n", hist[t].change, hist[t].most);
}
