/* Pair s = A^T r, q = A d with A n x m, an array of pointers to rows that are allocated one by one.
 *
 * Plain division: blocks of A on a grid p1 x p2. d is sent down the p1 nodes of each column of the grid and s
 * combined along it, r is sent along the p2 nodes of each row and q combined: 16 (m (p1 - 1) + n (p2 - 1)). */
#include <stdio.h>
#include <stdlib.h>
static void kernel(int n, int m, double **A, const double *r, const double *d, double *s, double *q) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) {
      s[j] += r[i] * A[i][j];
      q[i] += A[i][j] * d[j];
    }
}
int main(int argc, char **argv) {
  int n = atoi(argv[1]), m = atoi(argv[2]);
  double **A = malloc(sizeof *A * n);
  for (int i = 0; i < n; i++) A[i] = malloc(sizeof **A * m);
  double *r = malloc(sizeof *r * n);
  double *d = malloc(sizeof *d * m);
  double *s = calloc(m, sizeof *s);
  double *q = calloc(n, sizeof *q);
  for (int i = 0; i < n; i++) {
    r[i] = i % 5;
    for (int j = 0; j < m; j++) A[i][j] = (i * (j + 1) % n) / (double)n;
  }
  for (int j = 0; j < m; j++) d[j] = j % 7;
  kernel(n, m, A, r, d, s, q);
  double sum = 0;
  for (int j = 0; j < m; j++) sum += s[j];
  for (int i = 0; i < n; i++) sum += q[i];
  printf("%.10e\n", sum);
}
