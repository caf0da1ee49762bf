// Most value within a capacity below c, n things of weight 1 to 5: an integer dynamic program, one std::vector per row.
//
// Plain division: p1 blocks of things, p2 of capacities (each wider than 5). For each thing, as many values as it weighs
// go over each cut of capacities, and its value to the p2 - 1 other blocks; over each cut of things a row of c:
// 4 ((sum of weights + n)(p2 - 1) + c (p1 - 1)).
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>
extern "C" void kernel(int n, int c, const std::vector<int> &weight, const std::vector<int> &value, std::vector<std::vector<int>> &best) {
  for (int i = 1; i <= n; i++)
    for (int w = 0; w < c; w++) {
      best[i][w] = best[i - 1][w];
      if (w >= weight[i - 1]) best[i][w] = std::max(best[i - 1][w], best[i - 1][w - weight[i - 1]] + value[i - 1]);
    }
}
int main(int, char **argv) {
  int n = std::atoi(argv[1]), c = std::atoi(argv[2]);
  std::vector<int> weight(n);
  std::vector<int> value(n);
  std::vector<std::vector<int>> best(n + 1, std::vector<int>(c));
  for (int i = 0; i < n; i++) weight[i] = 1 + 3 * i % 5, value[i] = 1 + 7 * i % 11;
  kernel(n, c, weight, value, best);
  std::printf("%d\n", best[n][c - 1]);
}
