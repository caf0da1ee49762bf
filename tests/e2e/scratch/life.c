/* Bits of neighbours, words at a time: rows of four words on a ring, a border sends one row each way per step. */
#include <stdint.h>
enum { R = 256, W = 4 };
static uint64_t a[R * W], b[R * W];

__attribute__((noinline)) void run(uint64_t *from, uint64_t *to) {
  for (int step = 0; step < 10; step++) {
    for (int i = 0; i < R; i++)
      for (int w = 0; w < W; w++) {
        uint64_t s0 = 0, s1 = 0, s2 = 0, own = from[i * W + w];
        for (int d = -1; d <= 1; d++) {
          int r = (i + d + R) % R, n = d ? 3 : 2;
          uint64_t m = from[r * W + w], l = from[r * W + (w + W - 1) % W], h = from[r * W + (w + 1) % W];
          uint64_t x[3] = {m << 1 | l >> 63, m >> 1 | h << 63, m};
          for (int k = 0; k < n; k++) {
            uint64_t c0 = s0 & x[k], c1 = s1 & c0;
            s0 ^= x[k], s1 ^= c0, s2 |= c1;
          }
        }
        to[i * W + w] = s1 & ~s2 & (s0 | own);
      }
    uint64_t *other = from;
    from = to;
    to = other;
  }
}

int main(void) {
  uint64_t s = 1;
  for (int i = 0; i < R * W; i++) a[i] = s = s * 6364136223846793005u + 1;
  run(a, b);
  return a[3] == 5;
}
