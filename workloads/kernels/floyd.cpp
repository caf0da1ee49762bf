// Shortest paths between all pairs of n places in doubles; operator new per row.
//
// Plain division: p1 x p2 blocks. In step k column k goes along the rows to p2 - 1 other blocks, row k down the columns
// to p1 - 1: 8 n^2 (p1 + p2 - 2).
#include <algorithm>
#include <cstdio>
#include <cstdlib>
extern "C" void kernel(int n, double **d) {
  for (int k = 0; k < n; k++)
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++) d[i][j] = std::min(d[i][j], d[i][k] + d[k][j]);
}
int main(int, char **argv) {
  int n = std::atoi(argv[1]);
  double **d = new double *[n];
  unsigned r = 1;
  for (int i = 0; i < n; i++) {
    d[i] = new double[n];
    for (int j = 0; j < n; j++) r = r * 1664525u + 1013904223u, d[i][j] = 1 + r % 97;
  }
  kernel(n, d);
  double sum = 0;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) sum += d[i][j];
  std::printf("%.10e\n", sum);
  for (int i = 0; i < n; i++) delete[] d[i];
  delete[] d;
}
