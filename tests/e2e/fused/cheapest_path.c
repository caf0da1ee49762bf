/* The cheapest way down a grid, row by row; what each row adds is an input of its own. */
#include <stdio.h>
#include <stdlib.h>
enum { n = 320, rows = 24 };
CALL void descend(const REAL *wall, const REAL *a, REAL *b) {
  for (int j = 0; j < n; j++) {
    REAL least = a[j];
    if (j > 0) least = least < a[j - 1] ? least : a[j - 1];
    if (j < n - 1) least = least < a[j + 1] ? least : a[j + 1];
    b[j] = wall[j] + least;
  }
}
int main(int argc, char **argv) {
  REAL *wall = (REAL *)calloc(n * rows, sizeof *wall), *a = (REAL *)calloc(n, sizeof *a);
  REAL *b = (REAL *)calloc(n, sizeof *b), sum = 0;
  for (int k = 0; k < n * rows; k++) wall[k] = (REAL)(argc + k * 7919 % 10);
  for (int j = 0; j < n; j++) a[j] = wall[j];
  for (int t = 1; t < rows; t++) {
    descend(wall + t * n, a, b);
    REAL *x = a; a = b; b = x;
  }
  for (int j = 0; j < n; j++) sum += a[j];
  printf("%g\n", (double)sum);
}
