/*
 * Conjugate gradients for the Poisson equation, matrix in compressed sparse row (CSR) form.
 *
 *     cg [N [2d|3d [natural|permuted [ITER]]]]       default: 32 2d natural 20
 *
 * N^2 or N^3 grid points, 5- or 7-point stencil, zero outside the grid. natural numbers the unknowns line
 * by line, permuted at random: the matrix is the same up to the order of its rows and columns, but nothing
 * in the program tells which unknowns are neighbours. The right-hand side is a pseudo-random number in
 * [-0.5, 0.5) per grid point. A fixed number of iterations, no preconditioner.
 */
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    int rows;
    int *row_start; /* rows + 1 entries */
    int *column;
    double *value;
} CsrMatrix;

void csr_multiply(const CsrMatrix *a, const double *x, double *y)
{
    for (int i = 0; i < a->rows; i++) {
        double sum = 0.0;
        for (int e = a->row_start[i]; e < a->row_start[i + 1]; e++)
            sum += a->value[e] * x[a->column[e]];
        y[i] = sum;
    }
}

double dot(int n, const double *a, const double *b)
{
    double sum = 0.0;
    for (int i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* The main loop: from x = 0 and residual r; returns the square of the residual's norm. */
double cg_solve(const CsrMatrix *a, int iterations, double *x, double *r, double *p, double *q)
{
    int n = a->rows;
    double rr = dot(n, r, r);
    for (int i = 0; i < n; i++)
        p[i] = r[i];
    for (int it = 0; it < iterations && rr > 0.0; it++) {
        csr_multiply(a, p, q);
        double alpha = rr / dot(n, p, q);
        for (int i = 0; i < n; i++) {
            x[i] += alpha * p[i];
            r[i] -= alpha * q[i];
        }
        double rr_new = dot(n, r, r);
        double beta = rr_new / rr;
        for (int i = 0; i < n; i++)
            p[i] = r[i] + beta * p[i];
        rr = rr_new;
    }
    return rr;
}

/* Scrambles an index into 32 well mixed bits. */
static uint32_t scramble(uint32_t x)
{
    x = (x ^ (x >> 16)) * 0x7feb352du;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    return x ^ (x >> 16);
}

/* Which unknown a grid point is, and the reverse. */
static void number_unknowns(int points, int permuted, int *unknown_of, int *point_of)
{
    for (int i = 0; i < points; i++)
        point_of[i] = i;
    for (int i = points - 1; permuted && i > 0; i--) {
        int other = (int)(scramble((uint32_t)i) % (uint32_t)(i + 1));
        int point = point_of[i];
        point_of[i] = point_of[other];
        point_of[other] = point;
    }
    for (int i = 0; i < points; i++)
        unknown_of[point_of[i]] = i;
}

static void add_entry(CsrMatrix *a, int *entries, int column, double value)
{
    a->column[*entries] = column;
    a->value[*entries] = value;
    ++*entries;
}

static void fill_matrix(CsrMatrix *a, int n, int dimensions, const int *unknown_of, const int *point_of)
{
    int entries = 0;
    for (int i = 0; i < a->rows; i++) {
        int point = point_of[i];
        a->row_start[i] = entries;
        add_entry(a, &entries, i, 2.0 * dimensions);
        for (int d = 0, stride = 1; d < dimensions; d++, stride *= n) {
            int coordinate = point / stride % n;
            if (coordinate > 0)
                add_entry(a, &entries, unknown_of[point - stride], -1.0);
            if (coordinate < n - 1)
                add_entry(a, &entries, unknown_of[point + stride], -1.0);
        }
    }
    a->row_start[a->rows] = entries;
}

static int argument(const char *name, const char *text, int low, int high)
{
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno || end == text || *end || value < low || value > high) {
        fprintf(stderr, "cg: %s must be an integer from %d to %d, found '%s'\n", name, low, high, text);
        exit(2);
    }
    return (int)value;
}

/* 0 for the first word, 1 for the second. */
static int choice(const char *text, const char *first, const char *second)
{
    if (strcmp(text, first) == 0)
        return 0;
    if (strcmp(text, second) == 0)
        return 1;
    fprintf(stderr, "cg: expected %s or %s, found '%s'\n", first, second, text);
    exit(2);
}

static void *allocate(size_t count, size_t size)
{
    void *memory = malloc(count * size);
    if (!memory) {
        fprintf(stderr, "cg: not enough memory for %zu elements\n", count);
        exit(1);
    }
    return memory;
}

int main(int argc, char **argv)
{
    const char *shape = argc > 2 ? argv[2] : "2d";
    const char *order = argc > 3 ? argv[3] : "natural";
    int dimensions = 2 + choice(shape, "2d", "3d");
    int permuted = choice(order, "natural", "permuted");
    int n = argc > 1 ? argument("N", argv[1], 1, dimensions == 2 ? 10000 : 500) : 32;
    int iterations = argc > 4 ? argument("ITER", argv[4], 0, 1000000) : 20;
    if (argc > 5) {
        fprintf(stderr, "usage: cg [N [2d|3d [natural|permuted [ITER]]]]\n");
        return 2;
    }

    int points = dimensions == 2 ? n * n : n * n * n;
    size_t count = (size_t)points;
    size_t most = count * (size_t)(2 * dimensions + 1);
    CsrMatrix a = {points, allocate(count + 1, sizeof(int)), allocate(most, sizeof(int)),
                   allocate(most, sizeof(double))};
    int *unknown_of = allocate(count, sizeof(int));
    int *point_of = allocate(count, sizeof(int));
    double *x = allocate(count, sizeof(double));
    double *r = allocate(count, sizeof(double));
    double *p = allocate(count, sizeof(double));
    double *q = allocate(count, sizeof(double));
    number_unknowns(points, permuted, unknown_of, point_of);
    fill_matrix(&a, n, dimensions, unknown_of, point_of);
    for (int i = 0; i < points; i++) {
        x[i] = 0.0;
        r[i] = scramble((uint32_t)point_of[i] + 1u) / 4294967296.0 - 0.5;
    }

    double rr = cg_solve(&a, iterations, x, r, p, q);

    double sum = 0.0;
    for (int i = 0; i < points; i++)
        sum += x[i];
    printf("cg n %d shape %s order %s entries %d iterations %d\n", n, shape, order, a.row_start[points],
           iterations);
    printf("residual %.10e\n", sqrt(rr));
    printf("sum %.10e\n", sum);
    printf("first %.10e\n", x[unknown_of[0]]);
    free(a.row_start);
    free(a.column);
    free(a.value);
    free(unknown_of);
    free(point_of);
    free(x);
    free(r);
    free(p);
    free(q);
    return 0;
}
