// C = A^T B^T with n x m = (k x n)^T (m x k)^T; members of an object, std::vector.
//
// Plain division: p1 x p2 blocks of C. A[l][i] goes to the p2 blocks of row i of C, B[j][l] to the p1 blocks of
// column j: 8 (n k (p2 - 1) + k m (p1 - 1)).
#include <cstdio>
#include <cstdlib>
#include <vector>
struct Product {
  int n, m, k;
  std::vector<double> c;
  std::vector<double> a;
  std::vector<double> b;
  Product(int n_, int m_, int k_) : n(n_), m(m_), k(k_), c(n_ * m_), a(k_ * n_), b(m_ * k_) {
    for (int i = 0; i < k * n; i++) a[i] = i % 9;
    for (int i = 0; i < m * k; i++) b[i] = i % 7;
  }
};
extern "C" void kernel(Product &x) {
  for (int i = 0; i < x.n; i++)
    for (int j = 0; j < x.m; j++) {
      double sum = 0;
      for (int l = 0; l < x.k; l++) sum += x.a[l * x.n + i] * x.b[j * x.k + l];
      x.c[i * x.m + j] = sum;
    }
}
int main(int, char **argv) {
  Product x(std::atoi(argv[1]), std::atoi(argv[2]), std::atoi(argv[3]));
  kernel(x);
  double sum = 0;
  for (double value : x.c) sum += value;
  std::printf("%.10e\n", sum);
}
