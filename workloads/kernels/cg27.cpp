// Conjugate gradients, t iterations, on a 27-point operator of n x n x n points. Rows are reached through pointers to rows:
// values and columns are in two pools, vectors are allocated by new in different functions and padded by a halo of zeros.
//
// Plain division: p1 x p2 x p3 blocks of points; rows of the operator lie with their points. An iteration sends the layer of
// d around each block: 2 n^2 values on each cut, 4 n on each line where two cuts cross, 8 where three do, and combines two sums
// and sends their results: 4 (p - 1). Once: the first sum, p - 1, and zeros of the halo beside cuts, 8 (n + 1) on each
// cut, 8 at each line where two cuts cross.
#include <cstdio>
#include <cstdlib>
struct Operator {
  int n;
  double **value;
  int **column;
  int *length;
};
static int place(int n, int i, int j, int k) { return ((i + 1) * (n + 2) + j + 1) * (n + 2) + k + 1; }
static double *make_vector(int n) {
  double *v = new double[(n + 2) * (n + 2) * (n + 2)];
  for (int i = 0; i < (n + 2) * (n + 2) * (n + 2); i++) v[i] = 0;
  return v;
}
static void make_operator(Operator &a, int n) {
  a.n = n;
  a.value = new double *[n * n * n];
  a.column = new int *[n * n * n];
  a.length = new int[n * n * n];
  double *values = new double[27 * n * n * n];
  int *columns = new int[27 * n * n * n];
  int row = 0;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      for (int k = 0; k < n; k++, row++) {
        a.value[row] = values + 27 * row;
        a.column[row] = columns + 27 * row;
        a.length[row] = 0;
        for (int x = -1; x <= 1; x++)
          for (int y = -1; y <= 1; y++)
            for (int z = -1; z <= 1; z++) {
              a.value[row][a.length[row]] = x || y || z ? -1.0 : 26.0 + row % 3;
              a.column[row][a.length[row]++] = place(n, i + x, j + y, k + z);
            }
      }
}
static double dot(int n, const double *a, const double *b) {
  double sum = 0;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      for (int k = 0; k < n; k++) sum += a[place(n, i, j, k)] * b[place(n, i, j, k)];
  return sum;
}
static void multiply(const Operator &a, const double *x, double *y) {
  int n = a.n, row = 0;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      for (int k = 0; k < n; k++, row++) {
        double sum = 0;
        const double *value = a.value[row];
        const int *column = a.column[row];
        for (int e = 0; e < a.length[row]; e++) sum += value[e] * x[column[e]];
        y[place(n, i, j, k)] = sum;
      }
}
static void axpy(int n, double *y, double scale, const double *x, double own) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      for (int k = 0; k < n; k++) y[place(n, i, j, k)] = own * y[place(n, i, j, k)] + scale * x[place(n, i, j, k)];
}
extern "C" void kernel(const Operator &a, int t, double *x, double *r, double *d, double *q) {
  double rr = dot(a.n, r, r);
  for (int s = 0; s < t; s++) {
    multiply(a, d, q);
    double alpha = rr / dot(a.n, d, q);
    axpy(a.n, x, alpha, d, 1);
    axpy(a.n, r, -alpha, q, 1);
    double next = dot(a.n, r, r);
    axpy(a.n, d, 1, r, next / rr);
    rr = next;
  }
}
static double *right_side(int n) {
  double *r = make_vector(n);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      for (int k = 0; k < n; k++) r[place(n, i, j, k)] = 1 + (i + 2 * j + 3 * k) % 5;
  return r;
}
int main(int, char **argv) {
  int n = std::atoi(argv[1]), t = std::atoi(argv[2]);
  Operator a;
  make_operator(a, n);
  double *x = make_vector(n);
  double *r = right_side(n);
  double *d = right_side(n);
  double *q = make_vector(n);
  kernel(a, t, x, r, d, q);
  std::printf("%.8e\n", dot(n, x, x));
}
