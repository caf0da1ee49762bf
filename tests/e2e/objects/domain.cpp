// Fields of a domain: vectors that member functions size, pointers from a template, temporaries of every step.
#include <cstdio>
#include <cstdlib>
#include <vector>
#define HIDDEN __attribute__((noinline))

template <typename T> HIDDEN T *allocate(std::size_t size) { return static_cast<T *>(std::malloc(size * sizeof(T))); }
template <typename T> HIDDEN void release(T **block) {
  std::free(*block);
  *block = nullptr;
}

class Domain {
public:
  explicit Domain(int edge);
  double &x(int i) { return m_x[i]; }
  double &force(int i) { return m_force[i]; }
  double &energy(int i) { return m_energy[i]; }
  double *gradient() { return m_gradient; }
  void allocate_gradient() { m_gradient = allocate<double>(m_energy.size()); }
  void release_gradient() { release(&m_gradient); }

private:
  HIDDEN void allocate_nodes(int count);
  HIDDEN void allocate_elements(int count);
  std::vector<double> m_x, m_force;
  std::vector<double> m_energy;
  double *m_gradient = nullptr;
};

Domain::Domain(int edge) {
  allocate_nodes(edge + 1);
  allocate_elements(edge);
}
void Domain::allocate_nodes(int count) {
  m_x.resize(count);
  m_force.resize(count);
}
void Domain::allocate_elements(int count) { m_energy.resize(count, 1.0); }

HIDDEN static void step(Domain &domain, int edge) {
  double *stress = allocate<double>(edge);
  domain.allocate_gradient();
  for (int i = 0; i < edge; i++) {
    domain.gradient()[i] = domain.x(i + 1) - domain.x(i);
    stress[i] = domain.energy(i) * domain.gradient()[i];
  }
  for (int i = 0; i < edge; i++) {
    domain.force(i) += stress[i];
    domain.force(i + 1) -= stress[i];
  }
  for (int i = 0; i <= edge; i++)
    domain.x(i) += 0.01 * domain.force(i);
  domain.release_gradient();
  release(&stress);
}

int main(int, char **argv) {
  int edge = std::atoi(argv[1]);
  Domain *domain = new Domain(edge);
  for (int i = 0; i <= edge; i++)
    domain->x(i) = i * 1.5;
  for (int k = 0; k < 3; k++)
    step(*domain, edge);
  std::printf("%g\n", domain->x(edge / 2));
  delete domain;
}
