/* Upwind steps in one dimension; the greatest speed of each limits its time step. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
double *u, *w;
int main(void) {
  int n = 400, steps = 0;
  double t = 0;
  u = malloc(8 * 400), w = malloc(8 * 400);
  for (int i = 0; i < n; i++) u[i] = 1.0 + 0.3 * sin(6.28 * i / n);
  while (t < 0.01) {
    double c = 0;
    for (int i = 0; i < n; i++) c = fmax(c, fabs(u[i]));
    double dt = 0.5 / (n * c);
    for (int i = 1; i < n; i++) w[i] = u[i] - dt * n * u[i] * (u[i] - u[i - 1]);
    for (int i = 1; i < n; i++) u[i] = w[i];
    t += dt; steps++;
  }
  printf("%d\n", steps);
  return 0;
}
