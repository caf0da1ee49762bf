/* Five-point smoothing in two dimensions, n x m inner points, two arrays in turn; memory from a wrapper that counts.
 *
 * Plain division: p1 x p2 blocks. A half step sends m values each way over each of the p1 - 1 cuts of rows and n over
 * each of the p2 - 1 cuts of columns: 8 * 2 t * 2 (m (p1 - 1) + n (p2 - 1)). */
#include <stdio.h>
#include <stdlib.h>
#ifndef APART
#define APART __attribute__((noinline))
#endif
static size_t total;
static APART void *grab(size_t count, size_t size) {
  total += count * size;
  void *memory = calloc(count, size);
  if (!memory) exit(1);
  return memory;
}
static void half(int n, int m, const double *from, double *to) {
  int w = m + 2;
  for (int i = 1; i <= n; i++)
    for (int j = 1; j <= m; j++)
      to[i * w + j] = 0.2 * (from[i * w + j] + from[i * w + j - 1] + from[i * w + j + 1] + from[(i - 1) * w + j] + from[(i + 1) * w + j]);
}
static void kernel(int n, int m, int t, double *u, double *v) {
  for (int s = 0; s < t; s++) {
    half(n, m, u, v);
    half(n, m, v, u);
  }
}
int main(int argc, char **argv) {
  int n = atoi(argv[1]), m = atoi(argv[2]), t = atoi(argv[3]);
  double *u = grab((size_t)(n + 2) * (m + 2), sizeof *u);
  double *v = grab((size_t)(n + 2) * (m + 2), sizeof *v);
  for (int i = 0; i < (n + 2) * (m + 2); i++) u[i] = v[i] = i % 7;
  kernel(n, m, t, u, v);
  double sum = 0;
  for (int i = 0; i < (n + 2) * (m + 2); i++) sum += u[i];
  printf("%.10e %zu\n", sum, total);
}
