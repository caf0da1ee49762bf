/* C = 1.5 C + 2 A B with n x m = (n x k)(k x m); memory from posix_memalign in a helper.
 *
 * Plain division: p1 x p2 blocks of C. A[i][l] goes to the p2 blocks of row i, B[l][j] to the p1 blocks of
 * column j, one of which owns it: 8 (n k (p2 - 1) + k m (p1 - 1)). */
#include <stdio.h>
#include <stdlib.h>
#ifndef APART
#define APART __attribute__((noinline)) /* as if it stood in another file */
#endif
static APART void *aligned(size_t bytes) {
  void *block = NULL;
  if (posix_memalign(&block, 64, bytes)) exit(1);
  return block;
}
static void kernel(int n, int m, int k, double (*C)[m], double (*A)[k], double (*B)[m]) {
  for (int i = 0; i < n; i++) {
    for (int j = 0; j < m; j++) C[i][j] *= 1.5;
    for (int l = 0; l < k; l++)
      for (int j = 0; j < m; j++) C[i][j] += 2.0 * A[i][l] * B[l][j];
  }
}
int main(int argc, char **argv) {
  int n = atoi(argv[1]), m = atoi(argv[2]), k = atoi(argv[3]);
  double(*C)[m] = aligned(sizeof(double) * n * m);
  double(*A)[k] = aligned(sizeof(double) * n * k);
  double(*B)[m] = aligned(sizeof(double) * k * m);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) C[i][j] = (i * j + 1) % n;
  for (int i = 0; i < n; i++)
    for (int l = 0; l < k; l++) A[i][l] = i * (l + 1) % k;
  for (int l = 0; l < k; l++)
    for (int j = 0; j < m; j++) B[l][j] = l * (j + 2) % m;
  kernel(n, m, k, C, A, B);
  double sum = 0;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) sum += C[i][j];
  printf("%.10e\n", sum);
}
