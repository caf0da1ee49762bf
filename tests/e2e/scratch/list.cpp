// Six numbers are made of the three of each of four neighbours in a list: a border sends three per cell and step.
#include <array>
#include <cmath>
#include <vector>
using Cell = std::array<double, 3>;
constexpr int N = 32, M = N + 2;

extern "C" __attribute__((noinline)) void run(std::vector<Cell> &a, std::vector<Cell> &b, const int *list, int steps) {
  double w[6];
  for (int t = 0; t < steps; t++) {
    for (int i = 1; i <= N; i++)
      for (int j = 1; j <= N; j++) {
        Cell r = a[i * M + j];
        for (int k = 0; k < 4; k++) {
          const Cell &u = a[i * M + j + list[k]];
          w[0] = u[0], w[1] = u[1] / u[0], w[2] = u[2] / u[0], w[3] = w[1] * w[1] + w[2] * w[2];
          w[4] = std::sqrt(1.4 + w[3]), w[5] = std::exp(-w[3]);
          for (int c = 0; c < 3; c++) r[c] = 0.9 * r[c] + 0.01 * w[c] * w[c + 3] / (1 + r[c] * r[c]);
        }
        b[i * M + j] = r;
      }
    a.swap(b);
  }
}

int main() {
  std::vector<Cell> a(M * M), b(M * M);
  for (int i = 0; i < M * M; i++) b[i] = a[i] = {1 + 0.1 * (i % 3), 0.01 * (i % 5), 0.02 * (i % 7)};
  int list[4] = {-M, -1, 1, M};
  run(a, b, list, 4);
  return a[M + 3][0] == 0.5;
}
