// Classes of a simulation: a field of its own, inheritance, functions that return containers, virtual set-up.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>
#define HIDDEN __attribute__((noinline))

template <typename T> class Field {
public:
  HIDDEN Field(int rows, int columns) : m_columns(columns), m_data(new T[rows * columns]()) {}
  ~Field() { delete[] m_data; }
  T &operator()(int i, int j) { return m_data[i * m_columns + j]; }

private:
  int m_columns;
  T *m_data;
};

struct Base {
  std::vector<double> density;
  virtual ~Base() = default;
  virtual void prepare(int n) = 0;
};

struct Model : Base {
  std::array<std::vector<double>, 2> velocity;
  Field<double> temperature;
  explicit Model(int n) : temperature(n, n) {}
  HIDDEN void prepare(int n) override {
    density.assign(n, 1.0);
    velocity[0].resize(n);
    velocity[1].resize(n);
  }
};

HIDDEN static std::vector<double> ramp(int n) {
  std::vector<double> result(n);
  for (int i = 0; i < n; i++)
    result[i] = 0.5 * i;
  return result;
}

struct Particle {
  double position, speed;
};

int main(int, char **argv) {
  int n = std::atoi(argv[1]);
  std::unique_ptr<Base> model;
  auto made = std::make_unique<Model>(n);
  Model &m = *made;
  Base *base = made.get();
  base->prepare(n);
  std::vector<double> weights = ramp(n), table = ramp(2 * n);
  std::vector<Particle> particles;
  particles.resize(n);
  for (int i = 0; i < n; i++) {
    particles[i].position = i * 0.25;
    particles[i].speed = weights[i] + 1;
    m.velocity[0][i] = weights[i] * table[i];
    m.velocity[1][i] = particles[i].position + table[n + i];
    m.density[i] += m.velocity[0][i] * m.velocity[1][i];
    for (int j = 0; j < n; j++)
      m.temperature(i, j) = m.density[i] * weights[j];
  }
  double sum = 0;
  for (int i = 0; i < n; i++)
    sum += m.temperature(i, n - 1 - i) + particles[i].speed;
  std::printf("%g\n", sum);
  model = std::move(made);
}
