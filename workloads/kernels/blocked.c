/* C += A B, n x n, in tiles of b x b that are copied to buffers on the stack before they are multiplied; operator of a library
 * in style: matrices know their leading dimension.
 *
 * Plain division: p1 x p2 blocks of C; the copies of a tile hold values of A and B: 8 n^2 (p1 + p2 - 2). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define TILE 32
struct matrix {
  int n, ld;
  double *data;
};
static struct matrix make(int n) {
  struct matrix m = {n, n, NULL};
  m.data = malloc(sizeof(double) * n * n);
  return m;
}
static void multiply(int b, const double (*x)[TILE], const double (*y)[TILE], double (*z)[TILE]) {
  for (int i = 0; i < b; i++)
    for (int k = 0; k < b; k++)
      for (int j = 0; j < b; j++) z[i][j] += x[i][k] * y[k][j];
}
static void kernel(int b, const struct matrix *A, const struct matrix *B, struct matrix *C) {
  double x[TILE][TILE], y[TILE][TILE], z[TILE][TILE];
  int n = A->n;
  for (int i = 0; i < n; i += b)
    for (int j = 0; j < n; j += b) {
      for (int a = 0; a < b; a++) memcpy(z[a], C->data + (i + a) * C->ld + j, sizeof(double) * b);
      for (int k = 0; k < n; k += b) {
        for (int a = 0; a < b; a++) memcpy(x[a], A->data + (i + a) * A->ld + k, sizeof(double) * b);
        for (int a = 0; a < b; a++) memcpy(y[a], B->data + (k + a) * B->ld + j, sizeof(double) * b);
        multiply(b, x, y, z);
      }
      for (int a = 0; a < b; a++) memcpy(C->data + (i + a) * C->ld + j, z[a], sizeof(double) * b);
    }
}
int main(int argc, char **argv) {
  int n = atoi(argv[1]), b = atoi(argv[2]);
  struct matrix A = make(n);
  struct matrix B = make(n);
  struct matrix C = make(n);
  for (int i = 0; i < n * n; i++) A.data[i] = i % 7, B.data[i] = i % 5, C.data[i] = i % 3;
  kernel(b, &A, &B, &C);
  double sum = 0;
  for (int i = 0; i < n * n; i++) sum += C.data[i];
  printf("%.10e\n", sum);
}
