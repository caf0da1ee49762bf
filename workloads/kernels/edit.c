/* Distance of two sequences of whole numbers: an integer dynamic program on (n + 1) x (m + 1); calloc and malloc.
 *
 * Plain division: p1 x p2 blocks. Over each cut of rows go the m + 1 values above it and the m elements of b, over each
 * cut of columns n + 1 values and the n elements of a, over each crossing one value more (diagonal):
 * 4 ((2 m + 1)(p1 - 1) + (2 n + 1)(p2 - 1) + (p1 - 1)(p2 - 1)). */
#include <stdio.h>
#include <stdlib.h>
static int min(int x, int y) { return x < y ? x : y; }
static void kernel(int n, int m, const int *a, const int *b, int *d) {
  for (int i = 1; i <= n; i++)
    for (int j = 1; j <= m; j++) {
      int change = d[(i - 1) * (m + 1) + j - 1] + (a[i - 1] != b[j - 1]);
      d[i * (m + 1) + j] = min(change, min(d[(i - 1) * (m + 1) + j], d[i * (m + 1) + j - 1]) + 1);
    }
}
int main(int argc, char **argv) {
  int n = atoi(argv[1]), m = atoi(argv[2]);
  int *a = malloc(sizeof(int) * n);
  int *b = malloc(sizeof(int) * m);
  int *d = calloc((size_t)(n + 1) * (m + 1), sizeof(int));
  unsigned r = 5;
  for (int i = 0; i < n; i++) r = r * 1664525u + 1013904223u, a[i] = r >> 29;
  for (int j = 0; j < m; j++) r = r * 1664525u + 1013904223u, b[j] = r >> 29;
  for (int i = 0; i <= n; i++) d[i * (m + 1)] = i;
  for (int j = 0; j <= m; j++) d[j] = j;
  kernel(n, m, a, b, d);
  printf("%d\n", d[n * (m + 1) + m]);
}
