#include <stdio.h>
#include <stdlib.h>
static double q[64][64], flux[64][64], tmp[8];
int main(int c, char **v) {
  int steps = atoi(v[1]);
  for (int i = 0; i < 64; i++) for (int j = 0; j < 64; j++) q[i][j] = (i * 7 + j * 3) % 11;
  for (int t = 0; t < steps; t++) {
    for (int i = 1; i < 63; i++)
      for (int j = 1; j < 63; j++) {
        for (int k = 0; k < 8; k++) tmp[k] = q[i][j] * k + q[i - 1][j];
        double s = 0;
        for (int k = 0; k < 8; k++) s += tmp[k] * tmp[7 - k];
        flux[i][j] = 1e-4 * s + q[i][j + 1];
      }
    for (int i = 1; i < 63; i++) for (int j = 1; j < 63; j++) q[i][j] = 0.5 * flux[i][j];
  }
  printf("%g %g\n", q[5][5], q[60][60]);
}
