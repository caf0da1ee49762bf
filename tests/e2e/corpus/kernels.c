/* Loops that the vectoriser and unroller rewrite at -O3: reductions of several types, strides, masks, gathers. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 257 };
static float f[N], g[N];
static double d[N];
static int index_of[N], counts[16];
static unsigned char image[N], blurred[N];
static short audio[N];
static long long longs[N];

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : N;
  for (int i = 0; i < n; i++) {
    f[i] = (float)i * 0.5f;
    d[i] = sqrt(i + 1.0);
    index_of[i] = (i * 37) % n;
    image[i] = (unsigned char)(i * 11);
    audio[i] = (short)(i * 131);
    longs[i] = (long long)i << 33;
  }
  float fsum = 0, fmax_ = -1;
  double dot = 0, product = 1;
  int isum = 0, where = -1;
  long long lsum = 0;
  unsigned bits = 0;
  for (int i = 0; i < n; i++) {
    fsum += f[i];
    dot += d[i] * f[index_of[i]];
    product *= 1 + d[i] * 1e-3;
    isum += audio[i];
    lsum += longs[i] ^ i;
    bits |= image[i];
    if (f[i] > fmax_ && i % 3) {
      fmax_ = f[i];
      where = i;
    }
    counts[image[i] & 15]++;
  }
  for (int i = 1; i < n - 1; i++)
    blurred[i] = (unsigned char)((image[i - 1] + 2 * image[i] + image[i + 1]) / 4);
  for (int i = 0; i < n; i += 2)
    g[i] = f[n - 1 - i];
  for (int i = 0; i < n; i++)
    if (d[i] > 4)
      g[i] += (float)d[i];
  for (int i = 1; i < n; i++)
    d[i] += 0.5 * d[i - 1];
  int blur = 0;
  for (int i = 0; i < n; i++)
    blur += blurred[i] * (i & 3);
  printf("%.9g %.9g %d %d %lld %u %d\n", fsum, fmax_, where, isum, lsum, bits, blur);
  printf("%.6g %.6g %.9g %.12g %d %d\n", dot, product, g[n / 2], d[n - 1], counts[3], counts[15]);
  return 0;
}
