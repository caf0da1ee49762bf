#include <stdio.h>
enum { rows = 48, n = 64, steps = 8 };
double u[rows][n], row[rows];
int main(void) {
  for (int k = 0; k < rows * n; k++) u[k / n][k % n] = 0.01 * (k / n) * (k % n);
  for (int t = 0; t < steps; t++) {
    for (int k = 0; k < rows * n; k++) u[k / n][k % n] = u[k / n][k % n] * 0.9 + 0.1;
    for (int j = 0; j < rows; j++) {
      double s = 0;
      for (int i = 0; i < n; i++) s += u[j][i];
      row[j] = s;
    }
    double sum = 0;
    for (int j = 0; j < rows; j++) sum += row[j];
    printf("%g\n", sum);
  }
}
