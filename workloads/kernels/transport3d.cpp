// One sweep of a transport equation from a corner through n x m x l cells: each needs the three before it; unique_ptr in a
// class, with three vectors per face as halo.
//
// Plain division: p1 x p2 x p3 blocks. One layer over each cut, forward only: 8 (m l (p1 - 1) + n l (p2 - 1) + n m (p3 - 1)).
#include <cstdio>
#include <cstdlib>
#include <memory>
struct Sweep {
  int n, m, l;
  std::unique_ptr<double[]> flux;
  std::unique_ptr<double[]> source;
  Sweep(int n_, int m_, int l_) : n(n_), m(m_), l(l_) {
    flux = std::make_unique<double[]>((n + 1) * (m + 1) * (l + 1));
    source = std::make_unique<double[]>(n * m * l);
    for (int c = 0; c < n * m * l; c++) source[c] = c % 5;
  }
  double &at(int i, int j, int k) { return flux[(i * (m + 1) + j) * (l + 1) + k]; }
};
extern "C" void kernel(Sweep &s) {
  for (int i = 1; i <= s.n; i++)
    for (int j = 1; j <= s.m; j++)
      for (int k = 1; k <= s.l; k++)
        s.at(i, j, k) = (s.source[((i - 1) * s.m + j - 1) * s.l + k - 1] + 0.3 * s.at(i - 1, j, k) + 0.2 * s.at(i, j - 1, k) + 0.4 * s.at(i, j, k - 1)) / 1.9;
}
int main(int, char **argv) {
  Sweep s(std::atoi(argv[1]), std::atoi(argv[2]), std::atoi(argv[3]));
  kernel(s);
  std::printf("%.10e\n", s.at(s.n, s.m, s.l));
}
