/*
 * cg with the grid points divided in blocks; every process owns the unknowns at its points.
 *
 *     mpiexec -n 4 cg_mpi [N [2d|3d [natural|permuted [ITER [PARTS]]]]]     for example 32 2d natural 20 2x2
 *
 * Before each product the elements of the search direction that other processes have columns for are sent,
 * each once to each. The two scalar products of an iteration are summed over all processes.
 */
#include "../../common/gather.h"
#include <math.h>
#include <stdint.h>
#include <string.h>

/* My rows; columns are local numbers of the gather plan. */
typedef struct {
    int rows;
    int *row_start;
    int *column;
    double *value;
} CsrMatrix;

static void csr_multiply(const CsrMatrix *a, const double *x, double *y)
{
    for (int i = 0; i < a->rows; i++) {
        double sum = 0.0;
        for (int e = a->row_start[i]; e < a->row_start[i + 1]; e++)
            sum += a->value[e] * x[a->column[e]];
        y[i] = sum;
    }
}

static double dot(int n, const double *a, const double *b)
{
    double mine = 0.0, sum;
    for (int i = 0; i < n; i++)
        mine += a[i] * b[i];
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return sum;
}

static double cg_solve(const GatherPlan *plan, const CsrMatrix *a, int iterations, double *x, double *r,
                       double *p, double *q)
{
    int n = a->rows;
    double rr = dot(n, r, r);
    for (int i = 0; i < n; i++)
        p[i] = r[i];
    for (int it = 0; it < iterations && rr > 0.0; it++) {
        gather_ghosts(plan, p);
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

static uint32_t scramble(uint32_t x)
{
    x = (x ^ (x >> 16)) * 0x7feb352du;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    return x ^ (x >> 16);
}

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

/* Rank that owns a point; the fastest coordinate belongs to the last dimension of the process grid. */
static int owner_of(const ProcessGrid *g, int n, int point)
{
    int block[3] = {0, 0, 0}, rank;
    for (int d = g->dimensions - 1; d >= 0; d--, point /= n)
        block[d] = block_of(n, g->parts[d], point % n);
    MPI_Cart_rank(g->comm, block, &rank);
    return rank;
}

/* Columns and values of one row by global numbers; returns how many. */
static int row_of(int n, int dimensions, const int *unknown_of, int point, int *column, double *value)
{
    int entries = 0;
    column[entries] = unknown_of[point];
    value[entries++] = 2.0 * dimensions;
    for (int d = 0, stride = 1; d < dimensions; d++, stride *= n) {
        int coordinate = point / stride % n;
        for (int side = -1; side <= 1; side += 2)
            if (coordinate + side >= 0 && coordinate + side < n) {
                column[entries] = unknown_of[point + side * stride];
                value[entries++] = -1.0;
            }
    }
    return entries;
}

/* My rows in ascending order of the unknowns, and the plan; counts the entries of all rows. */
static CsrMatrix my_rows(const ProcessGrid *g, int n, const int *unknown_of, const int *point_of, GatherPlan *plan,
                         int points, int *entries)
{
    int rank, column[7];
    double value[7];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int *owner = allocate((size_t)points, sizeof(int));
    char *read = allocate((size_t)points, 1);
    *entries = 0;
    for (int u = 0; u < points; u++) {
        owner[u] = owner_of(g, n, point_of[u]);
        int length = row_of(n, g->dimensions, unknown_of, point_of[u], column, value);
        *entries += length;
        for (int k = 0; owner[u] == rank && k < length; k++)
            read[column[k]] = 1;
    }
    *plan = plan_gather(points, owner, read);
    size_t rows = (size_t)plan->owned;
    CsrMatrix a = {plan->owned, allocate(rows + 1, sizeof(int)), allocate(7 * rows, sizeof(int)),
                   allocate(7 * rows, sizeof(double))};
    for (int u = 0, i = 0; u < points; u++) {
        if (owner[u] != rank)
            continue;
        int at = a.row_start[i++];
        int length = row_of(n, g->dimensions, unknown_of, point_of[u], column, &a.value[at]);
        for (int k = 0; k < length; k++)
            a.column[at + k] = plan->local_of[column[k]];
        a.row_start[i] = at + length;
    }
    free(owner);
    free(read);
    return a;
}

/* 0 for the first word, 1 for the second. */
static int choice(const char *text, const char *first, const char *second)
{
    if (strcmp(text, first) != 0 && strcmp(text, second) != 0)
        fail("usage: cg_mpi [N [2d|3d [natural|permuted [ITER [PARTS]]]]]");
    return strcmp(text, second) == 0;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Pcontrol(0); /* only the main loop is measured */
    const char *shape = argc > 2 ? argv[2] : "2d";
    const char *order = argc > 3 ? argv[3] : "natural";
    int dimensions = 2 + choice(shape, "2d", "3d"), permuted = choice(order, "natural", "permuted");
    int n = argc > 1 ? argument("N", argv[1], 1, dimensions == 2 ? 10000 : 500) : 32;
    int iterations = argc > 4 ? argument("ITER", argv[4], 0, 1000000) : 20;
    if (argc > 6)
        fail("usage: cg_mpi [N [2d|3d [natural|permuted [ITER [PARTS]]]]]");
    ProcessGrid g = process_grid(argc > 5 ? argv[5] : NULL, dimensions, 0);

    int points = dimensions == 2 ? n * n : n * n * n, entries, rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int *unknown_of = allocate((size_t)points, sizeof(int)), *point_of = allocate((size_t)points, sizeof(int));
    number_unknowns(points, permuted, unknown_of, point_of);
    GatherPlan plan;
    CsrMatrix a = my_rows(&g, n, unknown_of, point_of, &plan, points, &entries);
    size_t rows = (size_t)a.rows;
    double *x = allocate(rows, sizeof(double)), *r = allocate(rows, sizeof(double));
    double *p = allocate(rows + (size_t)plan.ghosts, sizeof(double)), *q = allocate(rows, sizeof(double));
    for (int u = 0; u < points; u++)
        if (plan.local_of[u] >= 0 && plan.local_of[u] < plan.owned)
            r[plan.local_of[u]] = scramble((uint32_t)point_of[u] + 1u) / 4294967296.0 - 0.5;

    MPI_Pcontrol(1);
    double rr = cg_solve(&plan, &a, iterations, x, r, p, q);
    MPI_Pcontrol(0);

    double sum = 0.0;
    for (int i = 0; i < a.rows; i++)
        sum += x[i];
    sum = total(sum);
    int first = plan.local_of[unknown_of[0]];
    double corner = total(first >= 0 && first < plan.owned ? x[first] : 0.0);
    if (rank == 0)
        printf("cg n %d shape %s order %s entries %d iterations %d\nresidual %.10e\nsum %.10e\nfirst %.10e\n", n,
               shape, order, entries, iterations, sqrt(rr), sum, corner);
    free(unknown_of);
    free(point_of);
    free(a.row_start);
    free(a.column);
    free(a.value);
    free(x);
    free(r);
    free(p);
    free(q);
    free_plan(&plan);
    MPI_Comm_free(&g.comm);
    MPI_Finalize();
    return 0;
}
