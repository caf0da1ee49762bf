/* The step of an explicit scheme is found as a guarded minimum with its place, over lists of points. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
enum { n = 24, m = n + 2, steps = 8, lists = 2 };
CALL void constrain(int size, const int *list, const REAL *speed, const REAL *rate, REAL *bound, int *place) {
  REAL least = *bound;
  int where = -1;
  for (int k = 0; k < size; k++) {
    int i = list[k];
    REAL f = (REAL)sqrt(speed[i] * speed[i] + 1);
    if (rate[i] != 0 && f < least) { least = f; where = i; }
  }
  if (where != -1) { *bound = least; *place = where; }
}
CALL void step(REAL dt, const REAL *u, REAL *w, REAL *speed, REAL *rate) {
  for (int i = 1; i <= n; i++)
    for (int j = 1; j <= n; j++) {
      int k = i * m + j, e = (i - 1) * n + j - 1;
      REAL d = u[k - 1] + u[k + 1] + u[k - m] + u[k + m] - 4 * u[k];
      w[k] = u[k] + dt * d;
      speed[e] = 1 + (REAL)0.1 * u[k];
      rate[e] = d;
    }
}
int main(void) {
  REAL *u = (REAL *)calloc(m * m, sizeof *u), *w = (REAL *)calloc(m * m, sizeof *w), dt = (REAL)1e-3;
  REAL *speed = (REAL *)calloc(n * n, sizeof *u), *rate = (REAL *)calloc(n * n, sizeof *u);
  int list[lists][n * n / lists], place = 0;
  for (int j = 0; j < m * m; j++) u[j] = w[j] = (REAL)(j % 7);
  for (int e = 0; e < n * n; e++) list[e % lists][e / lists] = e;
  for (int t = 0; t < steps; t++) {
    REAL bound = (REAL)1e20;
    step(dt, u, w, speed, rate);
    for (int r = 0; r < lists; r++) constrain(n * n / lists, list[r], speed, rate, &bound, &place);
    dt = (REAL)0.01 * bound < dt * 2 ? (REAL)0.01 * bound : dt * 2;
    REAL *x = u; u = w; w = x;
  }
  printf("%g %d %g\n", (double)dt, place, (double)u[m + 1]);
}
