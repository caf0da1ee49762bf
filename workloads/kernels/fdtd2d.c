/* Two-dimensional electromagnetic field on staggered points, n x m; three arrays of pointers to rows.
 *
 * Plain division: p1 x p2 blocks. A step sends over each cut of rows m - 1 values of hz (for ey; the last of the row
 * never changes and goes once) and as many of ey back, over each cut of columns hz and ex alike:
 * 8 ((2 (m - 1) t + 1)(p1 - 1) + (2 (n - 1) t + 1)(p2 - 1)). */
#include <stdio.h>
#include <stdlib.h>
static double **rows(int n, int m) {
  double **a = malloc(sizeof *a * n);
  for (int i = 0; i < n; i++) {
    a[i] = malloc(sizeof **a * m);
    for (int j = 0; j < m; j++) a[i][j] = (i * (j + 1) % m) / (double)m;
  }
  return a;
}
static void kernel(int n, int m, int t, double **ex, double **ey, double **hz) {
  for (int s = 0; s < t; s++) {
    for (int i = 1; i < n; i++)
      for (int j = 0; j < m; j++) ey[i][j] -= 0.5 * (hz[i][j] - hz[i - 1][j]);
    for (int i = 0; i < n; i++)
      for (int j = 1; j < m; j++) ex[i][j] -= 0.5 * (hz[i][j] - hz[i][j - 1]);
    for (int i = 0; i < n - 1; i++)
      for (int j = 0; j < m - 1; j++) hz[i][j] -= 0.7 * (ex[i][j + 1] - ex[i][j] + ey[i + 1][j] - ey[i][j]);
  }
}
int main(int argc, char **argv) {
  int n = atoi(argv[1]), m = atoi(argv[2]), t = atoi(argv[3]);
  double **ex = rows(n, m);
  double **ey = rows(n, m);
  double **hz = rows(n, m);
  kernel(n, m, t, ex, ey, hz);
  double sum = 0;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) sum += hz[i][j];
  printf("%.10e\n", sum);
}
