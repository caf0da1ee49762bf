/* Breadth-first search from a corner of a grid graph of n x m places given by rows of neighbours, levels as integers;
 * allocated in functions of their own, handed out through arguments.
 *
 * Plain division: p1 x p2 blocks of the grid. The level of a place goes to each other block in which it is the
 * predecessor of a place; bfs_words runs the same search. */
#include <stdio.h>
#include <stdlib.h>
static void allocate(int **array, size_t count) {
  *array = malloc(sizeof **array * count);
  if (!*array) exit(1);
}
static void make_grid(int n, int m, int **first, int **neighbour) {
  allocate(first, (size_t)n * m + 1);
  allocate(neighbour, (size_t)4 * n * m);
  int e = 0;
  for (int v = 0; v < n * m; v++) {
    (*first)[v] = e;
    if (v >= m) (*neighbour)[e++] = v - m;
    if (v % m) (*neighbour)[e++] = v - 1;
    if (v % m < m - 1) (*neighbour)[e++] = v + 1;
    if (v < (n - 1) * m) (*neighbour)[e++] = v + m;
  }
  (*first)[n * m] = e;
}
static void kernel(const int *first, const int *neighbour, int *level, int *queue) {
  int head = 0, tail = 0;
  level[0] = 0;
  queue[tail++] = 0;
  while (head < tail) {
    int u = queue[head++];
    for (int e = first[u]; e < first[u + 1]; e++) {
      int v = neighbour[e];
      if (level[v] < 0) {
        level[v] = level[u] + 1;
        queue[tail++] = v;
      }
    }
  }
}
int main(int argc, char **argv) {
  int n = atoi(argv[1]), m = atoi(argv[2]), *first, *neighbour, *level, *queue;
  make_grid(n, m, &first, &neighbour);
  allocate(&level, (size_t)n * m);
  allocate(&queue, (size_t)n * m);
  for (int v = 0; v < n * m; v++) level[v] = -1;
  kernel(first, neighbour, level, queue);
  long sum = 0;
  for (int v = 0; v < n * m; v++) sum += level[v];
  printf("%ld\n", sum);
}
