/*
 * stencil3d in blocks: every process owns a box of the cube.
 *
 *     mpiexec -n 8 stencil3d_mpi [N [STEPS [copy|swap [PARTS_Z x PARTS_Y x PARTS_X]]]]   for example 32 10 copy 2x2x2
 *
 * Before each step the outer points of every box go to the neighbours behind its six faces, without the
 * edges, which the stencil does not read. The mode is printed only, the arrays are always swapped.
 */
#include "../../common/blocks.h"
#include <math.h>
#include <string.h>

#define PI 3.14159265358979323846

/* A box of points inside a layer of copies of its neighbours' points; the slowest direction first. */
typedef struct {
    int first[3], points[3];
    int stride[3];
    MPI_Datatype face[3]; /* points of a face across each direction */
} Box;

static int corner_of_face(const Box *b, int direction, int layer)
{
    int at = b->stride[0] + b->stride[1] + b->stride[2];
    return at + (layer - 1) * b->stride[direction];
}

static void exchange(const ProcessGrid *g, const Box *b, double *u)
{
    MPI_Request request[12];
    for (int d = 0; d < 3; d++) {
        MPI_Request *r = &request[4 * d];
        int last = b->points[d];
        MPI_Irecv(&u[corner_of_face(b, d, 0)], 1, b->face[d], g->before[d], 2 * d, g->comm, &r[0]);
        MPI_Irecv(&u[corner_of_face(b, d, last + 1)], 1, b->face[d], g->after[d], 2 * d + 1, g->comm, &r[1]);
        MPI_Isend(&u[corner_of_face(b, d, last)], 1, b->face[d], g->after[d], 2 * d, g->comm, &r[2]);
        MPI_Isend(&u[corner_of_face(b, d, 1)], 1, b->face[d], g->before[d], 2 * d + 1, g->comm, &r[3]);
    }
    MPI_Waitall(12, request, MPI_STATUSES_IGNORE);
}

static void stencil_step(const Box *b, const double *grid, double *work)
{
    int plane = b->stride[0], row = b->stride[1];
    for (int i = 1; i <= b->points[0]; i++)
        for (int j = 1; j <= b->points[1]; j++)
            for (int k = 1; k <= b->points[2]; k++) {
                const double *c = &grid[i * plane + j * row + k];
                double sum = c[0] + c[-1] + c[1] + c[-row] + c[row] + c[-plane] + c[plane];
                work[i * plane + j * row + k] = sum / 7.0;
            }
}

static double *stencil_run(const ProcessGrid *g, const Box *b, int steps, double *grid, double *work)
{
    for (int step = 0; step < steps; step++) {
        exchange(g, b, grid);
        stencil_step(b, grid, work);
        double *old = grid;
        grid = work;
        work = old;
    }
    return grid;
}

static Box my_box(const ProcessGrid *g, int n)
{
    Box b;
    int whole[3];
    for (int d = 0; d < 3; d++) {
        b.first[d] = block_begin(n, g->parts[d], g->mine[d]) + 1;
        b.points[d] = block_begin(n, g->parts[d], g->mine[d] + 1) + 1 - b.first[d];
        whole[d] = b.points[d] + 2;
    }
    b.stride[0] = whole[1] * whole[2];
    b.stride[1] = whole[2];
    b.stride[2] = 1;
    for (int d = 0; d < 3; d++) {
        int part[3] = {b.points[0], b.points[1], b.points[2]}, begin[3] = {0, 0, 0};
        part[d] = 1;
        MPI_Type_create_subarray(3, whole, part, begin, MPI_ORDER_C, MPI_DOUBLE, &b.face[d]);
        MPI_Type_commit(&b.face[d]);
    }
    return b;
}

static void initialise(const Box *b, int n, double *grid)
{
    double h = PI / (double)(n + 1);
    for (int i = 1; i <= b->points[0]; i++)
        for (int j = 1; j <= b->points[1]; j++)
            for (int k = 1; k <= b->points[2]; k++)
                grid[i * b->stride[0] + j * b->stride[1] + k] = sin(h * (double)(b->first[0] + i - 1)) *
                                                                sin(h * (double)(b->first[1] + j - 1)) *
                                                                sin(h * (double)(b->first[2] + k - 1));
}

static void report(const Box *b, int n, int steps, const char *mode, const double *field)
{
    int rank, centre = 0, inside = 1;
    double sum = 0.0;
    for (int i = 1; i <= b->points[0]; i++)
        for (int j = 1; j <= b->points[1]; j++)
            for (int k = 1; k <= b->points[2]; k++)
                sum += field[i * b->stride[0] + j * b->stride[1] + k];
    for (int d = 0; d < 3; d++) {
        int at = (n + 1) / 2 - b->first[d] + 1;
        inside = inside && at >= 1 && at <= b->points[d];
        centre += at * b->stride[d];
    }
    sum = total(sum);
    double middle = total(inside ? field[centre] : 0.0);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        printf("stencil3d n %d steps %d mode %s\nsum %.10e\ncentre %.10e\n", n, steps, mode, sum, middle);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Pcontrol(0); /* only the main loop is measured */
    int n = argc > 1 ? argument("N", argv[1], 1, 1000) : 32;
    int steps = argc > 2 ? argument("STEPS", argv[2], 0, 1000000) : 10;
    const char *mode = argc > 3 ? argv[3] : "copy";
    if (argc > 5 || (strcmp(mode, "copy") != 0 && strcmp(mode, "swap") != 0))
        fail("usage: stencil3d_mpi [N [STEPS [copy|swap [PARTS_ZxPARTS_YxPARTS_X]]]]");
    ProcessGrid g = process_grid(argc > 4 ? argv[4] : NULL, 3, 0);
    if (g.parts[0] > n || g.parts[1] > n || g.parts[2] > n)
        fail("stencil3d: N must not be less than the parts in a direction");

    Box b = my_box(&g, n);
    size_t points = (size_t)b.stride[0] * (size_t)(b.points[0] + 2);
    double *grid = allocate(points, sizeof(double)), *work = allocate(points, sizeof(double));
    initialise(&b, n, grid);

    MPI_Pcontrol(1);
    double *field = stencil_run(&g, &b, steps, grid, work);
    MPI_Pcontrol(0);

    report(&b, n, steps, mode, field);
    free(grid);
    free(work);
    for (int d = 0; d < 3; d++)
        MPI_Type_free(&b.face[d]);
    MPI_Comm_free(&g.comm);
    MPI_Finalize();
    return 0;
}
