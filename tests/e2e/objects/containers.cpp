// Containers as locals, members of members and smart pointers; some are sized later.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>
#define HIDDEN __attribute__((noinline))

struct Mesh {
  int n;
  std::vector<double> x, y;
  HIDDEN explicit Mesh(int n) : n(n), x(n), y(n) {}
  HIDDEN void grow(int more) {
    x.resize(more);
    y.resize(more, 1.0);
  }
};

class Solver {
public:
  Mesh mesh;
  std::vector<double> pressure;
  double *raw;
  std::unique_ptr<double[]> owned;
  explicit Solver(int n) : mesh(n), pressure(n, 1.0), raw(new double[n]), owned(std::make_unique<double[]>(n)) {}
  ~Solver() { delete[] raw; }
};

int main(int, char **argv) {
  int n = std::atoi(argv[1]);
  Solver solver(n);
  auto *other = new Solver(n);
  std::vector<double> local(n);
  auto smart = std::make_unique<double[]>(n);
  std::vector<double> pushed;
  for (int i = 0; i < n; i++)
    pushed.push_back(i * 0.5);
  std::vector<std::vector<double>> rows(n, std::vector<double>(n));
  solver.mesh.grow(2 * n);
  for (int i = 0; i < n; i++) {
    local[i] = i + pushed[i];
    solver.mesh.x[i] = local[i] * 3;
    solver.mesh.y[i] = local[i] + 1;
    solver.pressure[i] += local[i];
    solver.raw[i] = solver.pressure[i] * i;
    solver.owned[i] = local[i] * i;
    other->mesh.x[i] = solver.pressure[i] + 1;
    other->mesh.y[i] = solver.raw[i] + 1;
    other->pressure[i] = solver.mesh.x[i] * 2;
    other->raw[i] = solver.mesh.y[i] * 2;
    other->owned[i] = other->raw[i] - 1;
    smart[i] = other->pressure[i] + solver.owned[i];
    for (int j = 0; j < n; j++)
      rows[i][j] = smart[i] * j;
  }
  double sum = 0;
  for (int i = 0; i < n; i++)
    sum += smart[i] + other->raw[i] + rows[i][n - 1 - i] + other->mesh.x[i] + other->owned[i] + other->mesh.y[i];
  std::printf("%g\n", sum);
  delete other;
}
