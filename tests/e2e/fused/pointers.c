#include <math.h>
#include <stdio.h>
#include <stdlib.h>
enum { n = 12, m = n + 2 };
__attribute__((noinline)) static void point(const double *u, double *w, double *d, int k) {
  double r = (u[k - 1] + u[k + 1] + u[k - m] + u[k + m]) / 4 - u[k];
  w[k] = u[k] + 0.8 * r;
  if (fabs(r) > *d) *d = fabs(r);
}
int main(void) {
  double *u = calloc(m * m, 8), *w = calloc(m * m, 8), *hist = calloc(5, 8);
  for (int j = 0; j < m; j++) u[j] = w[j] = 1;
  for (int t = 0; t < 5; t++) {
    for (int i = 1; i <= n; i++)
      for (int j = 1; j <= n; j++) point(u, w, hist + t, i * m + j);
    double *x = u; u = w; w = x;
  }
  for (int t = 0; t < 5; t++) printf("%g\n", hist[t]);
}
