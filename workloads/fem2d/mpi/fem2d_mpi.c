/*
 * fem2d on p = q^2 ranks, each with a square of N/q x N/q cells and all nodes that its triangles touch.
 *
 *     mpiexec -n P fem2d_mpi [N [STEPS]]       default: 32 10
 *
 * A node on the boundary of a part is owned by the lowest of the ranks that share it. The others send their partial
 * forces to the owner, which moves the node and sends the displacement back. The numbering of the sequential mesh
 * does not matter here; the checksums agree up to the order of the sums. Prints the bytes sent in the main loop.
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define PI 3.14159265358979323846
#define COURANT 0.5

/* Defined by a tool that counts messages per region. */
__attribute__((weak)) void commanalyzer_region_begin(const char *name);
__attribute__((weak)) void commanalyzer_region_end(const char *name);

/* Nodes exchanged with one rank, in the same order on both sides. */
typedef struct {
    int rank;
    int count;
    int *node;
    double *buffer;
} Link;

typedef struct {
    int n, q, size, row; /* cells per edge: all, ranks, cells and nodes per edge of the part */
    int place[2];
    int nodes;
    double *u, *v, *force, *mass;
    char *owned;
    Link owners[3], sharers[3];
    int num_owners, num_sharers;
    long long bytes, messages;
} Part;

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size);
    if (!memory)
        MPI_Abort(MPI_COMM_WORLD, 1);
    return memory;
}

/* Does this node belong to the exchange with the rank `step` away (0 or 1 per axis), which is below or above? */
static int exchanged(const Part *p, const int index[2], const int step[2], int above)
{
    for (int axis = 0; axis < 2; axis++) {
        int lower = index[axis] == 0 && p->place[axis] > 0;
        if (above ? step[axis] ? index[axis] != p->size : lower : step[axis] != lower)
            return 0;
    }
    return 1;
}

static void link_rank(Part *p, const int step[2], int above)
{
    int sign = above ? 1 : -1;
    int x = p->place[0] + sign * step[0], y = p->place[1] + sign * step[1];
    if (x < 0 || x >= p->q || y < 0 || y >= p->q)
        return;
    Link *link = above ? &p->sharers[p->num_sharers++] : &p->owners[p->num_owners++];
    *link = (Link){y * p->q + x, 0, allocate((size_t)p->nodes, sizeof(int)), NULL};
    for (int node = 0; node < p->nodes; node++) {
        const int index[2] = {node % p->row, node / p->row};
        if (exchanged(p, index, step, above))
            link->node[link->count++] = node;
    }
    link->buffer = allocate((size_t)link->count, sizeof(double));
}

static Part make_part(int n, int q, int rank)
{
    Part p = {.n = n, .q = q, .size = n / q, .row = n / q + 1, .place = {rank % q, rank / q}};
    p.nodes = p.row * p.row;
    p.u = allocate((size_t)p.nodes, sizeof(double));
    p.v = allocate((size_t)p.nodes, sizeof(double));
    p.force = allocate((size_t)p.nodes, sizeof(double));
    p.mass = allocate((size_t)p.nodes, sizeof(double));
    p.owned = allocate((size_t)p.nodes, 1);
    for (int node = 0; node < p.nodes; node++)
        p.owned[node] = !(node % p.row == 0 && p.place[0] > 0) && !(node / p.row == 0 && p.place[1] > 0);
    for (int direction = 1; direction < 4; direction++) {
        const int step[2] = {direction & 1, direction >> 1};
        link_rank(&p, step, 0);
        link_rank(&p, step, 1);
    }
    return p;
}

/* Sends the field at the nodes of `to`, receives it at those of `from`: added or put in place. */
static void trade(Part *p, Link *to, int num_to, Link *from, int num_from, double *field, int add)
{
    MPI_Request request[6];
    for (int i = 0; i < num_from; i++)
        MPI_Irecv(from[i].buffer, from[i].count, MPI_DOUBLE, from[i].rank, 0, MPI_COMM_WORLD, &request[i]);
    for (int i = 0; i < num_to; i++) {
        for (int k = 0; k < to[i].count; k++)
            to[i].buffer[k] = field[to[i].node[k]];
        MPI_Isend(to[i].buffer, to[i].count, MPI_DOUBLE, to[i].rank, 0, MPI_COMM_WORLD, &request[num_from + i]);
        p->bytes += (long long)sizeof(double) * to[i].count;
        p->messages++;
    }
    MPI_Waitall(num_to + num_from, request, MPI_STATUSES_IGNORE);
    for (int i = 0; i < num_from; i++)
        for (int k = 0; k < from[i].count; k++) {
            int node = from[i].node[k];
            field[node] = add ? field[node] + from[i].buffer[k] : from[i].buffer[k];
        }
}

static void sum_at_owners(Part *p, double *field)
{
    trade(p, p->owners, p->num_owners, p->sharers, p->num_sharers, field, 1);
}

static void copy_from_owners(Part *p, double *field)
{
    trade(p, p->sharers, p->num_sharers, p->owners, p->num_owners, field, 0);
}

static double coordinate(const Part *p, int node, int axis)
{
    int index = axis == 0 ? node % p->row : node / p->row;
    return (double)(p->place[axis] * p->size + index) / p->n;
}

static double inside(const Part *p, int node)
{
    int i = p->place[0] * p->size + node % p->row, j = p->place[1] * p->size + node / p->row;
    return i > 0 && i < p->n && j > 0 && j < p->n;
}

/* Gradients of the shape functions times twice the area; returns twice the area. */
static double shape_gradients(const Part *p, const int corner[3], double gx[3], double gy[3])
{
    double x[3], y[3];
    for (int c = 0; c < 3; c++) {
        x[c] = coordinate(p, corner[c], 0);
        y[c] = coordinate(p, corner[c], 1);
    }
    for (int c = 0; c < 3; c++) {
        int a = (c + 1) % 3, b = (c + 2) % 3;
        gx[c] = y[a] - y[b];
        gy[c] = x[b] - x[a];
    }
    return (x[1] - x[0]) * (y[2] - y[0]) - (x[2] - x[0]) * (y[1] - y[0]);
}

static void triangle(const Part *p, int element, int corner[3])
{
    int cell = element / 2, a = cell / p->size * p->row + cell % p->size;
    corner[0] = a;
    corner[1] = element % 2 ? a + p->row + 1 : a + 1;
    corner[2] = element % 2 ? a + p->row : a + p->row + 1;
}

static void assemble(Part *p)
{
    for (int node = 0; node < p->nodes; node++)
        p->force[node] = 0.0;
    for (int element = 0; element < 2 * p->size * p->size; element++) {
        int corner[3];
        double gx[3], gy[3], ux = 0.0, uy = 0.0;
        triangle(p, element, corner);
        double twice = shape_gradients(p, corner, gx, gy);
        for (int c = 0; c < 3; c++) {
            ux += gx[c] * p->u[corner[c]];
            uy += gy[c] * p->u[corner[c]];
        }
        for (int c = 0; c < 3; c++)
            p->force[corner[c]] -= (gx[c] * ux + gy[c] * uy) / (2.0 * twice);
    }
}

static void initialise(Part *p)
{
    for (int node = 0; node < p->nodes; node++)
        p->u[node] = inside(p, node) * sin(PI * coordinate(p, node, 0)) * sin(PI * coordinate(p, node, 1));
    for (int element = 0; element < 2 * p->size * p->size; element++) {
        int corner[3];
        double gx[3], gy[3];
        triangle(p, element, corner);
        double area = 0.5 * shape_gradients(p, corner, gx, gy);
        for (int c = 0; c < 3; c++)
            p->mass[corner[c]] += area / 3.0;
    }
    sum_at_owners(p, p->mass);
    p->bytes = p->messages = 0;
}

/* The main loop. Every step begins by fetching the displacements of shared nodes from their owners. */
static void fem_run(Part *p, double dt, int steps)
{
    if (commanalyzer_region_begin)
        commanalyzer_region_begin("fem_run");
    for (int step = 0; step < steps; step++) {
        copy_from_owners(p, p->u);
        assemble(p);
        sum_at_owners(p, p->force);
        for (int node = 0; node < p->nodes; node++) {
            if (!p->owned[node])
                continue;
            p->v[node] += dt * inside(p, node) * p->force[node] / p->mass[node];
            p->u[node] += dt * p->v[node];
        }
    }
    if (commanalyzer_region_end)
        commanalyzer_region_end("fem_run");
}

static void print_checksums(const Part *p, int rank)
{
    double local[3] = {0.0, 0.0, 0.0}, sum[3];
    long long traffic[2] = {p->bytes, p->messages}, all[2];
    for (int node = 0; node < p->nodes; node++) {
        if (!p->owned[node])
            continue;
        local[0] += p->mass[node] * p->u[node];
        local[1] += p->mass[node] * p->u[node] * p->u[node];
        local[2] += p->mass[node] * p->v[node];
    }
    MPI_Reduce(local, sum, 3, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(traffic, all, 2, MPI_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank != 0)
        return;
    printf("sum %.10e\n", sum[0]);
    printf("norm %.10e\n", sum[1]);
    printf("momentum %.10e\n", sum[2]);
    printf("loop_bytes %lld messages %lld\n", all[0], all[1]);
}

int main(int argc, char **argv)
{
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int n = argc > 1 ? atoi(argv[1]) : 32;
    int steps = argc > 2 ? atoi(argv[2]) : 10;
    int q = (int)lround(sqrt(ranks));
    if (argc > 3 || steps < 0 || q * q != ranks || n < 2 || n % q != 0) {
        if (rank == 0)
            fprintf(stderr, "fem2d_mpi: expected [N [STEPS]] on q^2 ranks with q a divisor of N\n");
        MPI_Finalize();
        return 2;
    }
    Part p = make_part(n, q, rank);
    initialise(&p);
    fem_run(&p, COURANT / n, steps);
    if (rank == 0)
        printf("fem2d n %d steps %d\n", n, steps);
    print_checksums(&p, rank);
    MPI_Finalize();
    return 0;
}
