/* Levinson-Durbin recursion for a Toeplitz system of order n; local arrays of variable length.
 *
 * In step k, z[i] = y[i] + alpha y[k-1-i]: each place needs the one opposite to it, and the sum over
 * r[k-1-i] y[i] is combined, alpha sent. Plain division: y in p blocks of places i that have equal work (place i
 * takes part in steps k > i); r is sent to all that read it. durbin_words counts the values by definition. */
#include <stdio.h>
#include <stdlib.h>
static void kernel(int n, const double *r, double *y) {
  double z[n];
  double alpha = -r[0], beta = 1.0;
  y[0] = -r[0];
  for (int k = 1; k < n; k++) {
    beta = (1.0 - alpha * alpha) * beta;
    double sum = 0;
    for (int i = 0; i < k; i++) sum += r[k - i - 1] * y[i];
    alpha = -(r[k] + sum) / beta;
    for (int i = 0; i < k; i++) z[i] = y[i] + alpha * y[k - i - 1];
    for (int i = 0; i < k; i++) y[i] = z[i];
    y[k] = alpha;
  }
}
int main(int argc, char **argv) {
  int n = atoi(argv[1]);
  double r[n];
  double y[n];
  for (int i = 0; i < n; i++) r[i] = 1.0 / (2.0 + i);
  kernel(n, r, y);
  double sum = 0;
  for (int i = 0; i < n; i++) sum += y[i];
  printf("%.10e\n", sum);
}
