/* L x = b, lower triangle n x n with rows one after the other without the zeros (packed).
 *
 * Plain division: rows and columns dealt out to a grid p1 x p2, backwards every second round. x[j] goes down its
 * column to the nodes that have a later row, the partial sums of row i are combined from the nodes that have an earlier
 * column: 8 (sum over j of others_above(j, p1) + sum over i of others_below(i, p2)). */
#include <stdio.h>
#include <stdlib.h>
static void kernel(int n, const double *L, const double *b, double *x) {
  for (int i = 0; i < n; i++) {
    const double *row = L + (size_t)i * (i + 1) / 2;
    double sum = b[i];
    for (int j = 0; j < i; j++) sum -= row[j] * x[j];
    x[i] = sum / row[i];
  }
}
int main(int argc, char **argv) {
  int n = atoi(argv[1]);
  double *L = malloc(sizeof(double) * n * (n + 1) / 2);
  double *b = malloc(sizeof(double) * n);
  double *x = malloc(sizeof(double) * n);
  for (int i = 0, at = 0; i < n; i++) {
    b[i] = i % 5;
    for (int j = 0; j <= i; j++) L[at++] = i == j ? 2.0 : ((i + j) % 3) / (double)n;
  }
  kernel(n, L, b, x);
  double sum = 0;
  for (int i = 0; i < n; i++) sum += x[i];
  printf("%.10e\n", sum);
}
