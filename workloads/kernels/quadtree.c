/* Adaptive quadtree of structures that are allocated one by one: masses are summed from leaves to the root, a potential
 * handed down from the root; recursive.
 *
 * Plain division: leaves in the order of the tree in p runs of equal length, each inner node with its first leaf. A node
 * whose children begin in c nodes receives their c - 1 sums and sends its mass and potential to them; quadtree_words
 * makes the same tree. */
#include <stdio.h>
#include <stdlib.h>
struct node {
  double mass, potential;
  struct node *child[4];
};
static unsigned state = 1;
static struct node *grow(int depth, int least, int most) {
  struct node *t = calloc(1, sizeof *t);
  state = state * 1664525u + 1013904223u;
  t->mass = 1 + (state >> 28);
  if (depth < least || (depth < most && (state >> 16) % 3))
    for (int c = 0; c < 4; c++) t->child[c] = grow(depth + 1, least, most);
  return t;
}
static void gather(struct node *t) {
  if (!t->child[0]) return;
  double sum = 0;
  for (int c = 0; c < 4; c++) {
    gather(t->child[c]);
    sum += t->child[c]->mass;
  }
  t->mass = sum;
}
static void spread(struct node *t) {
  if (!t->child[0]) return;
  for (int c = 0; c < 4; c++) {
    t->child[c]->potential = t->potential + 0.5 * (t->mass - t->child[c]->mass);
    spread(t->child[c]);
  }
}
static double total(const struct node *t) {
  double sum = t->potential;
  for (int c = 0; c < 4 && t->child[c]; c++) sum += total(t->child[c]);
  return sum;
}
static void kernel(struct node *root) {
  gather(root);
  spread(root);
}
int main(int argc, char **argv) {
  struct node *root = grow(0, atoi(argv[1]), atoi(argv[2]));
  kernel(root);
  printf("%.10e\n", total(root));
}
