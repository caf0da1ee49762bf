/*
 * adi in blocks: every process owns a rectangle, lines that cross several blocks are solved in a pipeline.
 *
 *     mpiexec -n 4 adi_mpi [N [STEPS [PARTS_Y x PARTS_X]]]        for example 32 5 2x2
 *
 * The elimination of a line goes through the blocks from the first to the last and hands on two numbers,
 * the substitution comes back and hands on one. LINES_AT_ONCE lines travel in one message, so that the blocks
 * can work on different lines at the same time. What comes back with the substitution are the points behind
 * the border that the explicit part of the next half step reads: only those before it need to be sent.
 */
#include "../../common/blocks.h"
#include <math.h>
#include <stdint.h>

#define R 0.8 /* time step / (2 dx^2) */
#define PI 3.14159265358979323846
#define LINES_AT_ONCE 8

/* A block of rows x columns points inside a layer of copies of its neighbours' points. */
typedef struct {
    int first[2], points[2], stride[2]; /* by direction: across rows, along rows */
} Block;

/* Lines of one direction; cp and dp have space for all lines of a batch. */
typedef struct {
    int length, stride;  /* along the lines */
    int lines, across;   /* from line to line */
    int before, after;   /* ranks of the blocks that the lines come from and go to */
    MPI_Comm comm;
    double *cp, *dp;
} Sweep;

static const double *start_of(const Sweep *s, const double *field, int line)
{
    return &field[(line + 1) * s->across + s->stride];
}

static void eliminate(const Sweep *s, const double *capacity, const double *from, double *cp, double *dp,
                      const double *inflow)
{
    for (int k = 0; k < s->length; k++) {
        const double *u = &from[k * s->stride];
        double c = capacity[k * s->stride];
        double right = c * u[0] + R * (u[-s->across] - 2.0 * u[0] + u[s->across]);
        if (k == 0 && !inflow) {
            cp[k] = R / (c + 2.0 * R);
            dp[k] = right / (c + 2.0 * R);
        } else {
            double cp_before = k == 0 ? inflow[0] : cp[k - 1];
            double dp_before = k == 0 ? inflow[1] : dp[k - 1];
            double pivot = c + 2.0 * R - R * cp_before;
            cp[k] = R / pivot;
            dp[k] = (right + R * dp_before) / pivot;
        }
    }
}

static void forward(const Sweep *s, int first, int count, const double *capacity, const double *from)
{
    double message[2 * LINES_AT_ONCE];
    int received = s->before != MPI_PROC_NULL;
    if (received)
        MPI_Recv(message, 2 * count, MPI_DOUBLE, s->before, 0, s->comm, MPI_STATUS_IGNORE);
    for (int l = 0; l < count; l++) {
        double *cp = &s->cp[(first + l) * s->length], *dp = &s->dp[(first + l) * s->length];
        eliminate(s, start_of(s, capacity, first + l), start_of(s, from, first + l), cp, dp,
                  received ? &message[2 * l] : NULL);
        message[2 * l] = cp[s->length - 1];
        message[2 * l + 1] = dp[s->length - 1];
    }
    MPI_Send(message, 2 * count, MPI_DOUBLE, s->after, 0, s->comm);
}

/* Substitution; the point behind the border becomes known and is kept. */
static void backward(const Sweep *s, int first, int count, double *to)
{
    double message[LINES_AT_ONCE];
    MPI_Recv(message, count, MPI_DOUBLE, s->after, 1, s->comm, MPI_STATUS_IGNORE);
    for (int l = 0; l < count; l++) {
        const double *cp = &s->cp[(first + l) * s->length], *dp = &s->dp[(first + l) * s->length];
        double *u = (double *)start_of(s, to, first + l);
        int last = s->length - 1;
        if (s->after == MPI_PROC_NULL) {
            u[last * s->stride] = dp[last];
        } else {
            u[(last + 1) * s->stride] = message[l];
            u[last * s->stride] = dp[last] + cp[last] * message[l];
        }
        for (int k = last - 1; k >= 0; k--)
            u[k * s->stride] = dp[k] + cp[k] * u[(k + 1) * s->stride];
        message[l] = u[0];
    }
    MPI_Send(message, count, MPI_DOUBLE, s->before, 1, s->comm);
}

static void solve_lines(const Sweep *s, const double *capacity, const double *from, double *to)
{
    for (int first = 0; first < s->lines; first += LINES_AT_ONCE)
        forward(s, first, first + LINES_AT_ONCE <= s->lines ? LINES_AT_ONCE : s->lines - first, capacity, from);
    for (int first = 0; first < s->lines; first += LINES_AT_ONCE)
        backward(s, first, first + LINES_AT_ONCE <= s->lines ? LINES_AT_ONCE : s->lines - first, to);
}

/* Send my last points in a direction forward (or my first ones back) into the neighbour's layer. */
static void send_border(const ProcessGrid *g, const Block *b, int d, int back, double *u)
{
    MPI_Datatype border;
    int other = b->stride[1 - d], last = b->points[d];
    MPI_Type_vector(b->points[1 - d], 1, other, MPI_DOUBLE, &border);
    MPI_Type_commit(&border);
    double *out = &u[(back ? 1 : last) * b->stride[d] + other];
    double *in = &u[(back ? last + 1 : 0) * b->stride[d] + other];
    MPI_Sendrecv(out, 1, border, back ? g->before[d] : g->after[d], 2, in, 1, border,
                 back ? g->after[d] : g->before[d], 2, g->comm, MPI_STATUS_IGNORE);
    MPI_Type_free(&border);
}

static Sweep sweep_along(const ProcessGrid *g, const Block *b, int d, double *cp, double *dp)
{
    Sweep s = {b->points[d],     b->stride[d],  b->points[1 - d], b->stride[1 - d],
               g->before[d], g->after[d], g->comm, cp, dp};
    return s;
}

static void adi_solve(const ProcessGrid *g, const Block *b, int steps, const double *capacity, double *u,
                      double *half, double *cp, double *dp)
{
    Sweep rows = sweep_along(g, b, 1, cp, dp), columns = sweep_along(g, b, 0, cp, dp);
    for (int step = 0; step < steps; step++) {
        if (step == 0)
            send_border(g, b, 0, 1, u);
        send_border(g, b, 0, 0, u);
        solve_lines(&rows, capacity, u, half);
        send_border(g, b, 1, 0, half);
        solve_lines(&columns, capacity, half, u);
    }
}

static uint32_t scramble(uint32_t x)
{
    x = (x ^ (x >> 16)) * 0x7feb352du;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    return x ^ (x >> 16);
}

static void initialise(const Block *b, int n, double *capacity, double *u)
{
    int w = n + 2;
    double h = PI / (n + 1);
    for (int i = 1; i <= b->points[0]; i++)
        for (int j = 1; j <= b->points[1]; j++) {
            int at = i * b->stride[0] + j, gi = b->first[0] + i, gj = b->first[1] + j;
            capacity[at] = 1.0 + scramble((uint32_t)(gi * w + gj)) / 4294967296.0;
            u[at] = sin(h * gi) * sin(h * gj);
        }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Pcontrol(0); /* only the main loop is measured */
    int n = argc > 1 ? argument("N", argv[1], 1, 20000) : 32;
    int steps = argc > 2 ? argument("STEPS", argv[2], 0, 1000000) : 5;
    if (argc > 4)
        fail("usage: adi_mpi [N [STEPS [PARTS_YxPARTS_X]]]");
    ProcessGrid g = process_grid(argc > 3 ? argv[3] : NULL, 2, 0);
    if (g.parts[0] > n || g.parts[1] > n)
        fail("adi: N must not be less than the parts in a direction");

    Block b;
    for (int d = 0; d < 2; d++) {
        b.first[d] = block_begin(n, g.parts[d], g.mine[d]);
        b.points[d] = block_begin(n, g.parts[d], g.mine[d] + 1) - b.first[d];
    }
    b.stride[0] = b.points[1] + 2;
    b.stride[1] = 1;
    size_t inside = (size_t)b.points[0] * (size_t)b.points[1];
    size_t whole = (size_t)(b.points[0] + 2) * (size_t)b.stride[0];
    double *capacity = allocate(whole, sizeof(double));
    double *u = allocate(whole, sizeof(double)), *half = allocate(whole, sizeof(double));
    double *cp = allocate(inside, sizeof(double)), *dp = allocate(inside, sizeof(double));
    initialise(&b, n, capacity, u);

    MPI_Pcontrol(1);
    adi_solve(&g, &b, steps, capacity, u, half, cp, dp);
    MPI_Pcontrol(0);

    double sum = 0.0;
    for (int i = 1; i <= b.points[0]; i++)
        for (int j = 1; j <= b.points[1]; j++)
            sum += u[i * b.stride[0] + j];
    sum = total(sum);
    int ci = (n + 1) / 2 - b.first[0], cj = (n + 1) / 2 - b.first[1], rank;
    int mine = ci >= 1 && ci <= b.points[0] && cj >= 1 && cj <= b.points[1];
    double centre = total(mine ? u[ci * b.stride[0] + cj] : 0.0);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        printf("adi n %d steps %d\nsum %.10e\ncentre %.10e\n", n, steps, sum, centre);
    free(capacity);
    free(u);
    free(half);
    free(cp);
    free(dp);
    MPI_Comm_free(&g.comm);
    MPI_Finalize();
    return 0;
}
