// Nine-point smoothing, n x m inner points, two fields of a class in std::vector, swapped.
//
// Plain division: p1 x p2 blocks. A step sends m values each way over each cut of rows and n over each cut of columns (one
// partial sum for each point beside the cut, so that fixed values beside its ends need not go), and one value across
// each of the (p1 - 1)(p2 - 1) crossings in four directions: 8 t (2 m (p1 - 1) + 2 n (p2 - 1) + 4 (p1 - 1)(p2 - 1)).
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>
class Field {
 public:
  Field(int n, int m) : n_(n), m_(m), now_((n + 2) * (m + 2)), next_((n + 2) * (m + 2)) {
    for (std::size_t i = 0; i < now_.size(); i++) now_[i] = next_[i] = i % 11;
  }
  void step() {
    const int w = m_ + 2;
    for (int i = 1; i <= n_; i++)
      for (int j = 1; j <= m_; j++) {
        double sum = 0;
        for (int a = -1; a <= 1; a++)
          for (int b = -1; b <= 1; b++) sum += now_[(i + a) * w + j + b];
        next_[i * w + j] = sum / 9;
      }
    std::swap(now_, next_);
  }
  double sum() const {
    double s = 0;
    for (double x : now_) s += x;
    return s;
  }

 private:
  int n_, m_;
  std::vector<double> now_;
  std::vector<double> next_;
};
extern "C" void kernel(Field &f, int t) {
  for (int s = 0; s < t; s++) f.step();
}
int main(int, char **argv) {
  Field f(std::atoi(argv[1]), std::atoi(argv[2]));
  kernel(f, std::atoi(argv[3]));
  std::printf("%.10e\n", f.sum());
}
