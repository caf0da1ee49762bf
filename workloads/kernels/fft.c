/* Fast Fourier transform in place of n = 2^k complex numbers in bit-reversed order, table of factors; static arrays.
 *
 * Plain division: p blocks. In each of the stages whose partners lie in different blocks both numbers of a pair go to the
 * other, 2 n words; with p = 2^q these are q stages. Factors go to the blocks that own one of the numbers of a pair
 * that they belong to. fft_words counts both for any p. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#define MOST 65536
static double re[MOST];
static double im[MOST];
static double c[MOST / 2];
static double s[MOST / 2];
static void kernel(int n) {
  for (int length = 2; length <= n; length *= 2)
    for (int begin = 0; begin < n; begin += length)
      for (int j = 0; j < length / 2; j++) {
        int a = begin + j, b = a + length / 2, w = j * (n / length);
        double x = re[b] * c[w] - im[b] * s[w], y = re[b] * s[w] + im[b] * c[w];
        re[b] = re[a] - x;
        im[b] = im[a] - y;
        re[a] += x;
        im[a] += y;
      }
}
int main(int argc, char **argv) {
  int n = 1 << atoi(argv[1]);
  for (int i = 0; i < n; i++) re[i] = i % 5, im[i] = i % 3;
  for (int i = 0; i < n / 2; i++) c[i] = cos(2 * M_PI * i / n), s[i] = -sin(2 * M_PI * i / n);
  kernel(n);
  double sum = 0;
  for (int i = 0; i < n; i++) sum += fabs(re[i]) + fabs(im[i]);
  printf("%.6e\n", sum);
}
