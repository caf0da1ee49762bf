// y = A^T (A x) with A n x m; memory from operator new.
//
// Plain division: blocks of A on a grid p1 x p2. x is sent down the p1 nodes of each column of the grid and y
// combined along it, t is combined along the p2 nodes of each row and sent back: 16 (m (p1 - 1) + n (p2 - 1)).
#include <cstdio>
#include <cstdlib>
extern "C" void kernel(int n, int m, const double *a, const double *x, double *y, double *t) {
  for (int j = 0; j < m; j++) y[j] = 0;
  for (int i = 0; i < n; i++) {
    t[i] = 0;
    for (int j = 0; j < m; j++) t[i] += a[i * m + j] * x[j];
    for (int j = 0; j < m; j++) y[j] += a[i * m + j] * t[i];
  }
}
int main(int, char **argv) {
  int n = std::atoi(argv[1]), m = std::atoi(argv[2]);
  double *a = new double[n * m];
  double *x = new double[m];
  double *y = new double[m];
  double *t = new double[n];
  for (int i = 0; i < n * m; i++) a[i] = (i % 17) / 17.0;
  for (int j = 0; j < m; j++) x[j] = 1 + j % 3;
  kernel(n, m, a, x, y, t);
  double sum = 0;
  for (int j = 0; j < m; j++) sum += y[j];
  std::printf("%.10e\n", sum);
  delete[] a;
  delete[] x;
  delete[] y;
  delete[] t;
}
