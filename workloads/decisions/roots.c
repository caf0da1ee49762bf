/* Newton's method on each group of three numbers; the sum of all is printed. */
#include <stdio.h>
#include <stdlib.h>
double *x, *b;
int main(void) {
  int n = 64;
  x = malloc(8 * n * 3), b = malloc(8 * n * 3);
  for (int i = 0; i < 3 * n; i++) b[i] = 1 + i % 5, x[i] = 1 + i % 3;
  for (int i = 0; i < n; i++) {
    double r = 1;
    for (int it = 0; r > 1e-6 && it < 50; it++) {
      r = 0;
      for (int k = 3 * i; k < 3 * i + 3; k++) {
        double f = x[k] * x[k] - b[k];
        x[k] -= f / (2 * x[k]);
        r += f * f;
      }
    }
  }
  double s = 0;
  for (int i = 0; i < 3 * n; i++) s += x[i];
  printf("%g\n", s);
}
