// Forces between particles nearer than a cut-off, 4 particles in each of n x m cells, cells and their neighbours are
// compared; arrays in a structure of unique_ptr.
//
// Plain division: p1 x p2 blocks of cells. Both coordinates of the 4 particles of each cell beside a cut go over it, of
// each cell at a crossing also diagonally: 8 * 8 (2 m (p1 - 1) + 2 n (p2 - 1) + 4 (p1 - 1)(p2 - 1)).
#include <cstdio>
#include <cstdlib>
#include <memory>
struct Particles {
  int count;
  std::unique_ptr<double[]> x;
  std::unique_ptr<double[]> y;
  std::unique_ptr<double[]> fx;
  std::unique_ptr<double[]> fy;
  explicit Particles(int n) : count(n) {
    x.reset(new double[n]);
    y.reset(new double[n]);
    fx.reset(new double[n]);
    fy.reset(new double[n]);
  }
};
extern "C" void kernel(int n, int m, Particles &s) {
  for (int c = 0; c < n * m; c++)
    for (int i = 4 * c; i < 4 * c + 4; i++) {
      double fx = 0, fy = 0;
      for (int a = c / m - 1; a <= c / m + 1; a++)
        for (int b = c % m - 1; b <= c % m + 1; b++) {
          if (a < 0 || a >= n || b < 0 || b >= m) continue;
          for (int j = 4 * (a * m + b); j < 4 * (a * m + b) + 4; j++) {
            double dx = s.x[i] - s.x[j], dy = s.y[i] - s.y[j], d = dx * dx + dy * dy;
            if (j != i && d < 1.0) {
              fx += dx * (1 - d);
              fy += dy * (1 - d);
            }
          }
        }
      s.fx[i] = fx;
      s.fy[i] = fy;
    }
}
int main(int, char **argv) {
  int n = std::atoi(argv[1]), m = std::atoi(argv[2]);
  Particles s(4 * n * m);
  unsigned r = 9;
  for (int i = 0; i < s.count; i++) {
    r = r * 1664525u + 1013904223u;
    s.x[i] = i / 4 / m + (r >> 8) / 16777216.0;
    r = r * 1664525u + 1013904223u;
    s.y[i] = i / 4 % m + (r >> 8) / 16777216.0;
  }
  kernel(n, m, s);
  double sum = 0;
  for (int i = 0; i < s.count; i++) sum += s.fx[i] * s.fx[i] + s.fy[i] * s.fy[i];
  std::printf("%.10e\n", sum);
}
