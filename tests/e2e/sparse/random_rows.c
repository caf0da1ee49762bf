/* y = A x, x = 0.1 y with entries at random columns: their order says nothing about who needs whom.
   Arguments: rows, entries of each, steps. */
#include <stdio.h>
#include <stdlib.h>

static void kernel(int n, int d, int steps, const int *column, const double *value, double *x, double *y) {
  for (int t = 0; t < steps; t++) {
    for (int i = 0; i < n; i++) {
      double sum = 0;
      for (int e = i * d; e < (i + 1) * d; e++) sum += value[e] * x[column[e]];
      y[i] = sum;
    }
    for (int i = 0; i < n; i++) x[i] = 0.1 * y[i];
  }
}

int main(int argc, char **argv) {
  int n = atoi(argv[1]), d = atoi(argv[2]), steps = atoi(argv[3]);
  unsigned state = 7;
  int *column = malloc(sizeof(int) * n * d);
  double *value = malloc(sizeof(double) * n * d), *x = malloc(sizeof(double) * n), *y = malloc(sizeof(double) * n);
  for (int e = 0; e < n * d; e++) {
    state = state * 1664525u + 1013904223u;
    column[e] = (int)((state >> 8) % (unsigned)n);
    value[e] = 1.0 / (1 + e % 7);
  }
  for (int i = 0; i < n; i++) x[i] = i % 3;
  kernel(n, d, steps, column, value, x, y);
  double sum = 0;
  for (int i = 0; i < n; i++) sum += x[i];
  printf("%g\n", sum);
  return argc < 4;
}
