/* Nine-point Gauss-Seidel in place, n x n inner points; pointer to arrays of variable length.
 *
 * Plain division: p1 x p2 blocks. A point above or below a cut of rows is read across it once per version, in the same
 * sweep or the next: n each way in every sweep, and the fixed values at the ends of these rows once. A point beside
 * a cut of columns is read by the row after it in the same sweep, and by its own row and the row before in the next:
 * t + 1 versions, the first one included, but t at the last row of a block. Each crossing sends one value in four
 * directions in every sweep: 8 (2 (t n + 2)(p1 - 1) + 2 ((t + 1) n - p1 + 2)(p2 - 1) + 4 t (p1 - 1)(p2 - 1)). */
#include <stdio.h>
#include <stdlib.h>
static void kernel(int n, int t, double (*x)[n + 2]) {
  for (int s = 0; s < t; s++)
    for (int i = 1; i <= n; i++)
      for (int j = 1; j <= n; j++)
        x[i][j] = (x[i - 1][j - 1] + x[i - 1][j] + x[i - 1][j + 1] + x[i][j - 1] + x[i][j] + x[i][j + 1] +
                   x[i + 1][j - 1] + x[i + 1][j] + x[i + 1][j + 1]) / 9.0;
}
int main(int argc, char **argv) {
  int n = atoi(argv[1]), t = atoi(argv[2]);
  double(*x)[n + 2] = malloc(sizeof(double[n + 2][n + 2]));
  for (int i = 0; i < n + 2; i++)
    for (int j = 0; j < n + 2; j++) x[i][j] = (i * (j + 2) + 2) % 9;
  kernel(n, t, x);
  double sum = 0;
  for (int i = 0; i < n + 2; i++)
    for (int j = 0; j < n + 2; j++) sum += x[i][j];
  printf("%.10e\n", sum);
}
