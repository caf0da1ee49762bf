/* One average over 27 points, n x n x n inner points, from one part of a pool to another.
 *
 * Plain division: p1 x p2 x p3 blocks. Each point beside a cut gets one partial sum from the other side, 2 n^2 for each
 * cut; each line where two cuts cross sends one in four directions, 4 n, each point where three cross 8:
 * 8 (2 n^2 (p1 + p2 + p3 - 3) + 4 n ((p1-1)(p2-1) + (p1-1)(p3-1) + (p2-1)(p3-1)) + 8 (p1-1)(p2-1)(p3-1)). */
#include <stdio.h>
#include <stdlib.h>
static void kernel(int n, const double *u, double *v) {
  long w = n + 2;
  for (long i = 1; i <= n; i++)
    for (long j = 1; j <= n; j++)
      for (long k = 1; k <= n; k++) {
        double sum = 0;
        for (long a = -1; a <= 1; a++)
          for (long b = -1; b <= 1; b++)
            for (long c = -1; c <= 1; c++) sum += u[((i + a) * w + j + b) * w + k + c];
        v[((i - 1) * n + j - 1) * n + k - 1] = sum / 27;
      }
}
int main(int argc, char **argv) {
  int n = atoi(argv[1]);
  size_t points = (size_t)(n + 2) * (n + 2) * (n + 2);
  double *pool = malloc(sizeof(double) * (points + (size_t)n * n * n));
  double *u = pool;
  double *v = pool + points;
  for (size_t i = 0; i < points; i++) u[i] = i % 13;
  kernel(n, u, v);
  double sum = 0;
  for (int i = 0; i < n * n * n; i++) sum += v[i];
  printf("%.10e\n", sum);
}
