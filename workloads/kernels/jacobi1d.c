/* Three-point smoothing in one dimension, two arrays in turn; static arrays, larger than the problem.
 *
 * Plain division: p blocks. A half step reads one value on each side of a cut: with n inner points, 2 t half steps:
 * 8 * 2 (p - 1) 2 t. */
#include <stdio.h>
#include <stdlib.h>
#define MOST 100000
static double u[MOST];
static double v[MOST];
static void kernel(int n, int t) {
  for (int s = 0; s < t; s++) {
    for (int i = 1; i <= n; i++) v[i] = 0.33333 * (u[i - 1] + u[i] + u[i + 1]);
    for (int i = 1; i <= n; i++) u[i] = 0.33333 * (v[i - 1] + v[i] + v[i + 1]);
  }
}
int main(int argc, char **argv) {
  int n = atoi(argv[1]), t = atoi(argv[2]);
  for (int i = 0; i < n + 2; i++) u[i] = v[i] = i % 10;
  kernel(n, t);
  double sum = 0;
  for (int i = 0; i < n + 2; i++) sum += u[i];
  printf("%.10e\n", sum);
}
