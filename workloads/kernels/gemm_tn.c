/* C += A^T B with n x m = (k x n)^T (k x m): all three flat and in one pool.
 *
 * Plain division: p1 x p2 blocks of C. A[l][i] goes to the p2 blocks of row i of C, B[l][j] to the p1 blocks
 * of column j: 8 (n k (p2 - 1) + k m (p1 - 1)). */
#include <stdio.h>
#include <stdlib.h>
static void kernel(int n, int m, int k, double *c, const double *a, const double *b) {
  for (int l = 0; l < k; l++)
    for (int i = 0; i < n; i++)
      for (int j = 0; j < m; j++) c[i * m + j] += a[l * n + i] * b[l * m + j];
}
int main(int argc, char **argv) {
  int n = atoi(argv[1]), m = atoi(argv[2]), k = atoi(argv[3]);
  double *pool = malloc(sizeof(double) * ((size_t)n * m + (size_t)k * n + (size_t)k * m));
  double *c = pool;
  double *a = pool + n * m;
  double *b = pool + n * m + k * n;
  for (int i = 0; i < n * m; i++) c[i] = i % 5;
  for (int i = 0; i < k * n; i++) a[i] = i % 9;
  for (int i = 0; i < k * m; i++) b[i] = i % 7;
  kernel(n, m, k, c, a, b);
  double sum = 0;
  for (int i = 0; i < n * m; i++) sum += c[i];
  printf("%.10e\n", sum);
}
