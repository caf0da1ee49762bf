/*
 * Waves in a square membrane: linear finite elements on triangles, lumped mass, explicit time stepping.
 *
 *     fem2d [N [STEPS [ordered|permuted]]]       default: 32 10 permuted
 *
 * N x N squares, each cut into two triangles; (N + 1)^2 nodes, those on the boundary are held at zero. Every
 * element gathers its corners into a scratch buffer, computes there and adds its forces to the nodes.
 * permuted: nodes and elements are numbered at random, as a mesh generator might.
 *
 * The initial displacement is the first sine mode, an eigenvector of the discrete problem.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PI 3.14159265358979323846
#define COURANT 0.5 /* wave speed 1; stable below 0.7 */

typedef struct {
    int nodes;
    int elements;
    int *corner;    /* elements x 3 */
    double *x, *y;  /* nodes */
    double *fixed;  /* nodes: 0 on the boundary, 1 inside */
} Mesh;

typedef struct {
    double *u, *v;     /* displacement, velocity */
    double *force;
    double *mass;
} State;

/* Scratch layout: positions, displacements, gradients of the shape functions, forces of the three corners. */
enum { X = 0, Y = 3, U = 6, GX = 9, GY = 12, F = 15, SCRATCH = 18 };

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (!memory) {
        fprintf(stderr, "fem2d: not enough memory\n");
        exit(1);
    }
    return memory;
}

static void gather(const Mesh *m, const double *u, int element, double *s)
{
    for (int c = 0; c < 3; c++) {
        int node = m->corner[3 * element + c];
        s[X + c] = m->x[node];
        s[Y + c] = m->y[node];
        s[U + c] = u[node];
    }
}

/* Shape function gradients times twice the area; returns twice the area. */
static double shape_gradients(double *s)
{
    for (int c = 0; c < 3; c++) {
        int a = (c + 1) % 3, b = (c + 2) % 3;
        s[GX + c] = s[Y + a] - s[Y + b];
        s[GY + c] = s[X + b] - s[X + a];
    }
    return (s[X + 1] - s[X]) * (s[Y + 2] - s[Y]) - (s[X + 2] - s[X]) * (s[Y + 1] - s[Y]);
}

static void element_forces(double *s)
{
    double twice = shape_gradients(s);
    double gx = 0.0, gy = 0.0;
    for (int c = 0; c < 3; c++) {
        gx += s[GX + c] * s[U + c];
        gy += s[GY + c] * s[U + c];
    }
    for (int c = 0; c < 3; c++)
        s[F + c] = -(s[GX + c] * gx + s[GY + c] * gy) / (2.0 * twice);
}

static void scatter(const Mesh *m, const double *s, int element, double *force)
{
    for (int c = 0; c < 3; c++)
        force[m->corner[3 * element + c]] += s[F + c];
}

static void assemble(const Mesh *m, const double *u, double *force)
{
    double *scratch = allocate(SCRATCH, sizeof(double));
    for (int node = 0; node < m->nodes; node++)
        force[node] = 0.0;
    for (int element = 0; element < m->elements; element++) {
        gather(m, u, element, scratch);
        element_forces(scratch);
        scatter(m, scratch, element, force);
    }
    free(scratch);
}

static void advance(const Mesh *m, State *s, double dt)
{
    for (int node = 0; node < m->nodes; node++) {
        s->v[node] += dt * m->fixed[node] * s->force[node] / s->mass[node];
        s->u[node] += dt * s->v[node];
    }
}

/* The main loop. */
void fem_run(const Mesh *m, State *s, double dt, int steps)
{
    for (int step = 0; step < steps; step++) {
        assemble(m, s->u, s->force);
        advance(m, s, dt);
    }
}

static unsigned scramble(unsigned x)
{
    x = (x ^ (x >> 16)) * 0x7feb352du;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    return x ^ (x >> 16);
}

/* Numbers 0 ... count - 1, exchanged at random if asked for. */
static int *numbering(int count, int permuted)
{
    int *number = allocate((size_t)count, sizeof(int));
    for (int i = 0; i < count; i++)
        number[i] = i;
    for (int i = count - 1; permuted && i > 0; i--) {
        int j = (int)(scramble((unsigned)i + 1u) % ((unsigned)i + 1u));
        int swap = number[i];
        number[i] = number[j];
        number[j] = swap;
    }
    return number;
}

static Mesh make_mesh(int n, int permuted)
{
    int row = n + 1;
    Mesh m = {row * row, 2 * n * n, NULL, NULL, NULL, NULL};
    m.corner = allocate(3 * (size_t)m.elements, sizeof(int));
    m.x = allocate((size_t)m.nodes, sizeof(double));
    m.y = allocate((size_t)m.nodes, sizeof(double));
    m.fixed = allocate((size_t)m.nodes, sizeof(double));
    int *node = numbering(m.nodes, permuted), *element = numbering(m.elements, permuted);
    for (int j = 0; j < row; j++)
        for (int i = 0; i < row; i++) {
            int k = node[j * row + i];
            m.x[k] = (double)i / n;
            m.y[k] = (double)j / n;
            m.fixed[k] = i > 0 && i < n && j > 0 && j < n;
        }
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++) {
            int a = j * row + i;
            const int two[6] = {a, a + 1, a + row + 1, a, a + row + 1, a + row};
            for (int c = 0; c < 6; c++)
                m.corner[3 * element[2 * (j * n + i) + c / 3] + c % 3] = node[two[c]];
        }
    free(node);
    free(element);
    return m;
}

/* A third of each triangle's area belongs to each of its corners. */
static State initial_state(const Mesh *m)
{
    size_t count = (size_t)m->nodes;
    State s = {allocate(count, sizeof(double)), allocate(count, sizeof(double)), allocate(count, sizeof(double)),
               allocate(count, sizeof(double))};
    double *scratch = allocate(SCRATCH, sizeof(double));
    for (int node = 0; node < m->nodes; node++)
        s.u[node] = m->fixed[node] * sin(PI * m->x[node]) * sin(PI * m->y[node]);
    for (int element = 0; element < m->elements; element++) {
        gather(m, s.u, element, scratch);
        double area = 0.5 * shape_gradients(scratch);
        for (int c = 0; c < 3; c++)
            s.mass[m->corner[3 * element + c]] += area / 3.0;
    }
    free(scratch);
    return s;
}

static void print_checksums(const Mesh *m, const State *s)
{
    double sum = 0.0, norm = 0.0, momentum = 0.0;
    for (int node = 0; node < m->nodes; node++) {
        sum += s->mass[node] * s->u[node];
        norm += s->mass[node] * s->u[node] * s->u[node];
        momentum += s->mass[node] * s->v[node];
    }
    printf("sum %.10e\n", sum);
    printf("norm %.10e\n", norm);
    printf("momentum %.10e\n", momentum);
}

static int argument(const char *name, const char *text, int low, int high)
{
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno || end == text || *end || value < low || value > high) {
        fprintf(stderr, "fem2d: %s must be an integer from %d to %d, found '%s'\n", name, low, high, text);
        exit(2);
    }
    return (int)value;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? argument("N", argv[1], 2, 2000) : 32;
    int steps = argc > 2 ? argument("STEPS", argv[2], 0, 1000000) : 10;
    const char *order = argc > 3 ? argv[3] : "permuted";
    int permuted = strcmp(order, "permuted") == 0;
    if (argc > 4 || (!permuted && strcmp(order, "ordered") != 0)) {
        fprintf(stderr, "usage: fem2d [N [STEPS [ordered|permuted]]]\n");
        return 2;
    }
    Mesh m = make_mesh(n, permuted);
    State s = initial_state(&m);
    fem_run(&m, &s, COURANT / n, steps);
    printf("fem2d n %d steps %d order %s\n", n, steps, order);
    print_checksums(&m, &s);
    free(m.corner);
    free(m.x);
    free(m.y);
    free(m.fixed);
    free(s.u);
    free(s.v);
    free(s.force);
    free(s.mass);
    return 0;
}
