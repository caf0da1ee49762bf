/* Seven-point successive over-relaxation in place, n x m x l inner points; an array of arrays of row pointers.
 *
 * Plain division: p1 x p2 x p3 blocks. Every version is read by later points of its sweep and earlier points of the
 * next: one layer each way over each cut in every sweep: 8 t * 2 (m l (p1 - 1) + n l (p2 - 1) + n m (p3 - 1)). */
#include <stdio.h>
#include <stdlib.h>
static void kernel(int n, int m, int l, int t, double ***u) {
  for (int s = 0; s < t; s++)
    for (int i = 1; i <= n; i++)
      for (int j = 1; j <= m; j++)
        for (int k = 1; k <= l; k++)
          u[i][j][k] += 1.2 * ((u[i - 1][j][k] + u[i + 1][j][k] + u[i][j - 1][k] + u[i][j + 1][k] + u[i][j][k - 1] + u[i][j][k + 1]) / 6 - u[i][j][k]);
}
int main(int argc, char **argv) {
  int n = atoi(argv[1]), m = atoi(argv[2]), l = atoi(argv[3]), t = atoi(argv[4]);
  double *values = malloc(sizeof(double) * (n + 2) * (m + 2) * (l + 2));
  double **lines = malloc(sizeof *lines * (n + 2) * (m + 2));
  double ***u = malloc(sizeof *u * (n + 2));
  for (int i = 0; i < n + 2; i++) {
    u[i] = lines + i * (m + 2);
    for (int j = 0; j < m + 2; j++) {
      u[i][j] = values + (i * (m + 2) + j) * (l + 2);
      for (int k = 0; k < l + 2; k++) u[i][j][k] = (i + 2 * j + 3 * k) % 7;
    }
  }
  kernel(n, m, l, t, u);
  double sum = 0;
  for (int i = 0; i < (n + 2) * (m + 2) * (l + 2); i++) sum += values[i];
  printf("%.10e\n", sum);
}
