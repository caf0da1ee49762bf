/*
 * spmv in blocks of rows with the matching elements of x and y.
 *
 *     mpiexec -n 4 spmv_mpi [N [dense|banded|random [NNZ_PER_ROW [ITER]]]]
 *
 * Before each product every process sends the elements of x that others have columns for, each once to each.
 */
#include "../../common/gather.h"
#include <stdint.h>
#include <string.h>

typedef enum { DENSE, BANDED, RANDOM } Pattern;

/* My rows; columns are local numbers of the gather plan. */
typedef struct {
    int rows;
    long long *row_start; /* by local row, numbers of entries in the whole matrix */
    int *column;
    double *value;
} CsrMatrix;

static void csr_multiply(const CsrMatrix *a, const double *x, double *y)
{
    for (int i = 0; i < a->rows; i++) {
        double sum = 0.0;
        for (long long e = a->row_start[i] - a->row_start[0]; e < a->row_start[i + 1] - a->row_start[0]; e++)
            sum += a->value[e] * x[a->column[e]];
        y[i] = sum;
    }
}

static void spmv_iterate(const GatherPlan *plan, const CsrMatrix *a, int iterations, double *x, double *y)
{
    for (int it = 0; it < iterations; it++) {
        for (int i = 0; it > 0 && i < a->rows; i++)
            x[i] = 0.5 * (x[i] + y[i]);
        gather_ghosts(plan, x);
        csr_multiply(a, x, y);
    }
}

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

static int band_begin(int i, int half)
{
    return i > half ? i - half : 0;
}

static int row_length(int n, Pattern pattern, int per_row, int i)
{
    int half = per_row / 2;
    if (pattern == DENSE)
        return n;
    if (pattern == RANDOM)
        return per_row;
    return (i + half < n ? i + half + 1 : n) - band_begin(i, half);
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

/* My rows of the matrix, columns by global index, and the number of entries of all rows. */
static CsrMatrix my_rows(int n, Pattern pattern, int per_row, int first, int rows, long long *entries)
{
    CsrMatrix a = {rows, allocate((size_t)rows + 1, sizeof(long long)), NULL, NULL};
    long long entry = 0;
    for (int i = 0; i < n; i++) {
        if (i >= first && i <= first + rows)
            a.row_start[i - first] = entry;
        entry += row_length(n, pattern, per_row, i);
    }
    if (first + rows == n)
        a.row_start[rows] = entry;
    *entries = entry;
    size_t mine = (size_t)(a.row_start[rows] - a.row_start[0]);
    a.column = allocate(mine, sizeof(int));
    a.value = allocate(mine, sizeof(double));
    for (int i = 0; i < rows; i++) {
        int length = (int)(a.row_start[i + 1] - a.row_start[i]);
        for (int k = 0; k < length; k++) {
            long long e = a.row_start[i] + k;
            a.column[e - a.row_start[0]] = column_of(n, pattern, per_row, first + i, k);
            a.value[e - a.row_start[0]] = (uniform((uint32_t)e) - 0.25) / length;
        }
    }
    return a;
}

/* Make the plan and replace the columns by local numbers. */
static GatherPlan plan_product(int n, CsrMatrix *a)
{
    int size;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int *owner = allocate((size_t)n, sizeof(int));
    char *read = allocate((size_t)n, 1);
    long long mine = a->row_start[a->rows] - a->row_start[0];
    for (int i = 0; i < n; i++)
        owner[i] = block_of(n, size, i);
    for (long long e = 0; e < mine; e++)
        read[a->column[e]] = 1;
    GatherPlan plan = plan_gather(n, owner, read);
    for (long long e = 0; e < mine; e++)
        a->column[e] = plan.local_of[a->column[e]];
    free(owner);
    free(read);
    return plan;
}

static Pattern pattern_argument(const char *text)
{
    if (strcmp(text, "dense") != 0 && strcmp(text, "banded") != 0 && strcmp(text, "random") != 0)
        fail("spmv: the pattern must be dense, banded or random");
    return text[0] == 'd' ? DENSE : text[0] == 'b' ? BANDED : RANDOM;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Pcontrol(0); /* only the main loop is measured */
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int n = argc > 1 ? argument("N", argv[1], size, 10000000) : 1024;
    const char *name = argc > 2 ? argv[2] : "banded";
    Pattern pattern = pattern_argument(name);
    int per_row = argc > 3 ? argument("NNZ_PER_ROW", argv[3], 1, n) : (n < 9 ? n : 9);
    int iterations = argc > 4 ? argument("ITER", argv[4], 0, 1000000) : 10;
    if (argc > 5)
        fail("usage: spmv_mpi [N [dense|banded|random [NNZ_PER_ROW [ITER]]]]");

    int first = block_begin(n, size, rank), rows = block_begin(n, size, rank + 1) - first;
    long long entries;
    CsrMatrix a = my_rows(n, pattern, per_row, first, rows, &entries);
    GatherPlan plan = plan_product(n, &a);
    double *x = allocate((size_t)(rows + plan.ghosts), sizeof(double));
    double *y = allocate((size_t)rows, sizeof(double));
    for (int i = 0; i < rows; i++)
        x[i] = 1.0 + 0.5 * uniform((uint32_t)(first + i) + 0x9e3779b9u);

    MPI_Pcontrol(1);
    spmv_iterate(&plan, &a, iterations, x, y);
    MPI_Pcontrol(0);

    double sum = 0.0;
    for (int i = 0; i < rows; i++)
        sum += y[i];
    sum = total(sum);
    double last = total(rank == size - 1 ? y[rows - 1] : 0.0);
    if (rank == 0)
        printf("spmv n %d pattern %s entries %lld iterations %d\nsum %.10e\nfirst %.10e last %.10e\n", n, name,
               entries, iterations, sum, y[0], last);
    free(a.row_start);
    free(a.column);
    free(a.value);
    free(x);
    free(y);
    free_plan(&plan);
    MPI_Finalize();
    return 0;
}
