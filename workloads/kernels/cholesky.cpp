// Cholesky factor of a symmetric matrix in place, lower triangle, n x n; a vector of vectors.
//
// Plain division: rows and columns dealt out to a grid p1 x p2, backwards every second round. In step k the root of
// the pivot goes down its column; L[i][k] goes to the nodes that have an element (i, j) with k < j <= i of row i,
// or (l, i) with l >= i of column i. cholesky_words counts these sets.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
extern "C" void kernel(int n, std::vector<std::vector<double>> &a) {
  for (int k = 0; k < n; k++) {
    a[k][k] = std::sqrt(a[k][k]);
    for (int i = k + 1; i < n; i++) a[i][k] /= a[k][k];
    for (int i = k + 1; i < n; i++)
      for (int j = k + 1; j <= i; j++) a[i][j] -= a[i][k] * a[j][k];
  }
}
int main(int, char **argv) {
  int n = std::atoi(argv[1]);
  std::vector<std::vector<double>> a(n, std::vector<double>(n));
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) a[i][j] = ((i + j) % 7) / 7.0 + (i == j ? n : 0);
  kernel(n, a);
  double sum = 0;
  for (int i = 0; i < n; i++) sum += a[i][i];
  std::printf("%.10e\n", sum);
}
