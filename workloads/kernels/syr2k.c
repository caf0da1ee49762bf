/* Symmetric update of rank 2m of the lower triangle, C += A B^T + B A^T, A and B n x m, rows padded to an odd
 * length; memory from malloc per array.
 *
 * Plain division: as for one factor (syrk.c), for A and B: 16 m sum over i of (S(i) - 1), S(i) being the nodes
 * that have row i or column i of the triangle. */
#include <stdio.h>
#include <stdlib.h>
static void kernel(int n, int m, int pitch, double *c, const double *a, const double *b) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j <= i; j++) {
      double sum = 0;
      for (int k = 0; k < m; k++) sum += a[j * pitch + k] * b[i * pitch + k] + b[j * pitch + k] * a[i * pitch + k];
      c[i * n + j] = 1.2 * c[i * n + j] + sum;
    }
}
int main(int argc, char **argv) {
  int n = atoi(argv[1]), m = atoi(argv[2]), pitch = m + 3;
  double *c = malloc(sizeof(double) * n * n);
  double *a = malloc(sizeof(double) * n * pitch);
  double *b = malloc(sizeof(double) * n * pitch);
  for (int i = 0; i < n * n; i++) c[i] = i % 5;
  for (int i = 0; i < n * pitch; i++) a[i] = i % 7, b[i] = i % 3;
  kernel(n, m, pitch, c, a, b);
  double sum = 0;
  for (int i = 0; i < n; i++)
    for (int j = 0; j <= i; j++) sum += c[i * n + j];
  printf("%.10e\n", sum);
}
