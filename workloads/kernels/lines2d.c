/* Alternating directions: in each step a tridiagonal elimination in place along all rows, then along all columns, n x n;
 * arrays of a structure that is a static object.
 *
 * Plain division: p1 x p2 blocks. Along rows, every line sends x and b over each of the p2 - 1 cuts going forward and x
 * coming back, a is read across the cut (sent once in the run); along columns alike:
 * 8 (3 n t (p1 + p2 - 2) + n (p1 + p2 - 2)). */
#include <stdio.h>
#include <stdlib.h>
#define MOST 400
static struct {
  double x[MOST][MOST];
  double a[MOST][MOST];
  double b[MOST][MOST];
} grid;
static void kernel(int n, int t) {
  for (int s = 0; s < t; s++) {
    for (int i = 0; i < n; i++) {
      for (int j = 1; j < n; j++) {
        grid.x[i][j] -= grid.x[i][j - 1] * grid.a[i][j] / grid.b[i][j - 1];
        grid.b[i][j] -= grid.a[i][j] * grid.a[i][j] / grid.b[i][j - 1];
      }
      grid.x[i][n - 1] /= grid.b[i][n - 1];
      for (int j = n - 2; j >= 0; j--)
        grid.x[i][j] = (grid.x[i][j] - grid.a[i][j + 1] * grid.x[i][j + 1]) / grid.b[i][j];
    }
    for (int i = 1; i < n; i++)
      for (int j = 0; j < n; j++) {
        grid.x[i][j] -= grid.x[i - 1][j] * grid.a[i][j] / grid.b[i - 1][j];
        grid.b[i][j] -= grid.a[i][j] * grid.a[i][j] / grid.b[i - 1][j];
      }
    for (int j = 0; j < n; j++) grid.x[n - 1][j] /= grid.b[n - 1][j];
    for (int i = n - 2; i >= 0; i--)
      for (int j = 0; j < n; j++)
        grid.x[i][j] = (grid.x[i][j] - grid.a[i + 1][j] * grid.x[i + 1][j]) / grid.b[i][j];
  }
}
int main(int argc, char **argv) {
  int n = atoi(argv[1]), t = atoi(argv[2]);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      grid.x[i][j] = (i * (j + 1) % n + 1.0) / n;
      grid.a[i][j] = (i * (j + 2) % n + 2.0) / n;
      grid.b[i][j] = 40 + (i * (j + 3) % n + 3.0) / n;
    }
  kernel(n, t);
  double sum = 0;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) sum += grid.x[i][j];
  printf("%.10e\n", sum);
}
