/* Covariance of the m columns of n observations; arrays of an aggregate in one aligned block, n x m flat.
 *
 * Plain division: slabs of observations. Means are combined and sent back, 2 m (p - 1) words, entries of the upper
 * triangle combined, m (m + 1) / 2 (p - 1). Or columns (i, j) of the triangle dealt out to a grid p1 x p2, backwards
 * every second round: a centred column goes to the S(i) - 1 other nodes that have its row or column of the triangle
 * (syrk.c), 8 n triangle_words. */
#include <stdio.h>
#include <stdlib.h>
struct sample {
  int n, m;
  double *data;
  double *mean;
  double *cov;
};
static void kernel(struct sample *s) {
  int n = s->n, m = s->m;
  double *data = s->data, *mean = s->mean, *cov = s->cov;
  for (int j = 0; j < m; j++) {
    mean[j] = 0;
    for (int i = 0; i < n; i++) mean[j] += data[i * m + j];
    mean[j] /= n;
  }
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) data[i * m + j] -= mean[j];
  for (int i = 0; i < m; i++)
    for (int j = i; j < m; j++) {
      double sum = 0;
      for (int k = 0; k < n; k++) sum += data[k * m + i] * data[k * m + j];
      cov[i * m + j] = sum / (n - 1.0);
      cov[j * m + i] = cov[i * m + j];
    }
}
int main(int argc, char **argv) {
  struct sample s = {.n = atoi(argv[1]), .m = atoi(argv[2])};
  s.data = aligned_alloc(64, ((size_t)s.n * s.m * sizeof(double) + 63) / 64 * 64);
  s.mean = aligned_alloc(64, ((size_t)s.m * sizeof(double) + 63) / 64 * 64);
  s.cov = aligned_alloc(64, ((size_t)s.m * s.m * sizeof(double) + 63) / 64 * 64);
  for (int i = 0; i < s.n * s.m; i++) s.data[i] = (i % 37) / 37.0;
  kernel(&s);
  double sum = 0;
  for (int i = 0; i < s.m; i++) sum += s.cov[i * s.m + i];
  printf("%.10e\n", sum);
}
