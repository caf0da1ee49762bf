/* Two updates of rank one and two products with a vector: A += u1 v1^T + u2 v2^T, x += A^T y, w += A x; A n x n.
 * Members of a structure, malloc per member.
 *
 * Plain division: blocks of A on a grid p1 x p2. v1, v2 and x are sent down the columns of the grid and x is combined
 * there, u1, u2 and y are sent along its rows and w is combined there: 32 n (p1 + p2 - 2). */
#include <stdio.h>
#include <stdlib.h>
struct problem {
  int n;
  double *A, *u1, *v1, *u2, *v2, *x, *y, *w;
};
static void kernel(struct problem *s) {
  int n = s->n;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) s->A[i * n + j] += s->u1[i] * s->v1[j] + s->u2[i] * s->v2[j];
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) s->x[i] += 1.5 * s->A[j * n + i] * s->y[j];
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) s->w[i] += 1.2 * s->A[i * n + j] * s->x[j];
}
int main(int argc, char **argv) {
  int n = atoi(argv[1]);
  struct problem s = {.n = n};
  s.A = malloc(sizeof(double) * n * n);
  s.u1 = malloc(sizeof(double) * n);
  s.v1 = malloc(sizeof(double) * n);
  s.u2 = malloc(sizeof(double) * n);
  s.v2 = malloc(sizeof(double) * n);
  s.x = malloc(sizeof(double) * n);
  s.y = malloc(sizeof(double) * n);
  s.w = malloc(sizeof(double) * n);
  for (int i = 0; i < n; i++) {
    s.u1[i] = i, s.u2[i] = (i + 1) / 2.0, s.v1[i] = (i + 1) / 4.0, s.v2[i] = (i + 1) / 6.0;
    s.x[i] = i % 3, s.y[i] = (i + 1) / 8.0, s.w[i] = i % 2;
    for (int j = 0; j < n; j++) s.A[i * n + j] = (i * j % n) / (double)n;
  }
  kernel(&s);
  double sum = 0;
  for (int i = 0; i < n; i++) sum += s.w[i];
  printf("%.10e\n", sum);
}
