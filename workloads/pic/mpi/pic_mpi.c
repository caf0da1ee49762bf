/*
 * pic in blocks: every process owns a rectangle of cells, their grid points and the particles in them.
 *
 *     mpiexec -n 4 pic_mpi [N [PER_CELL [STEPS [SWEEPS [CHARGE]]]]] [PARTS_Y x PARTS_X]
 *
 * for example 16 4 5 4 2x2 or 16 4 5 4 0.1 2x2. The process grid comes behind at least SWEEPS.
 *
 * A particle touches the grid points around its cell, so the points behind the last row and column of a block
 * exist there as well: charge collected on them is sent on and added up, the field at them is received. The
 * potential is exchanged before the first sweep and after each one. Particles that leave are sent to the
 * neighbour that they enter, four numbers each.
 */
#include "../../common/blocks.h"
#include <math.h>
#include <stdint.h>
#include <string.h>

#define DT 0.1
#define THERMAL 0.5 /* largest initial velocity component */

typedef struct {
    double x, y, vx, vy;
} Particle;

typedef struct {
    int count, space;
    Particle *p;
} Particles;

/* A block of rows x columns points inside a layer of its neighbours' points. */
typedef struct {
    int n, first_row, first_column, rows, columns, width;
    double background;
    double *rho, *phi, *work, *ex, *ey;
    MPI_Datatype column;      /* my rows of a column */
    MPI_Datatype long_column; /* and the one behind them */
} Grid;

typedef struct {
    int point[4];
    double weight[4];
} Corners;

static int at(const Grid *g, int i, int j)
{
    return i * g->width + j;
}

static int wrap(int i, int n)
{
    return i < 0 ? i + n : i >= n ? i - n : i;
}

static Corners corners_of(const Grid *g, double x, double y)
{
    int j = (int)x, i = (int)y;
    double fx = x - j, fy = y - i;
    j = wrap(j, g->n) - g->first_column + 1;
    i = wrap(i, g->n) - g->first_row + 1;
    Corners c = {{at(g, i, j), at(g, i, j + 1), at(g, i + 1, j), at(g, i + 1, j + 1)},
                 {(1.0 - fx) * (1.0 - fy), fx * (1.0 - fy), (1.0 - fx) * fy, fx * fy}};
    return c;
}

static void deposit(const ProcessGrid *pg, const Particles *p, const Grid *g)
{
    int rows = g->rows, columns = g->columns;
    memset(g->rho, 0, sizeof(double) * (size_t)(g->width * (rows + 2)));
    for (int k = 0; k < p->count; k++) {
        Corners c = corners_of(g, p->p[k].x, p->p[k].y);
        for (int corner = 0; corner < 4; corner++)
            g->rho[c.point[corner]] += c.weight[corner];
    }
    /* The column behind the last one goes first, so that its last point goes on with the row. */
    double *edge = g->work;
    MPI_Sendrecv(&g->rho[at(g, 1, columns + 1)], 1, g->long_column, pg->after[1], 0, edge, rows + 1, MPI_DOUBLE,
                 pg->before[1], 0, pg->comm, MPI_STATUS_IGNORE);
    for (int i = 1; i <= rows + 1; i++)
        g->rho[at(g, i, 1)] += edge[i - 1];
    MPI_Sendrecv(&g->rho[at(g, rows + 1, 1)], columns, MPI_DOUBLE, pg->after[0], 1, edge, columns, MPI_DOUBLE,
                 pg->before[0], 1, pg->comm, MPI_STATUS_IGNORE);
    for (int j = 1; j <= columns; j++)
        g->rho[at(g, 1, j)] += edge[j - 1];
}

static void exchange(const ProcessGrid *pg, const Grid *g, double *u)
{
    int rows = g->rows, columns = g->columns;
    MPI_Sendrecv(&u[at(g, rows, 1)], columns, MPI_DOUBLE, pg->after[0], 0, &u[at(g, 0, 1)], columns, MPI_DOUBLE,
                 pg->before[0], 0, pg->comm, MPI_STATUS_IGNORE);
    MPI_Sendrecv(&u[at(g, 1, 1)], columns, MPI_DOUBLE, pg->before[0], 1, &u[at(g, rows + 1, 1)], columns,
                 MPI_DOUBLE, pg->after[0], 1, pg->comm, MPI_STATUS_IGNORE);
    MPI_Sendrecv(&u[at(g, 1, columns)], 1, g->column, pg->after[1], 2, &u[at(g, 1, 0)], 1, g->column,
                 pg->before[1], 2, pg->comm, MPI_STATUS_IGNORE);
    MPI_Sendrecv(&u[at(g, 1, 1)], 1, g->column, pg->before[1], 3, &u[at(g, 1, columns + 1)], 1, g->column,
                 pg->after[1], 3, pg->comm, MPI_STATUS_IGNORE);
}

/* Field at the points behind the last row and column, the one behind both included. */
static void receive_field(const ProcessGrid *pg, const Grid *g, double *e)
{
    int rows = g->rows, columns = g->columns;
    MPI_Sendrecv(&e[at(g, 1, 1)], columns, MPI_DOUBLE, pg->before[0], 0, &e[at(g, rows + 1, 1)], columns,
                 MPI_DOUBLE, pg->after[0], 0, pg->comm, MPI_STATUS_IGNORE);
    MPI_Sendrecv(&e[at(g, 1, 1)], 1, g->long_column, pg->before[1], 1, &e[at(g, 1, columns + 1)], 1,
                 g->long_column, pg->after[1], 1, pg->comm, MPI_STATUS_IGNORE);
}

static void solve_field(const ProcessGrid *pg, Grid *g, int sweeps)
{
    int w = g->width;
    for (int sweep = 0; sweep < sweeps; sweep++) {
        for (int i = 1; i <= g->rows; i++)
            for (int j = 1; j <= g->columns; j++) {
                const double *c = &g->phi[at(g, i, j)];
                double around = c[-w] + c[w] + c[-1] + c[1];
                g->work[at(g, i, j)] = 0.25 * (around + g->background - g->rho[at(g, i, j)]);
            }
        double *old = g->phi;
        g->phi = g->work;
        g->work = old;
        exchange(pg, g, g->phi);
    }
    for (int i = 1; i <= g->rows; i++)
        for (int j = 1; j <= g->columns; j++) {
            const double *c = &g->phi[at(g, i, j)];
            g->ex[at(g, i, j)] = 0.5 * (c[-1] - c[1]);
            g->ey[at(g, i, j)] = 0.5 * (c[-w] - c[w]);
        }
    receive_field(pg, g, g->ex);
    receive_field(pg, g, g->ey);
}

static void push(Particles *p, const Grid *g, double charge)
{
    double n = g->n, kick = DT * charge * charge;
    for (int k = 0; k < p->count; k++) {
        Particle *q = &p->p[k];
        Corners c = corners_of(g, q->x, q->y);
        double ex = 0.0, ey = 0.0;
        for (int corner = 0; corner < 4; corner++) {
            ex += c.weight[corner] * g->ex[c.point[corner]];
            ey += c.weight[corner] * g->ey[c.point[corner]];
        }
        q->vx -= kick * ex;
        q->vy -= kick * ey;
        double x = q->x + DT * q->vx, y = q->y + DT * q->vy;
        q->x = x - n * floor(x / n);
        q->y = y - n * floor(y / n);
    }
}

static void add_particles(Particles *p, const Particle *more, int count)
{
    if (p->count + count > p->space) {
        p->space = 2 * (p->count + count);
        p->p = realloc(p->p, sizeof(Particle) * (size_t)p->space);
        if (!p->p)
            MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (count > 0)
        memcpy(&p->p[p->count], more, sizeof(Particle) * (size_t)count);
    p->count += count;
}

static int owner_of(const ProcessGrid *pg, const Grid *g, const Particle *q)
{
    int block[2] = {block_of(g->n, pg->parts[0], wrap((int)q->y, g->n)),
                    block_of(g->n, pg->parts[1], wrap((int)q->x, g->n))};
    int rank;
    MPI_Cart_rank(pg->comm, block, &rank);
    return rank;
}

/* The up to eight different ranks around mine. */
static int neighbours_of(const ProcessGrid *pg, int *neighbour)
{
    int count = 0, me;
    MPI_Comm_rank(pg->comm, &me);
    for (int k = 0; k < 9; k++) {
        int block[2] = {pg->mine[0] + k / 3 - 1, pg->mine[1] + k % 3 - 1}, rank, known = 0;
        MPI_Cart_rank(pg->comm, block, &rank);
        for (int m = 0; m < count; m++)
            known = known || neighbour[m] == rank;
        if (rank != me && !known)
            neighbour[count++] = rank;
    }
    return count;
}

/* Send the particles that have left to the neighbours that they have entered. */
static void migrate(const ProcessGrid *pg, const Grid *g, Particles *p)
{
    int neighbour[8], neighbours = neighbours_of(pg, neighbour), me, kept = 0;
    Particles leaving[8] = {{0, 0, NULL}};
    MPI_Request request[8];
    MPI_Comm_rank(pg->comm, &me);
    for (int k = 0; k < p->count; k++) {
        int owner = owner_of(pg, g, &p->p[k]), to = 0;
        while (owner != me && to < neighbours && neighbour[to] != owner)
            to++;
        if (owner == me) {
            p->p[kept++] = p->p[k];
        } else if (to < neighbours) {
            add_particles(&leaving[to], &p->p[k], 1);
        } else {
            fprintf(stderr, "pic: a particle left for a block that is no neighbour, use fewer processes\n");
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
    p->count = kept;
    for (int m = 0; m < neighbours; m++)
        MPI_Isend(leaving[m].p, 4 * leaving[m].count, MPI_DOUBLE, neighbour[m], 4, pg->comm, &request[m]);
    for (int m = 0; m < neighbours; m++) {
        MPI_Status status;
        int numbers;
        MPI_Probe(neighbour[m], 4, pg->comm, &status);
        MPI_Get_count(&status, MPI_DOUBLE, &numbers);
        Particle *arriving = allocate((size_t)numbers / 4, sizeof(Particle));
        MPI_Recv(arriving, numbers, MPI_DOUBLE, neighbour[m], 4, pg->comm, MPI_STATUS_IGNORE);
        add_particles(p, arriving, numbers / 4);
        free(arriving);
    }
    MPI_Waitall(neighbours, request, MPI_STATUSES_IGNORE);
    for (int m = 0; m < neighbours; m++)
        free(leaving[m].p);
}

static void pic_run(const ProcessGrid *pg, Particles *p, Grid *g, int steps, int sweeps, double charge)
{
    if (steps > 0)
        exchange(pg, g, g->phi);
    for (int step = 0; step < steps; step++) {
        deposit(pg, p, g);
        solve_field(pg, g, sweeps);
        push(p, g, charge);
        if (step < steps - 1)
            migrate(pg, g, p);
    }
}

static uint32_t scramble(uint32_t x)
{
    x = (x ^ (x >> 16)) * 0x7feb352du;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    return x ^ (x >> 16);
}

/* Number 0 to 3 of a particle, in [0, 1). */
static double uniform(int particle, int number)
{
    return scramble(4u * (uint32_t)particle + (uint32_t)number + 1u) / 4294967296.0;
}

static Grid my_grid(const ProcessGrid *pg, int n, int per_cell)
{
    Grid g = {.n = n, .background = per_cell};
    g.first_row = block_begin(n, pg->parts[0], pg->mine[0]);
    g.first_column = block_begin(n, pg->parts[1], pg->mine[1]);
    g.rows = block_begin(n, pg->parts[0], pg->mine[0] + 1) - g.first_row;
    g.columns = block_begin(n, pg->parts[1], pg->mine[1] + 1) - g.first_column;
    g.width = g.columns + 2;
    size_t points = (size_t)g.width * (size_t)(g.rows + 2);
    double **field[5] = {&g.rho, &g.phi, &g.work, &g.ex, &g.ey};
    for (int k = 0; k < 5; k++)
        *field[k] = allocate(points, sizeof(double));
    MPI_Type_vector(g.rows, 1, g.width, MPI_DOUBLE, &g.column);
    MPI_Type_vector(g.rows + 1, 1, g.width, MPI_DOUBLE, &g.long_column);
    MPI_Type_commit(&g.column);
    MPI_Type_commit(&g.long_column);
    return g;
}

static Particles my_particles(const Grid *g, int per_cell)
{
    Particles p = {0, 0, NULL};
    for (int i = g->first_row; i < g->first_row + g->rows; i++)
        for (int j = g->first_column; j < g->first_column + g->columns; j++)
            for (int k = (i * g->n + j) * per_cell; k < (i * g->n + j + 1) * per_cell; k++) {
                Particle q = {j + uniform(k, 0), i + uniform(k, 1), THERMAL * (2.0 * uniform(k, 2) - 1.0),
                              THERMAL * (2.0 * uniform(k, 3) - 1.0)};
                add_particles(&p, &q, 1);
            }
    return p;
}

static void report(const Particles *p, const Grid *g, int per_cell, int steps, int sweeps, double charge)
{
    int rank;
    double potential = 0.0, kinetic = 0.0, positions = 0.0;
    for (int i = 1; i <= g->rows; i++)
        for (int j = 1; j <= g->columns; j++)
            potential += g->phi[at(g, i, j)] * g->phi[at(g, i, j)];
    for (int k = 0; k < p->count; k++) {
        kinetic += 0.5 * (p->p[k].vx * p->p[k].vx + p->p[k].vy * p->p[k].vy);
        positions += p->p[k].x + 2.0 * p->p[k].y;
    }
    potential = charge * charge * total(potential);
    kinetic = total(kinetic);
    positions = total(positions);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        printf("pic n %d particles %d steps %d sweeps %d\npotential %.10e\nkinetic %.10e\npositions %.10e\n", g->n,
               g->n * g->n * per_cell, steps, sweeps, potential, kinetic, positions);
}

static double positive(const char *name, const char *text, double high)
{
    char *end, message[200];
    double value = strtod(text, &end);
    if (end == text || *end || !(value > 0.0 && value <= high)) {
        snprintf(message, sizeof message, "%s must be a number above 0, at most %g, found '%s'", name, high, text);
        fail(message);
    }
    return value;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Pcontrol(0); /* only the main loop is measured */
    int n = argc > 1 ? argument("N", argv[1], 2, 2000) : 16;
    int per_cell = argc > 2 ? argument("PER_CELL", argv[2], 1, 100) : 4;
    int steps = argc > 3 ? argument("STEPS", argv[3], 0, 1000000) : 5;
    int sweeps = argc > 4 ? argument("SWEEPS", argv[4], 1, 10000) : 4;
    int has_charge = argc > 5 && !strchr(argv[5], 'x');
    double charge = has_charge ? positive("CHARGE", argv[5], 1000.0) : 1.0;
    if (argc > 6 + has_charge)
        fail("usage: pic_mpi [N [PER_CELL [STEPS [SWEEPS [CHARGE]]]]] [PARTS_YxPARTS_X]");
    ProcessGrid pg = process_grid(argc > 5 + has_charge ? argv[5 + has_charge] : NULL, 2, 1);
    if (pg.parts[0] > n || pg.parts[1] > n)
        fail("pic: N must not be less than the parts in a direction");
    Grid g = my_grid(&pg, n, per_cell);
    Particles p = my_particles(&g, per_cell);

    MPI_Pcontrol(1);
    pic_run(&pg, &p, &g, steps, sweeps, charge);
    MPI_Pcontrol(0);

    report(&p, &g, per_cell, steps, sweeps, charge);
    free(p.p);
    free(g.rho);
    free(g.phi);
    free(g.work);
    free(g.ex);
    free(g.ey);
    MPI_Type_free(&g.column);
    MPI_Type_free(&g.long_column);
    MPI_Comm_free(&pg.comm);
    MPI_Finalize();
    return 0;
}
