// Correlation of the m columns of n observations; std::vector in functions and members.
//
// Plain division: as for the covariance (covariance.c). In slabs of observations means and deviations are combined and
// sent back, 4 m (p - 1) words, and the diagonal needs no sum, m (m - 1) / 2 (p - 1); on a grid 8 n pair_words, which
// counts the nodes of the triangle without its diagonal.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
struct Sample {
  int n, m;
  std::vector<double> data;
  std::vector<double> mean;
  std::vector<double> deviation;
  std::vector<double> corr;
  Sample(int n_, int m_) : n(n_), m(m_), data(n * m), mean(m), deviation(m), corr(m * m) {
    for (int i = 0; i < n * m; i++) data[i] = (i * 7 % 41) / 41.0;
  }
};
extern "C" void kernel(Sample &s) {
  const int n = s.n, m = s.m;
  for (int j = 0; j < m; j++) {
    double sum = 0;
    for (int i = 0; i < n; i++) sum += s.data[i * m + j];
    s.mean[j] = sum / n;
  }
  for (int j = 0; j < m; j++) {
    double sum = 0;
    for (int i = 0; i < n; i++) sum += (s.data[i * m + j] - s.mean[j]) * (s.data[i * m + j] - s.mean[j]);
    s.deviation[j] = std::sqrt(sum / n);
  }
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) s.data[i * m + j] = (s.data[i * m + j] - s.mean[j]) / (std::sqrt(double(n)) * s.deviation[j]);
  for (int i = 0; i < m; i++) {
    s.corr[i * m + i] = 1;
    for (int j = i + 1; j < m; j++) {
      double sum = 0;
      for (int k = 0; k < n; k++) sum += s.data[k * m + i] * s.data[k * m + j];
      s.corr[i * m + j] = sum;
      s.corr[j * m + i] = sum;
    }
  }
}
int main(int, char **argv) {
  Sample s(std::atoi(argv[1]), std::atoi(argv[2]));
  kernel(s);
  double sum = 0;
  for (double value : s.corr) sum += value;
  std::printf("%.10e\n", sum);
}
