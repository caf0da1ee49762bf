#include <math.h>
#include <stdio.h>
#include <stdlib.h>
enum { n = 64, steps = 5 };
typedef float vector __attribute__((vector_size(16)));
static float sum(const float *x) {
  vector s = {0, 0, 0, 0};
  for (int i = 0; i < n; i += 4) s += *(const vector *)(x + i);
  return s[0] + s[1] + s[2] + s[3];
}
static float most(const float *x) {
  float a = 0, b = 0;
  for (int i = 0; i < n; i += 2) a = fmaxf(a, x[i]), b = fmaxf(b, x[i + 1]);
  return fmaxf(a, b);
}
int main(void) {
  float *x = aligned_alloc(16, n * sizeof *x), hist[2 * steps];
  for (int i = 0; i < n; i++) x[i] = i;
  for (int t = 0; t < steps; t++) {
    for (int i = 0; i < n; i++) x[i] += 1;
    hist[2 * t] = sum(x), hist[2 * t + 1] = most(x);
  }
  for (int t = 0; t < 2 * steps; t++) printf("%g\n", hist[t]);
}
