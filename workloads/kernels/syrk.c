/* Symmetric update of the lower triangle, C += A A^T, A n x m; static arrays that are larger than the problem.
 *
 * Plain division: rows and columns of C dealt out to a grid p1 x p2, every second round backwards (blocks would
 * leave half of the nodes without work). A[i][k] is needed by the p2 nodes with row i of the triangle and the
 * p1 nodes with column i, where the triangle reaches them: S below counts them, its owner is one of them.
 * 8 m sum over i of (S(i) - 1), with S(i) = |{(r(i), c(j)): j <= i} u {(r(j), c(i)): j >= i}|, which is
 * p1 + p2 - 1 but for the first and last rows. */
#include <stdio.h>
#include <stdlib.h>
#define MOST 256
static double C[MOST][MOST];
static double A[MOST][MOST / 2];
static void kernel(int n, int m) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j <= i; j++) {
      C[i][j] *= 1.2;
      for (int k = 0; k < m; k++) C[i][j] += 1.5 * A[i][k] * A[j][k];
    }
}
int main(int argc, char **argv) {
  int n = atoi(argv[1]), m = atoi(argv[2]);
  for (int i = 0; i < n; i++) {
    for (int j = 0; j < n; j++) C[i][j] = (i + j) % 5;
    for (int k = 0; k < m; k++) A[i][k] = i * (k + 1) % 7;
  }
  kernel(n, m);
  double sum = 0;
  for (int i = 0; i < n; i++)
    for (int j = 0; j <= i; j++) sum += C[i][j];
  printf("%.10e\n", sum);
}
