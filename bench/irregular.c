// x = (A x + x) / 16, some steps: rows and columns of A are read from a file, int32: rows, entries, row starts, columns.
#include <stdio.h>
#include <stdlib.h>

static void kernel(int n, int steps, const int *row, const int *col, const double *val, double *x, double *y) {
  for (int t = 0; t < steps; t++) {
    for (int i = 0; i < n; i++) {
      double s = x[i];
      for (int e = row[i]; e < row[i + 1]; e++) s += val[e] * x[col[e]];
      y[i] = s;
    }
    for (int i = 0; i < n; i++) x[i] = 0.0625 * y[i];
  }
}

int main(int argc, char **argv) {
  int size[2], steps = atoi(argv[2]);
  FILE *file = fopen(argv[1], "rb");
  if (argc < 3 || !file || fread(size, sizeof(int), 2, file) != 2) return 1;
  int n = size[0], entries = size[1];
  int *row = malloc(sizeof(int) * (n + 1)), *col = malloc(sizeof(int) * entries);
  if (fread(row, sizeof(int), n + 1, file) != (size_t)n + 1) return 1;
  if (fread(col, sizeof(int), entries, file) != (size_t)entries) return 1;
  double *val = malloc(sizeof(double) * entries), *x = malloc(sizeof(double) * n), *y = malloc(sizeof(double) * n);
  for (int e = 0; e < entries; e++) val[e] = 1.0 / (1 + e % 7);
  for (int i = 0; i < n; i++) x[i] = i % 3;
  kernel(n, steps, row, col, val, x, y);
  double s = 0;
  for (int i = 0; i < n; i++) s += x[i];
  printf("%g\n", s);
}
