// Conjugate gradients on a 27-point operator; rows are reached through pointers into pools, vectors by new.
#include <cmath>
#include <cstdio>
#include <cstdlib>

struct Matrix {
    int rows;
    int *lengths;
    double **values;
    int **columns;
    double *value_pool;
    int *column_pool;
};

static Matrix *generate(int n) {
    Matrix *a = new Matrix;
    a->rows = n * n * n;
    a->lengths = new int[a->rows];
    a->values = new double *[a->rows];
    a->columns = new int *[a->rows];
    a->value_pool = new double[27 * a->rows];
    a->column_pool = new int[27 * a->rows];
    double *value = a->value_pool;
    int *column = a->column_pool;
    for (int z = 0; z < n; z++)
        for (int y = 0; y < n; y++)
            for (int x = 0; x < n; x++) {
                int row = (z * n + y) * n + x, length = 0;
                a->values[row] = value;
                a->columns[row] = column;
                for (int dz = -1; dz <= 1; dz++)
                    for (int dy = -1; dy <= 1; dy++)
                        for (int dx = -1; dx <= 1; dx++) {
                            if (x + dx < 0 || x + dx >= n || y + dy < 0 || y + dy >= n || z + dz < 0 || z + dz >= n)
                                continue;
                            int other = row + (dz * n + dy) * n + dx;
                            *value++ = other == row ? 27.0 : -1.0;
                            *column++ = other;
                            length++;
                        }
                a->lengths[row] = length;
            }
    return a;
}

static void multiply(const Matrix *a, const double *x, double *y) {
    for (int i = 0; i < a->rows; i++) {
        double sum = 0.0;
        const double *values = a->values[i];
        const int *columns = a->columns[i];
        for (int k = 0; k < a->lengths[i]; k++) sum += values[k] * x[columns[k]];
        y[i] = sum;
    }
}

static double dot(int n, const double *x, const double *y) {
    double sum = 0.0;
    for (int i = 0; i < n; i++) sum += x[i] * y[i];
    return sum;
}

static void waxpby(int n, double alpha, const double *x, double beta, const double *y, double *w) {
    for (int i = 0; i < n; i++) w[i] = alpha * x[i] + beta * y[i];
}

int main(int argc, char **argv) {
    int n = argc > 1 ? std::atoi(argv[1]) : 24, steps = argc > 2 ? std::atoi(argv[2]) : 20;
    Matrix *a = generate(n);
    int rows = a->rows;
    double *x = new double[rows], *b = new double[rows], *r = new double[rows], *p = new double[rows], *q = new double[rows];
    for (int i = 0; i < rows; i++) {
        x[i] = 0.0;
        b[i] = 27.0 - (a->lengths[i] - 1);
    }
    waxpby(rows, 1.0, x, 0.0, x, p);
    multiply(a, p, q);
    waxpby(rows, 1.0, b, -1.0, q, r);
    double rr = dot(rows, r, r);
    for (int k = 0; k < steps; k++) {
        if (k == 0) {
            waxpby(rows, 1.0, r, 0.0, r, p);
        } else {
            double old = rr;
            rr = dot(rows, r, r);
            waxpby(rows, 1.0, r, rr / old, p, p);
        }
        multiply(a, p, q);
        double alpha = rr / dot(rows, p, q);
        waxpby(rows, 1.0, x, alpha, p, x);
        waxpby(rows, 1.0, r, -alpha, q, r);
    }
    std::printf("%.6e\n", std::sqrt(rr));
    return 0;
}
