#include <math.h>
#include <stdio.h>
/* As of 1990: all is global, four reductions in one loop. */
#define N 12
double u[N + 2][N + 2], w[N + 2][N + 2], total, sq, most, least, hist[5][4];
__attribute__((noinline)) void sweep(void) {
  int i, j;
  total = sq = most = 0; least = 1e30;
  for (i = 1; i <= N; i++)
    for (j = 1; j <= N; j++) {
      double r = (u[i - 1][j] + u[i + 1][j] + u[i][j - 1] + u[i][j + 1]) / 4 - u[i][j];
      w[i][j] = u[i][j] + (double)0.8 * r;
      total += w[i][j];
      sq += r * r;
      if (fabs(r) > most) most = fabs(r);
      least = fmin(least, w[i][j]);
    }
}
int main(void) {
  for (int j = 0; j < N + 2; j++) u[0][j] = w[0][j] = 1;
  for (int t = 0; t < 5; t++) {
    sweep();
    for (int i = 1; i <= N; i++)
      for (int j = 1; j <= N; j++) u[i][j] = w[i][j];
    hist[t][0] = total; hist[t][1] = sq; hist[t][2] = most; hist[t][3] = least;
  }
  for (int t = 0; t < 5; t++) printf("%g %g %g %g\n", hist[t][0], hist[t][1], hist[t][2], hist[t][3]);
}
