/*
 * matmul in blocks (SUMMA): all three matrices are divided in the same way among a grid of processes.
 *
 *     mpiexec -n 4 matmul_mpi [N [PARTS_Y x PARTS_X]]        for example 64 2x2
 *
 * For one panel of k after the other, the owners of these columns of A send them along their row of the
 * grid, the owners of these rows of B along their column. Every product is added in the order of k, as in the
 * sequential program.
 */
#include "../../common/blocks.h"
#include <string.h>

typedef struct {
    int first_row, rows, first_column, columns;
} Block;

/* c += (rows x depth panel of A) (depth x columns panel of B) */
static void multiply_panels(const Block *b, int depth, const double *a_panel, const double *b_panel, double *c)
{
    for (int i = 0; i < b->rows; i++)
        for (int j = 0; j < b->columns; j++) {
            double sum = c[i * b->columns + j];
            for (int k = 0; k < depth; k++)
                sum += a_panel[i * depth + k] * b_panel[k * b->columns + j];
            c[i * b->columns + j] = sum;
        }
}

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

static void matmul(const ProcessGrid *g, const Block *block, int n, const double *a, const double *b, double *c,
                   double *a_panel, double *b_panel)
{
    MPI_Comm row_comm, column_comm;
    MPI_Comm_split(g->comm, g->mine[0], g->mine[1], &row_comm);
    MPI_Comm_split(g->comm, g->mine[1], g->mine[0], &column_comm);
    for (int k = 0; k < n;) {
        int a_owner = block_of(n, g->parts[1], k), b_owner = block_of(n, g->parts[0], k);
        int end = smaller(block_begin(n, g->parts[1], a_owner + 1), block_begin(n, g->parts[0], b_owner + 1));
        int depth = end - k;
        if (a_owner == g->mine[1])
            for (int i = 0; i < block->rows; i++)
                memcpy(&a_panel[i * depth], &a[i * block->columns + k - block->first_column],
                       sizeof(double) * (size_t)depth);
        if (b_owner == g->mine[0])
            memcpy(b_panel, &b[(k - block->first_row) * block->columns],
                   sizeof(double) * (size_t)(depth * block->columns));
        MPI_Bcast(a_panel, block->rows * depth, MPI_DOUBLE, a_owner, row_comm);
        MPI_Bcast(b_panel, depth * block->columns, MPI_DOUBLE, b_owner, column_comm);
        multiply_panels(block, depth, a_panel, b_panel, c);
        k = end;
    }
    MPI_Comm_free(&row_comm);
    MPI_Comm_free(&column_comm);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Pcontrol(0); /* only the product is measured */
    int n = argc > 1 ? argument("N", argv[1], 1, 20000) : 64;
    if (argc > 3)
        fail("usage: matmul_mpi [N [PARTS_YxPARTS_X]]");
    ProcessGrid g = process_grid(argc > 2 ? argv[2] : NULL, 2, 0);
    if (g.parts[0] > n || g.parts[1] > n)
        fail("matmul: N must not be less than the parts in a direction");
    int row = block_begin(n, g.parts[0], g.mine[0]), column = block_begin(n, g.parts[1], g.mine[1]);
    Block block = {row, block_begin(n, g.parts[0], g.mine[0] + 1) - row, column,
                   block_begin(n, g.parts[1], g.mine[1] + 1) - column};

    size_t elements = (size_t)block.rows * (size_t)block.columns;
    double *a = allocate(elements, sizeof(double));
    double *b = allocate(elements, sizeof(double));
    double *c = allocate(elements, sizeof(double));
    double *a_panel = allocate((size_t)block.rows * (size_t)n, sizeof(double));
    double *b_panel = allocate((size_t)block.columns * (size_t)n, sizeof(double));
    for (int i = 0; i < block.rows; i++)
        for (int j = 0; j < block.columns; j++) {
            a[i * block.columns + j] = (row + i + 1) * (column + j + 2) % 7;
            b[i * block.columns + j] = (row + i + 2) * (column + j + 1) % 5 - 2;
        }

    MPI_Pcontrol(1);
    matmul(&g, &block, n, a, b, c, a_panel, b_panel);
    MPI_Pcontrol(0);

    double sum = 0.0, trace = 0.0;
    for (int i = 0; i < block.rows; i++)
        for (int j = 0; j < block.columns; j++) {
            sum += c[i * block.columns + j];
            if (row + i == column + j)
                trace += c[i * block.columns + j];
        }
    sum = total(sum);
    trace = total(trace);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        printf("matmul n %d\nsum %.1f\ntrace %.1f\n", n, sum, trace);
    free(a);
    free(b);
    free(c);
    free(a_panel);
    free(b_panel);
    MPI_Comm_free(&g.comm);
    MPI_Finalize();
    return 0;
}
