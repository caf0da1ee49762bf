/*
 * heat2d in blocks: every process owns a rectangle of the plate.
 *
 *     mpiexec -n 4 heat2d_mpi [N [STEPS [copy|swap [PARTS_Y x PARTS_X]]]]     for example 256 50 copy 2x2
 *
 * Before each step the first and last rows and columns of every block go to its neighbours. The corners do
 * not: the stencil has no diagonals. The mode is printed only, the arrays are always swapped.
 */
#include "../../common/blocks.h"
#include <math.h>
#include <string.h>

#define R 0.2 /* diffusivity * dt / dx^2, stable below 0.25 */
#define PI 3.14159265358979323846

/* A block of rows x columns points inside a layer of copies of its neighbours' points. */
typedef struct {
    int n, first_row, first_column, rows, columns;
    MPI_Datatype column;
} Block;

static int at(const Block *b, int i, int j)
{
    return i * (b->columns + 2) + j;
}

static void exchange(const ProcessGrid *g, const Block *b, double *u)
{
    MPI_Request request[8];
    int last_i = b->rows, last_j = b->columns;
    MPI_Irecv(&u[at(b, 0, 1)], b->columns, MPI_DOUBLE, g->before[0], 0, g->comm, &request[0]);
    MPI_Irecv(&u[at(b, last_i + 1, 1)], b->columns, MPI_DOUBLE, g->after[0], 1, g->comm, &request[1]);
    MPI_Irecv(&u[at(b, 1, 0)], 1, b->column, g->before[1], 2, g->comm, &request[2]);
    MPI_Irecv(&u[at(b, 1, last_j + 1)], 1, b->column, g->after[1], 3, g->comm, &request[3]);
    MPI_Isend(&u[at(b, last_i, 1)], b->columns, MPI_DOUBLE, g->after[0], 0, g->comm, &request[4]);
    MPI_Isend(&u[at(b, 1, 1)], b->columns, MPI_DOUBLE, g->before[0], 1, g->comm, &request[5]);
    MPI_Isend(&u[at(b, 1, last_j)], 1, b->column, g->after[1], 2, g->comm, &request[6]);
    MPI_Isend(&u[at(b, 1, 1)], 1, b->column, g->before[1], 3, g->comm, &request[7]);
    MPI_Waitall(8, request, MPI_STATUSES_IGNORE);
}

static void heat_step(const Block *b, const double *u, double *u_new)
{
    int w = b->columns + 2;
    for (int i = 1; i <= b->rows; i++)
        for (int j = 1; j <= b->columns; j++) {
            double centre = u[i * w + j];
            double around = u[(i - 1) * w + j] + u[(i + 1) * w + j] + u[i * w + j - 1] + u[i * w + j + 1];
            u_new[i * w + j] = centre + R * (around - 4.0 * centre);
        }
}

static double *heat_solve(const ProcessGrid *g, const Block *b, int steps, double *u, double *u_new)
{
    for (int step = 0; step < steps; step++) {
        exchange(g, b, u);
        heat_step(b, u, u_new);
        double *old = u;
        u = u_new;
        u_new = old;
    }
    return u;
}

static Block my_block(const ProcessGrid *g, int n)
{
    int i = block_begin(n, g->parts[0], g->mine[0]), j = block_begin(n, g->parts[1], g->mine[1]);
    Block b = {n,
               i + 1,
               j + 1,
               block_begin(n, g->parts[0], g->mine[0] + 1) - i,
               block_begin(n, g->parts[1], g->mine[1] + 1) - j,
               MPI_DATATYPE_NULL};
    MPI_Type_vector(b.rows, 1, b.columns + 2, MPI_DOUBLE, &b.column);
    MPI_Type_commit(&b.column);
    return b;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Pcontrol(0); /* only the main loop is measured */
    int n = argc > 1 ? argument("N", argv[1], 1, 20000) : 256;
    int steps = argc > 2 ? argument("STEPS", argv[2], 0, 1000000) : 50;
    const char *mode = argc > 3 ? argv[3] : "copy";
    if (argc > 5 || (strcmp(mode, "copy") != 0 && strcmp(mode, "swap") != 0))
        fail("usage: heat2d_mpi [N [STEPS [copy|swap [PARTS_YxPARTS_X]]]]");
    ProcessGrid g = process_grid(argc > 4 ? argv[4] : NULL, 2, 0);
    if (g.parts[0] > n || g.parts[1] > n)
        fail("heat2d: N must not be less than the parts in a direction");

    Block b = my_block(&g, n);
    size_t points = (size_t)(b.rows + 2) * (size_t)(b.columns + 2);
    double *a = allocate(points, sizeof(double)), *other = allocate(points, sizeof(double));
    double h = PI / (n + 1);
    for (int i = 1; i <= b.rows; i++)
        for (int j = 1; j <= b.columns; j++)
            a[at(&b, i, j)] = sin(h * (b.first_row + i - 1)) * sin(h * (b.first_column + j - 1));

    MPI_Pcontrol(1);
    double *u = heat_solve(&g, &b, steps, a, other);
    MPI_Pcontrol(0);

    int ci = (n + 1) / 2 - b.first_row + 1, cj = (n + 1) / 2 - b.first_column + 1;
    int mine = ci >= 1 && ci <= b.rows && cj >= 1 && cj <= b.columns, rank;
    double sum = 0.0;
    for (int i = 1; i <= b.rows; i++)
        for (int j = 1; j <= b.columns; j++)
            sum += u[at(&b, i, j)];
    sum = total(sum);
    double centre = total(mine ? u[at(&b, ci, cj)] : 0.0);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        printf("heat2d n %d steps %d mode %s\nsum %.10e\ncentre %.10e\n", n, steps, mode, sum, centre);
    free(a);
    free(other);
    MPI_Type_free(&b.column);
    MPI_Comm_free(&g.comm);
    MPI_Finalize();
    return 0;
}
