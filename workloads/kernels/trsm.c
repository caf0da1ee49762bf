/* L X = B in place of B: L lower triangle n x n, B n x m; column-major, memory from calloc.
 *
 * Plain division: rows of B dealt out to p1 (backwards every second round), columns in p2 blocks. X[k][j] goes to
 * the nodes with a later row, L[i][k] (the diagonal as well) to the p2 blocks of row i:
 * 8 (m sum over k of above(k, p1) + n (n + 1) / 2 (p2 - 1)). */
#include <stdio.h>
#include <stdlib.h>
static void kernel(int n, int m, const double *l, double *b) {
  for (int j = 0; j < m; j++)
    for (int k = 0; k < n; k++) {
      b[j * n + k] /= l[k * n + k];
      for (int i = k + 1; i < n; i++) b[j * n + i] -= l[k * n + i] * b[j * n + k];
    }
}
int main(int argc, char **argv) {
  int n = atoi(argv[1]), m = atoi(argv[2]);
  double *l = calloc((size_t)n * n, sizeof *l);
  double *b = calloc((size_t)m * n, sizeof *b);
  for (int k = 0; k < n; k++)
    for (int i = k; i < n; i++) l[k * n + i] = i == k ? 2.0 : ((i + k) % 3) / (double)n;
  for (int i = 0; i < m * n; i++) b[i] = i % 5;
  kernel(n, m, l, b);
  double sum = 0;
  for (int i = 0; i < m * n; i++) sum += b[i];
  printf("%.10e\n", sum);
}
