/* Two products in a row, D += (A B) C: A is n x k, B k x m, the product T n x m, C m x l, D n x l; calloc.
 *
 * Plain division: p1 x p2 blocks of T and D. A[i][x] goes to the p2 blocks of row i, B[x][j] to the p1 blocks
 * of column j; then T[i][j] to the p2 blocks of row i of D, C[j][y] to the p1 blocks of column y:
 * 8 ((n k + n m)(p2 - 1) + (k m + m l)(p1 - 1)). Slabs of rows (p2 = 1) send B and C only. */
#include <stdio.h>
#include <stdlib.h>
static void kernel(int n, int m, int k, int l, double *T, double *A, double *B, double *C, double *D) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) {
      T[i * m + j] = 0;
      for (int x = 0; x < k; x++) T[i * m + j] += 1.5 * A[i * k + x] * B[x * m + j];
    }
  for (int i = 0; i < n; i++)
    for (int y = 0; y < l; y++) {
      D[i * l + y] *= 1.2;
      for (int j = 0; j < m; j++) D[i * l + y] += T[i * m + j] * C[j * l + y];
    }
}
int main(int argc, char **argv) {
  int n = atoi(argv[1]), m = atoi(argv[2]), k = atoi(argv[3]), l = atoi(argv[4]);
  double *T = calloc((size_t)n * m, sizeof(double));
  double *A = calloc((size_t)n * k, sizeof(double));
  double *B = calloc((size_t)k * m, sizeof(double));
  double *C = calloc((size_t)m * l, sizeof(double));
  double *D = calloc((size_t)n * l, sizeof(double));
  for (int i = 0; i < n * k; i++) A[i] = i % 7;
  for (int i = 0; i < k * m; i++) B[i] = i % 5;
  for (int i = 0; i < m * l; i++) C[i] = i % 3;
  for (int i = 0; i < n * l; i++) D[i] = i % 2;
  kernel(n, m, k, l, T, A, B, C, D);
  double sum = 0;
  for (int i = 0; i < n * l; i++) sum += D[i];
  printf("%.10e\n", sum);
}
