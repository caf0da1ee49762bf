/* B = A^T B in place with A lower triangular of ones on the diagonal (n x n), B n x m; pointers to arrays of
 * variable length.
 *
 * Row i becomes B[i] + sum over k > i of A[k][i] B[k], and reads rows below it, which still have their first
 * values. Plain division: rows of B dealt out to p1 nodes (backwards every second round), columns in p2 blocks.
 * B[k][j] goes to the nodes that have a row above k, others_below(k) of them; A[k][i] to the p2 nodes of row i:
 * 8 (m sum over k of others_below(k) + n (n - 1) / 2 (p2 - 1)). Slabs of columns (p1 = 1) send A only. */
#include <stdio.h>
#include <stdlib.h>
static void kernel(int n, int m, double (*A)[n], double (*B)[m]) {
  for (int i = 0; i < n; i++)
    for (int k = i + 1; k < n; k++)
      for (int j = 0; j < m; j++) B[i][j] += A[k][i] * B[k][j];
}
int main(int argc, char **argv) {
  int n = atoi(argv[1]), m = atoi(argv[2]);
  double(*A)[n] = malloc(sizeof(double[n][n]));
  double(*B)[m] = malloc(sizeof(double[n][m]));
  for (int i = 0; i < n; i++) {
    for (int j = 0; j < n; j++) A[i][j] = (i * j % 7) / 7.0;
    for (int j = 0; j < m; j++) B[i][j] = (i + j) % 5;
  }
  kernel(n, m, A, B);
  double sum = 0;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) sum += B[i][j];
  printf("%.10e\n", sum);
}
