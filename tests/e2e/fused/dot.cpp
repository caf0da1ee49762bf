#include <complex>
#include <cstdio>
#include <cstdlib>
using number = std::complex<float>;
constexpr int n = 64, steps = 5;
__attribute__((noinline)) static number dot(const number *x, const number *y) {
  number s = 0;
  for (int i = 0; i < n; i++) s += std::conj(x[i]) * y[i];
  return s;
}
int main() {
  number *x = (number *)malloc(n * sizeof *x), *y = (number *)malloc(n * sizeof *y), hist[steps];
  for (int i = 0; i < n; i++) x[i] = number(i, 1), y[i] = number(1, -i);
  for (int t = 0; t < steps; t++) {
    for (int i = 0; i < n; i++) x[i] += number(1, 0.5f);
    hist[t] = dot(x, y);
  }
  for (int t = 0; t < steps; t++) printf("%g %g\n", hist[t].real(), hist[t].imag());
}
