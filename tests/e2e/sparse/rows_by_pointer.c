/* Conjugate gradients on a 27-point operator: rows are reached through pointers into pools, vectors have a halo
   of padding behind them. Arguments: points along each side, iterations.
   Blocks of q^3 nodes send per iteration and direction what the faces, edges and corners of blocks hold. */
#include <stdio.h>
#include <stdlib.h>

typedef struct {
  int rows, columns;
  double **value; /* of each row, into one pool */
  int **column;
  int *length;
  double *value_pool;
  int *column_pool;
} Matrix;

static void generate(Matrix *m, int n, double **b, double **x) {
  int rows = n * n * n;
  m->rows = rows;
  m->columns = rows + 6 * n * n;
  m->value = malloc(sizeof(double *) * rows);
  m->column = malloc(sizeof(int *) * rows);
  m->length = malloc(sizeof(int) * rows);
  m->value_pool = malloc(sizeof(double) * 27 * rows);
  m->column_pool = malloc(sizeof(int) * 27 * rows);
  *b = malloc(sizeof(double) * rows);
  *x = malloc(sizeof(double) * m->columns);
  double *value = m->value_pool;
  int *column = m->column_pool;
  for (int iz = 0; iz < n; iz++)
    for (int iy = 0; iy < n; iy++)
      for (int ix = 0; ix < n; ix++) {
        int row = (iz * n + iy) * n + ix, count = 0;
        m->value[row] = value;
        m->column[row] = column;
        for (int sz = -1; sz <= 1; sz++)
          for (int sy = -1; sy <= 1; sy++)
            for (int sx = -1; sx <= 1; sx++) {
              int jz = iz + sz, jy = iy + sy, jx = ix + sx;
              if (jz < 0 || jz >= n || jy < 0 || jy >= n || jx < 0 || jx >= n) continue;
              int col = (jz * n + jy) * n + jx;
              *value++ = col == row ? 27.0 : -1.0;
              *column++ = col;
              count++;
            }
        m->length[row] = count;
        (*b)[row] = 27.0 - (count - 1);
        (*x)[row] = 0.0;
      }
}

static void spmv(const Matrix *m, const double *x, double *y) {
  for (int i = 0; i < m->rows; i++) {
    double sum = 0;
    const double *value = m->value[i];
    const int *column = m->column[i];
    for (int j = 0; j < m->length[i]; j++) sum += value[j] * x[column[j]];
    y[i] = sum;
  }
}

static double dot(int n, const double *a, const double *b) {
  double sum = 0;
  for (int i = 0; i < n; i++) sum += a[i] * b[i];
  return sum;
}

static void waxpby(int n, double alpha, const double *x, double beta, const double *y, double *w) {
  for (int i = 0; i < n; i++) w[i] = alpha * x[i] + beta * y[i];
}

static void solve(const Matrix *m, const double *b, double *x, int steps) {
  int n = m->rows;
  double *r = malloc(sizeof(double) * n), *p = malloc(sizeof(double) * m->columns), *ap = malloc(sizeof(double) * n);
  waxpby(n, 1.0, x, 0.0, x, p);
  spmv(m, p, ap);
  waxpby(n, 1.0, b, -1.0, ap, r);
  double rr = dot(n, r, r);
  for (int k = 0; k < steps; k++) {
    if (k == 0) {
      waxpby(n, 1.0, r, 0.0, r, p);
    } else {
      double old = rr;
      rr = dot(n, r, r);
      waxpby(n, 1.0, r, rr / old, p, p);
    }
    spmv(m, p, ap);
    double alpha = rr / dot(n, p, ap);
    waxpby(n, 1.0, x, alpha, p, x);
    waxpby(n, 1.0, r, -alpha, ap, r);
  }
  free(r);
  free(p);
  free(ap);
}

int main(int argc, char **argv) {
  int n = atoi(argv[1]), steps = atoi(argv[2]);
  Matrix m;
  double *b, *x;
  generate(&m, n, &b, &x);
  solve(&m, b, x, steps);
  printf("%g\n", dot(m.rows, x, x));
  return 0;
}
