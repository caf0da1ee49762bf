/* Order of products by intervals: t[i][j] = cost[i][j] + min over k of t[i][k] + t[k+1][j]; static arrays.
 *
 * Plain division: rows and columns dealt out to a grid p1 x p2, backwards every second round. t[i][k] is needed by the
 * nodes of row i with a column j > k and by those of column k with a row before i; chain_words counts them. */
#include <stdio.h>
#include <stdlib.h>
#define MOST 256
static double t[MOST][MOST];
static double cost[MOST][MOST];
static void kernel(int n) {
  for (int i = n - 1; i >= 0; i--)
    for (int j = i + 1; j < n; j++) {
      double least = t[i][i] + t[i + 1][j];
      for (int k = i + 1; k < j; k++) {
        double both = t[i][k] + t[k + 1][j];
        if (both < least) least = both;
      }
      t[i][j] = least + cost[i][j];
    }
}
int main(int argc, char **argv) {
  int n = atoi(argv[1]);
  for (int i = 0; i < n; i++) {
    t[i][i] = 1 + i % 3;
    for (int j = i + 1; j < n; j++) cost[i][j] = 1 + (i * j) % 17;
  }
  kernel(n);
  printf("%.10e\n", t[0][n - 1]);
}
