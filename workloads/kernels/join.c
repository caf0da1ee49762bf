/* Hash join with grouping: n lines each name one of d goods; the table of goods is hashed (open addressing), each line's
 * price is times the rate of its good, and summed by one of g groups.
 *
 * Plain division: lines in p blocks; the rate of each good goes to the p - 1 nodes that do not own it, each group's sum
 * is combined: 8 (d + g)(p - 1) (every block has every good and group). */
#include <stdio.h>
#include <stdlib.h>
struct slot {
  int key;
  double rate;
};
static unsigned hash(int key) { return (unsigned)key * 2654435761u; }
static void kernel(int n, int d, const int *key, const double *rate, const int *good, const int *group, double *price, double *total,
                   struct slot *table, unsigned mask) {
  for (int i = 0; i < d; i++) {
    unsigned h = hash(key[i]) & mask;
    while (table[h].key >= 0) h = (h + 1) & mask;
    table[h].key = key[i];
    table[h].rate = rate[i];
  }
  for (int s = 0; s < n; s++) {
    unsigned h = hash(good[s]) & mask;
    while (table[h].key != good[s]) h = (h + 1) & mask;
    price[s] = price[s] * table[h].rate;
  }
  for (int s = 0; s < n; s++) total[group[s]] += price[s];
}
int main(int argc, char **argv) {
  int n = atoi(argv[1]), d = atoi(argv[2]), g = atoi(argv[3]);
  unsigned mask = 1;
  while (mask < 2u * d) mask *= 2;
  int *key = malloc(sizeof(int) * d);
  double *rate = malloc(sizeof(double) * d);
  int *good = malloc(sizeof(int) * n);
  int *group = malloc(sizeof(int) * n);
  double *price = malloc(sizeof(double) * n);
  double *total = calloc(g, sizeof(double));
  struct slot *table = malloc(sizeof(struct slot) * mask);
  for (unsigned h = 0; h < mask; h++) table[h].key = -1;
  for (int i = 0; i < d; i++) key[i] = 7 * i + 3, rate[i] = 1 + i % 4;
  for (int s = 0; s < n; s++) good[s] = 7 * (s % d) + 3, group[s] = s / 3 % g, price[s] = s % 9;
  kernel(n, d, key, rate, good, group, price, total, table, mask - 1);
  double sum = 0;
  for (int i = 0; i < g; i++) sum += total[i];
  printf("%.10e\n", sum);
}
