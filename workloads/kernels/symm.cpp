// C = A B with symmetric A (n x n, lower triangle stored) and B n x m; memory from std::make_unique.
//
// Plain division: p1 x p2 blocks of C. B[k][j] goes to the p1 blocks of column j. A[i][k] is used in rows i and
// k of C: by p2 nodes where both rows are in the same block, by 2 p2 otherwise, one of which owns it. With
// D = sum over blocks of s (s + 1) / 2 entries within a block (s rows) and O = n (n + 1) / 2 - D others:
// 8 (n m (p1 - 1) + D (p2 - 1) + O (2 p2 - 1)). Slabs of columns (p1 = 1) send A only.
#include <cstdio>
#include <cstdlib>
#include <memory>
extern "C" void kernel(int n, int m, double *c, const double *a, const double *b) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) {
      double sum = 0;
      for (int k = 0; k <= i; k++) sum += a[i * n + k] * b[k * m + j];
      for (int k = i + 1; k < n; k++) sum += a[k * n + i] * b[k * m + j];
      c[i * m + j] = sum;
    }
}
int main(int, char **argv) {
  int n = std::atoi(argv[1]), m = std::atoi(argv[2]);
  auto c = std::make_unique<double[]>(n * m);
  auto a = std::make_unique<double[]>(n * n);
  auto b = std::make_unique<double[]>(n * m);
  for (int i = 0; i < n * n; i++) a[i] = i % 7;
  for (int i = 0; i < n * m; i++) b[i] = i % 5;
  kernel(n, m, c.get(), a.get(), b.get());
  double sum = 0;
  for (int i = 0; i < n * m; i++) sum += c[i];
  std::printf("%.10e\n", sum);
}
