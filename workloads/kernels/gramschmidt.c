/* Modified Gram-Schmidt: the columns of A (m x n) become orthonormal, R their coefficients; static arrays.
 *
 * Plain division: a grid p1 x p2, rows in p1 blocks, columns dealt out to p2, backwards every second round. Each of the
 * n (n + 1) / 2 sums is combined from the p1 nodes that have its column and its result sent back to them; each entry of
 * column k goes to the nodes of its row that have a later column:
 * 8 (n (n + 1) (p1 - 1) + m sum over k of others_above(k, p2)). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#define MOST 256
static double A[MOST][MOST];
static double R[MOST][MOST];
static void kernel(int m, int n) {
  for (int k = 0; k < n; k++) {
    double square = 0;
    for (int i = 0; i < m; i++) square += A[i][k] * A[i][k];
    R[k][k] = sqrt(square);
    for (int i = 0; i < m; i++) A[i][k] /= R[k][k];
    for (int j = k + 1; j < n; j++) {
      double product = 0;
      for (int i = 0; i < m; i++) product += A[i][k] * A[i][j];
      R[k][j] = product;
      for (int i = 0; i < m; i++) A[i][j] -= A[i][k] * R[k][j];
    }
  }
}
int main(int argc, char **argv) {
  int m = atoi(argv[1]), n = atoi(argv[2]);
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) A[i][j] = ((i * (j + 3) + i * i) % 31) / 31.0 + (i == j);
  kernel(m, n);
  double sum = 0;
  for (int j = 0; j < n; j++) sum += R[j][j];
  printf("%.10e\n", sum);
}
