/* LU factors in place without pivoting, n x n; an array of pointers into one block.
 *
 * Plain division: rows and columns dealt out to a grid p1 x p2, backwards every second round. In step k each of
 * the n - 1 - k multipliers of column k goes along its row to the nodes that have a later column, each of the
 * n - 1 - k entries of row k down its column to those that have a later row, the pivot down to those that have
 * a multiplier: 8 sum over k of ((n - 1 - k) above(k, p2) + (n - k) above(k, p1)). */
#include <stdio.h>
#include <stdlib.h>
static void kernel(int n, double **a) {
  for (int k = 0; k < n; k++)
    for (int i = k + 1; i < n; i++) {
      a[i][k] /= a[k][k];
      for (int j = k + 1; j < n; j++) a[i][j] -= a[i][k] * a[k][j];
    }
}
int main(int argc, char **argv) {
  int n = atoi(argv[1]);
  double *block = malloc(sizeof(double) * n * n);
  double **a = malloc(sizeof *a * n);
  for (int i = 0; i < n; i++) {
    a[i] = block + (size_t)i * n;
    for (int j = 0; j < n; j++) a[i][j] = (i * j % 13) / 13.0 + (i == j ? n : 0);
  }
  kernel(n, a);
  double sum = 0;
  for (int i = 0; i < n; i++) sum += a[i][i];
  printf("%.10e\n", sum);
}
