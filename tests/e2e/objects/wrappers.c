/* Arrays from allocators of the program: each has the name that the code that uses it gives it. */
#include <stdio.h>
#include <stdlib.h>
#define HIDDEN __attribute__((noinline))

static void *xmalloc(size_t bytes) {
  void *block = malloc(bytes);
  if (!block)
    exit(1);
  return block;
}

HIDDEN static void *traced_malloc(size_t bytes) { return bytes ? xmalloc(bytes) : NULL; }

HIDDEN static double *vector(int n) { return traced_malloc((size_t)n * sizeof(double)); }

HIDDEN static double *aligned(int n) {
  void *p = NULL;
  if (posix_memalign(&p, 64, (size_t)n * sizeof(double)))
    exit(1);
  return p;
}

HIDDEN static int grab(double **out, int n) {
  *out = vector(n);
  return *out == NULL;
}

/* Tries again, as a pool that grows would: recursion adds nothing to a path. */
HIDDEN static double *stubborn(int n, int tries) { return tries ? stubborn(n, tries - 1) : vector(n); }

struct mesh {
  int n;
  double *x, *y;
};

struct state {
  struct mesh mesh;
  double *energy;
};

HIDDEN static void init_mesh(struct mesh *m, int n) {
  m->n = n;
  m->x = vector(n);
  m->y = vector(n);
}

HIDDEN static struct state *new_state(int n) {
  struct state *s = xmalloc(sizeof *s);
  init_mesh(&s->mesh, n);
  s->energy = vector(2 * n);
  return s;
}

HIDDEN static struct mesh mesh_of(int n) {
  struct mesh result;
  init_mesh(&result, n);
  return result;
}

static double *shared;
static struct mesh global_mesh;

HIDDEN static void setup(int n) {
  shared = vector(n);
  init_mesh(&global_mesh, n);
}

typedef double *(*allocator)(int);

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 20, steps = 3;
  double *plain = vector(n), *other = vector(2 * n);
  double *lined = aligned(n);
  double *taken;
  if (grab(&taken, n))
    exit(1);
  double *retried = stubborn(n, 3);
  struct mesh local, returned = mesh_of(n);
  init_mesh(&local, n);
  struct state *first = new_state(n), *second = new_state(n);
  setup(n);
  allocator chosen = argc > 5 ? aligned : vector;
  double *indirect = chosen(n);
  double **rows = malloc((size_t)n * sizeof *rows);
  for (int i = 0; i < n; i++)
    rows[i] = vector(n);
  double *field[3];
  for (int k = 0; k < 3; k++)
    field[k] = vector(n);
  for (int i = 0; i < n; i++) {
    plain[i] = 0.5 * i;
    other[i] = other[n + i] = plain[i] + 1;
    lined[i] = taken[i] = plain[i] * 3;
    retried[i] = lined[i] + other[i];
    local.x[i] = local.y[i] = retried[i] * 2;
    returned.x[i] = returned.y[i] = local.x[i] * 5;
    first->mesh.x[i] = first->mesh.y[i] = local.y[i] * 3;
    second->mesh.x[i] = second->mesh.y[i] = first->mesh.x[i] + taken[i];
    first->energy[i] = first->energy[n + i] = second->mesh.x[i] * i;
    second->energy[i] = second->energy[n + i] = first->energy[i] * i;
    shared[i] = global_mesh.x[i] = global_mesh.y[i] = second->energy[i] / 2;
    indirect[i] = shared[i] + 1;
    for (int j = 0; j < n; j++)
      rows[i][j] = indirect[i] * j;
    for (int k = 0; k < 3; k++)
      field[k][i] = rows[i][k] + k;
  }
  double sum = 0;
  for (int step = 0; step < steps; step++) {
    double *scratch = vector(n), *next = vector(n);
    for (int i = 0; i < n; i++)
      scratch[i] = plain[i] + field[step][i];
    for (int i = 0; i < n; i++)
      next[i] = scratch[n - 1 - i] * 2;
    double *stage[2];
    for (int k = 0; k < 2; k++)
      stage[k] = aligned(n);
    for (int i = 0; i < n; i++)
      stage[0][i] = next[i] + 1;
    for (int i = 0; i < n; i++)
      stage[1][i] = stage[0][i] * next[i];
    for (int i = 0; i < n; i++)
      plain[i] = stage[1][i] + 1;
    for (int k = 0; k < 2; k++)
      free(stage[k]);
    free(scratch);
    free(next);
  }
  for (int i = 0; i < n; i++)
    sum += plain[i] + returned.y[i] + global_mesh.x[i] + rows[i][n - 1 - i];
  printf("%g\n", sum);
  return 0;
}
