#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
typedef float real;
class Field {
  int n_;
  std::vector<real> data_;
 public:
  explicit Field(int n) : n_(n), data_(static_cast<std::size_t>(n + 2) * (n + 2), real(0)) {}
  real &operator()(int i, int j) { return data_[i * (n_ + 2) + j]; }
  const real &operator()(int i, int j) const { return data_[i * (n_ + 2) + j]; }
  int size() const { return n_; }
  void swap(Field &o) { data_.swap(o.data_); }
};
class Solver {
  Field u, w;
  real residual = 0;
 public:
  explicit Solver(int n) : u(n), w(n) { for (int j = 0; j < n + 2; j++) u(0, j) = w(0, j) = 1; }
  void step() {
    residual = 0;
    for (int i = 1; i <= u.size(); ++i)
      for (int j = 1; j <= u.size(); ++j) {
        w(i, j) = real(0.2) * (u(i, j) + u(i, j - 1) + u(i, j + 1) + u(i - 1, j) + u(i + 1, j));
        residual += (w(i, j) - u(i, j)) * (w(i, j) - u(i, j));
      }
    u.swap(w);
  }
  real last() const { return residual; }
};
int main() {
  const int n = 12, steps = 5;
  Solver solver(n);
  std::vector<real> hist(steps);
  for (int t = 0; t < steps; t++) { solver.step(); hist[t] = solver.last(); }
  for (real r : hist) std::printf("%g\n", r);
}
