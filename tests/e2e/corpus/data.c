/* Variable-length arrays, alloca, varargs, unions, bit fields, structs by value, long double, __int128, complex,
 * atomics, inline assembly, flexible arrays, small element types, overlapping moves, weak and thread variables. */
#include <alloca.h>
#include <complex.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct small {
  short a;
  char b;
};
struct big {
  double values[6];
  int n;
};
union pun {
  double d;
  uint64_t u;
  float f[2];
  unsigned char bytes[8];
};
struct flags {
  unsigned low : 3, mid : 13, high : 16;
  int sign : 5;
};
struct flexible {
  int n;
  double data[];
};
struct pair {
  float x, y;
};

static unsigned char bytes[13];
static short shorts[7];
static _Thread_local int counter;
static _Atomic int hits;
static _Atomic double level;
static atomic_uchar tiny;
__attribute__((weak)) int weak_variable = 3;

__attribute__((noinline)) static double sum_of(int n, ...) {
  va_list list, copy;
  va_start(list, n);
  va_copy(copy, list);
  double sum = 0;
  for (int i = 0; i < n; i++)
    sum += va_arg(list, double);
  sum += va_arg(copy, double);
  va_end(copy);
  va_end(list);
  return sum;
}
__attribute__((noinline)) static int mixed(const char *kinds, ...) {
  va_list list;
  va_start(list, kinds);
  double total = 0;
  for (; *kinds; kinds++) {
    if (*kinds == 'i')
      total += va_arg(list, int);
    else if (*kinds == 'l')
      total += (double)va_arg(list, long);
    else if (*kinds == 's')
      total += va_arg(list, struct small).a;
    else
      total += (double)va_arg(list, long double);
  }
  va_end(list);
  return (int)total;
}
__attribute__((noinline)) static struct big grow(struct big in, double x) {
  struct big out = in;
  out.values[out.n++ % 6] += x;
  return out;
}
__attribute__((noinline)) static struct pair swap(struct pair p) { return (struct pair){p.y, p.x}; }
__attribute__((noinline)) static double vla(int n) {
  double work[n][n];
  double *extra = alloca(n * sizeof *extra);
  for (int i = 0; i < n; i++) {
    extra[i] = i;
    for (int j = 0; j < n; j++)
      work[i][j] = extra[i] * j;
  }
  double sum = 0;
  for (int i = 0; i < n; i++)
    sum += work[i][n - 1 - i];
  return sum;
}
__attribute__((noinline)) static long double precise(long double x) { return x * x / 3.0L + 1e-18L; }
__attribute__((noinline)) static __int128 wide(__int128 a, long b) { return a * b + (a >> 70); }

int main(void) {
  for (int i = 0; i < 13; i++)
    bytes[i] = (unsigned char)(i * 21);
  memmove(bytes + 1, bytes, 11);
  memmove(bytes + 3, bytes + 5, 7);
  memcpy(shorts, bytes + 1, sizeof bytes - 1);
  unsigned check = 0;
  for (int i = 0; i < 13; i++)
    check = check * 31 + bytes[i] + (unsigned)shorts[i % 7];

  union pun pun = {.d = 1.5};
  pun.bytes[6] ^= 8;
  pun.f[0] += 2;
  struct flags flags = {5, 1000, 40000, -3};
  for (int i = 0; i < 5; i++) {
    flags.mid += flags.low;
    flags.sign ^= i;
    flags.low++;
  }
  struct big big = {{1, 2, 3}, 3};
  for (int i = 0; i < 8; i++)
    big = grow(big, 0.5 * i);
  struct pair p = {1, 2};
  for (int i = 0; i < 3; i++) {
    p = swap(p);
    p.x += 0.25f;
  }
  struct flexible *flexible = malloc(sizeof *flexible + 5 * sizeof(double));
  flexible->n = 5;
  for (int i = 0; i < 5; i++)
    flexible->data[i] = vla(i + 2) + (i ? flexible->data[i - 1] : 0);
  double last = flexible->data[4];
  flexible = realloc(flexible, sizeof *flexible + 50 * sizeof(double));
  last -= flexible->data[3];
  free(flexible);
  for (int i = 0; i < 10; i++) {
    atomic_fetch_add(&hits, i);
    double seen = level;
    while (!atomic_compare_exchange_weak(&level, &seen, seen + i))
      ;
    atomic_fetch_xor(&tiny, (unsigned char)(i * 37));
    counter += weak_variable;
  }
  int exchanged = atomic_exchange(&hits, 7);
  double complex z = 1 + 2 * I;
  z = z * z / (3 - I);
  long doubled;
  __asm__("leaq (%1,%1), %0" : "=r"(doubled) : "r"((long)counter));
  __asm__ volatile("" ::: "memory");
  long double precise_sum = 0;
  long double many[4];
  for (int i = 0; i < 4; i++) {
    many[i] = precise(i + 0.1L);
    precise_sum += many[i];
  }
  __int128 big_number = wide(((__int128)1 << 100) + 12345, 7);
  struct small s = {-3, 4};
  printf("%u %.17g %u %u %d\n", check, pun.d, flags.mid, flags.low, flags.sign);
  printf("%.17g %d %g %g %.17g\n", big.values[2], big.n, p.x, p.y, last);
  printf("%d %g %d %d %ld %.17g %.17g\n", exchanged, level, tiny, counter, doubled, creal(z), cimag(z));
  printf("%.20Lg %llx %llx\n", precise_sum, (long long)(big_number >> 64), (long long)big_number);
  printf("%.17g %d\n", sum_of(3, 1.5, 2.5, last), mixed("ilsLi", 1, 2L, s, 2.75L, 4));
  return 0;
}
