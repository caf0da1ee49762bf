/* C += A B^T with n x m = (n x k)(m x k)^T on flat arrays; memory from a wrapper of malloc.
 *
 * Plain division: p1 x p2 blocks of C. A[i][l] goes to the p2 blocks of row i, B[j][l] to the p1 blocks of
 * column j: 8 (n k (p2 - 1) + m k (p1 - 1)). */
#include <stdio.h>
#include <stdlib.h>
#ifndef APART
#define APART __attribute__((noinline))
#endif
static APART void *xmalloc(size_t bytes) {
  void *memory = malloc(bytes);
  if (!memory) exit(1);
  return memory;
}
static void kernel(int n, int m, int k, double *c, const double *a, const double *b) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) {
      double sum = 0;
      for (int l = 0; l < k; l++) sum += a[i * k + l] * b[j * k + l];
      c[i * m + j] += sum;
    }
}
int main(int argc, char **argv) {
  int n = atoi(argv[1]), m = atoi(argv[2]), k = atoi(argv[3]);
  double *c = xmalloc(sizeof(double) * n * m);
  double *a = xmalloc(sizeof(double) * n * k);
  double *b = xmalloc(sizeof(double) * m * k);
  for (int i = 0; i < n * m; i++) c[i] = i % 7;
  for (int i = 0; i < n * k; i++) a[i] = i % 11;
  for (int i = 0; i < m * k; i++) b[i] = i % 13;
  kernel(n, m, k, c, a, b);
  double sum = 0;
  for (int i = 0; i < n * m; i++) sum += c[i];
  printf("%.10e\n", sum);
}
