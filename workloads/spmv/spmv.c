/*
 * Sparse matrix-vector product in compressed sparse row (CSR) form, repeated.
 *
 *     spmv [N [dense|banded|random [NNZ_PER_ROW [ITER]]]]       default: 1024 banded 9 10
 *
 * dense:  every row has N entries (NNZ_PER_ROW is ignored);
 * banded: row i has the columns i - NNZ_PER_ROW/2 ... i + NNZ_PER_ROW/2 that exist;
 * random: NNZ_PER_ROW columns per row, one in each of NNZ_PER_ROW equal sections of the row.
 *
 * Every iteration computes y = A x. Between two products x is relaxed towards the result,
 * x_i = (x_i + y_i) / 2, so that each product reads a new vector. Row sums of |A| are below one.
 */
#include <errno.h>
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

typedef enum { DENSE, BANDED, RANDOM } Pattern;

void csr_multiply(const CsrMatrix *a, const double *x, double *y)
{
    for (int i = 0; i < a->rows; i++) {
        double sum = 0.0;
        for (int e = a->row_start[i]; e < a->row_start[i + 1]; e++)
            sum += a->value[e] * x[a->column[e]];
        y[i] = sum;
    }
}

void relax(int n, const double *y, double *x)
{
    for (int i = 0; i < n; i++)
        x[i] = 0.5 * (x[i] + y[i]);
}

/* The main loop. */
void spmv_iterate(const CsrMatrix *a, int iterations, double *x, double *y)
{
    for (int it = 0; it < iterations; it++) {
        if (it > 0)
            relax(a->rows, y, x);
        csr_multiply(a, x, y);
    }
}

/* Scrambles an index into 32 well mixed bits, so that every entry has its own pseudo-random number. */
static uint32_t scramble(uint32_t x)
{
    x = (x ^ (x >> 16)) * 0x7feb352du;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    return x ^ (x >> 16);
}

static double uniform(uint32_t index)
{
    return scramble(index) / 4294967296.0;
}

/* Columns first and last + 1 of a banded row. */
static int band_begin(int i, int half)
{
    return i > half ? i - half : 0;
}

static int band_end(int n, int i, int half)
{
    return i + half < n ? i + half + 1 : n;
}

static int row_length(int n, Pattern pattern, int per_row, int i)
{
    if (pattern == DENSE)
        return n;
    if (pattern == RANDOM)
        return per_row;
    return band_end(n, i, per_row / 2) - band_begin(i, per_row / 2);
}

static int column_of(int n, Pattern pattern, int per_row, int i, int k)
{
    if (pattern == DENSE)
        return k;
    if (pattern == BANDED)
        return band_begin(i, per_row / 2) + k;
    int begin = (int)((long long)k * n / per_row);
    int end = (int)((long long)(k + 1) * n / per_row);
    uint32_t entry = (uint32_t)i * (uint32_t)per_row + (uint32_t)k;
    return begin + (int)(scramble(entry + 1u) % (uint32_t)(end - begin));
}

static void fill_matrix(CsrMatrix *a, Pattern pattern, int per_row)
{
    for (int i = 0; i < a->rows; i++) {
        int length = a->row_start[i + 1] - a->row_start[i];
        for (int k = 0; k < length; k++) {
            int e = a->row_start[i] + k;
            a->column[e] = column_of(a->rows, pattern, per_row, i, k);
            a->value[e] = (uniform((uint32_t)e) - 0.25) / length;
        }
    }
}

static int argument(const char *name, const char *text, int low, int high)
{
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno || end == text || *end || value < low || value > high) {
        fprintf(stderr, "spmv: %s must be an integer from %d to %d, found '%s'\n", name, low, high,
                text);
        exit(2);
    }
    return (int)value;
}

static Pattern pattern_argument(const char *text)
{
    if (strcmp(text, "dense") == 0)
        return DENSE;
    if (strcmp(text, "banded") == 0)
        return BANDED;
    if (strcmp(text, "random") == 0)
        return RANDOM;
    fprintf(stderr, "spmv: the pattern must be dense, banded or random, found '%s'\n", text);
    exit(2);
}

static void *allocate(size_t count, size_t size)
{
    void *memory = malloc(count * size);
    if (!memory) {
        fprintf(stderr, "spmv: not enough memory for %zu elements\n", count);
        exit(1);
    }
    return memory;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? argument("N", argv[1], 1, 10000000) : 1024;
    const char *name = argc > 2 ? argv[2] : "banded";
    Pattern pattern = pattern_argument(name);
    int per_row = argc > 3 ? argument("NNZ_PER_ROW", argv[3], 1, n) : (n < 9 ? n : 9);
    int iterations = argc > 4 ? argument("ITER", argv[4], 0, 1000000) : 10;
    if (argc > 5) {
        fprintf(stderr, "usage: spmv [N [dense|banded|random [NNZ_PER_ROW [ITER]]]]\n");
        return 2;
    }

    CsrMatrix a = {n, allocate((size_t)n + 1, sizeof(int)), NULL, NULL};
    a.row_start[0] = 0;
    for (int i = 0; i < n; i++) {
        long long end = (long long)a.row_start[i] + row_length(n, pattern, per_row, i);
        if (end > INT32_MAX) {
            fprintf(stderr, "spmv: the matrix must have fewer than 2^31 entries\n");
            return 2;
        }
        a.row_start[i + 1] = (int)end;
    }
    int entries = a.row_start[n];
    a.column = allocate((size_t)entries, sizeof(int));
    a.value = allocate((size_t)entries, sizeof(double));
    double *x = allocate((size_t)n, sizeof(double));
    double *y = allocate((size_t)n, sizeof(double));
    fill_matrix(&a, pattern, per_row);
    for (int i = 0; i < n; i++) {
        x[i] = 1.0 + 0.5 * uniform((uint32_t)i + 0x9e3779b9u);
        y[i] = 0.0;
    }

    spmv_iterate(&a, iterations, x, y);

    double sum = 0.0;
    for (int i = 0; i < n; i++)
        sum += y[i];
    printf("spmv n %d pattern %s entries %d iterations %d\n", n, name, entries, iterations);
    printf("sum %.10e\n", sum);
    printf("first %.10e last %.10e\n", y[0], y[n - 1]);
    free(a.row_start);
    free(a.column);
    free(a.value);
    free(x);
    free(y);
    return 0;
}
