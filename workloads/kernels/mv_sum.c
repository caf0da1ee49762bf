/* y = 1.5 A x + 1.2 B x, A and B n x m: two sub-arrays of one pool, vectors apart.
 *
 * Plain division: A and B in the same blocks on a grid p1 x p2. x is sent down the columns of the grid, both sums are
 * combined along its rows: 8 (m (p1 - 1) + 2 n (p2 - 1)). */
#include <stdio.h>
#include <stdlib.h>
static void kernel(int n, int m, const double *a, const double *b, const double *x, double *y) {
  for (int i = 0; i < n; i++) {
    double s = 0, t = 0;
    for (int j = 0; j < m; j++) {
      s += a[i * m + j] * x[j];
      t += b[i * m + j] * x[j];
    }
    y[i] = 1.5 * s + 1.2 * t;
  }
}
int main(int argc, char **argv) {
  int n = atoi(argv[1]), m = atoi(argv[2]);
  double *both = malloc(2 * sizeof(double) * n * m);
  double *a = both;
  double *b = both + n * m;
  double *x = malloc(sizeof(double) * m);
  double *y = malloc(sizeof(double) * n);
  for (int i = 0; i < n * m; i++) a[i] = i % 7, b[i] = i % 5;
  for (int j = 0; j < m; j++) x[j] = j % 9;
  kernel(n, m, a, b, x, y);
  double sum = 0;
  for (int i = 0; i < n; i++) sum += y[i];
  printf("%.10e\n", sum);
}
