/* Bitonic sorting of n = 2^k numbers by minima and maxima in place; memory from malloc in a helper.
 *
 * Plain division: p blocks. Each stage in which partners lie in different blocks sends every such number to its partner:
 * with p = 2^q, q (q + 1) / 2 stages of n numbers; bitonic_words counts for any p. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#ifndef APART
#define APART __attribute__((noinline))
#endif
static APART double *numbers(int n) { return malloc(sizeof(double) * n); }
static void kernel(int n, double *x) {
  for (int k = 2; k <= n; k *= 2)
    for (int j = k / 2; j > 0; j /= 2)
      for (int i = 0; i < n; i++) {
        int l = i ^ j;
        if (l <= i) continue;
        double low = fmin(x[i], x[l]), high = fmax(x[i], x[l]);
        x[i] = (i & k) == 0 ? low : high;
        x[l] = (i & k) == 0 ? high : low;
      }
}
int main(int argc, char **argv) {
  int n = 1 << atoi(argv[1]);
  double *x = numbers(n);
  unsigned r = 3;
  for (int i = 0; i < n; i++) r = r * 1664525u + 1013904223u, x[i] = r >> 8;
  kernel(n, x);
  printf("%.10e %.10e\n", x[0], x[n - 1]);
}
