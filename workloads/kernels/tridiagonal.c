/* Many tridiagonal systems, b of them with n unknowns each, unknown by unknown one after the other (a[k*b+s]); scratch
 * coefficients of all systems in one block.
 *
 * Plain division: systems dealt out to nodes: nothing is sent, 0 bytes. */
#include <stdio.h>
#include <stdlib.h>
static void kernel(int n, int b, const double *lower, const double *diagonal, const double *upper, double *x, double *c) {
  for (int s = 0; s < b; s++) {
    c[s] = upper[s] / diagonal[s];
    x[s] /= diagonal[s];
  }
  for (int k = 1; k < n; k++)
    for (int s = 0; s < b; s++) {
      double m = 1 / (diagonal[k * b + s] - lower[k * b + s] * c[(k - 1) * b + s]);
      c[k * b + s] = upper[k * b + s] * m;
      x[k * b + s] = (x[k * b + s] - lower[k * b + s] * x[(k - 1) * b + s]) * m;
    }
  for (int k = n - 2; k >= 0; k--)
    for (int s = 0; s < b; s++) x[k * b + s] -= c[k * b + s] * x[(k + 1) * b + s];
}
int main(int argc, char **argv) {
  int n = atoi(argv[1]), b = atoi(argv[2]);
  double *lower = malloc(sizeof *lower * n * b);
  double *diagonal = malloc(sizeof *diagonal * n * b);
  double *upper = malloc(sizeof *upper * n * b);
  double *x = malloc(sizeof *x * n * b);
  double *c = malloc(sizeof *c * n * b);
  for (int i = 0; i < n * b; i++) lower[i] = upper[i] = -1, diagonal[i] = 3 + i % 3, x[i] = i % 7, c[i] = 0;
  kernel(n, b, lower, diagonal, upper, x, c);
  double sum = 0;
  for (int i = 0; i < n * b; i++) sum += x[i];
  printf("%.10e\n", sum);
}
