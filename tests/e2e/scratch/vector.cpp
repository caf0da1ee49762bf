#include <vector>
static double A[120][8], C[8][8];
struct Solver {
  std::vector<double> line = std::vector<double>(8);
  __attribute__((noinline)) void row(double *a) {
    for (int p = 0; p < 8; p++) {
      line[p] = 0;
      for (int s = 0; s < 8; s++) line[p] += a[s] * C[s][p];
    }
    for (int p = 0; p < 8; p++) a[p] = line[p];
  }
};
extern "C" __attribute__((noinline)) void kernel(Solver &solver) {
  for (int r = 0; r < 120; r++) solver.row(A[r]);
}
int main() {
  for (int r = 0; r < 120; r++) for (int k = 0; k < 8; k++) A[r][k] = (r * k) % 7;
  for (int i = 0; i < 8; i++) for (int j = 0; j < 8; j++) C[i][j] = 0.125 * (i * j % 5);
  Solver solver;
  kernel(solver);
  double total = 0;
  for (int r = 0; r < 120; r++) for (int k = 0; k < 8; k++) total += A[r][k];
  return total == 0.5;
}
