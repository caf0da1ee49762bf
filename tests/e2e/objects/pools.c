/* Several arrays in one block: cut by arenas, pointed to by variables and members, members of a static object. */
#include <stdio.h>
#include <stdlib.h>
#define HIDDEN __attribute__((noinline))

static char *next_free, *end;

HIDDEN static void *take(size_t bytes) {
  bytes = (bytes + 63) & ~(size_t)63;
  if (next_free + bytes > end)
    exit(1);
  void *piece = next_free;
  next_free += bytes;
  return piece;
}

HIDDEN static double *field(int n) { return take((size_t)n * sizeof(double)); }

struct stack {
  char *base;
  size_t used, size;
};

HIDDEN static void *push(struct stack *s, size_t bytes) {
  if (s->used + bytes > s->size)
    return NULL;
  void *piece = s->base + s->used;
  s->used += bytes;
  return piece;
}

struct state {
  double *rho, *e;
};

struct mesh {
  double *x, *y;
};

HIDDEN static void init_mesh(struct mesh *m, int n) {
  double *block = malloc(3 * (size_t)n * sizeof(double));
  m->x = block;
  m->y = block + n;
}

static struct {
  double scale;
  double a[30];
  double b[6][5];
} fixed;

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 20;
  next_free = malloc(1 << 16);
  end = next_free + (1 << 16);
  double *u = field(n), *v = field(2 * n);
  struct stack s = {malloc(1 << 14), 0, 1 << 14};
  struct state q;
  q.rho = push(&s, n * sizeof(double));
  q.e = push(&s, n * sizeof(double));
  double *w[2];
  for (int k = 0; k < 2; k++)
    w[k] = field(n * n);
  double *rows[64];
  for (int k = 0; k < n; k++)
    rows[k] = field(n);
  double *padded = malloc((n + 2) * (n + 2) * sizeof(double));
  double *inner = padded + (n + 2) + 1; /* a view: neighbours are read across its beginning */
  double *pool = malloc((n * n + 2 * n) * sizeof(double));
  double *left = pool;
  double *right = pool + n * n;
  struct mesh made;
  init_mesh(&made, n);

  for (int i = 0; i < n; i++)
    u[i] = 0.5 * i;
  for (int i = 0; i < 2 * n; i++)
    v[i] = u[i % n] + 1;
  for (int i = 0; i < (n + 2) * (n + 2); i++)
    padded[i] = 2 * v[i % n];
  for (int k = 0; k < 2; k++)
    for (int i = 0; i < n * n; i++)
      w[k][i] = v[i % n] * k;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      rows[i][j] = inner[i * (n + 2) + j - 1] + inner[i * (n + 2) + j + 1] + w[0][i * n + j] + w[1][i];
  for (int i = 0; i < n; i++) {
    q.rho[i] = 3 * rows[i][n - 1 - i];
    q.e[i] = q.rho[i] - 1;
  }
  for (int i = 0; i < n * n; i++)
    left[i] = q.e[i % n] + 1;
  for (int i = 0; i < 2 * n; i++)
    right[i] = left[i] * 2;
  for (int i = 0; i < n; i++) {
    made.x[i] = right[i] + right[n + i];
    made.y[i] = made.y[n + i] = made.x[i] * 3;
  }
  fixed.scale = made.y[1] * 2;
  for (int i = 0; i < 30; i++)
    fixed.a[i] = fixed.scale * i;
  for (int i = 0; i < 6; i++)
    for (int j = 0; j < 5; j++)
      fixed.b[i][j] = fixed.a[i * 5 + j] - made.x[i];
  double sum = 0;
  for (int i = 0; i < n; i++)
    sum += q.rho[i] + q.e[n - 1 - i] + made.y[n + i] + fixed.b[i % 6][i % 5];
  printf("%g\n", sum);
  return 0;
}
