/* One statement or small function per construct; sinks and sources are global arrays, see test_constructs.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define NOINLINE __attribute__((noinline))

struct big {
  double v[4];
  int n;
};
union pun {
  double d;
  uint64_t u;
  float f[2];
};
struct volatile_pair {
  double x, y;
};

double a[24], out[32];
int k[16], iout[16];
long l[4];
float f[4];
unsigned char bytes[16], moved[16];
short shorts[8];
long double ld[2], lout;
__int128 wide[2], wout;
_Float16 half[4], hout[4];
_Atomic int counter;
_Atomic double level;
_Atomic long swapped;
struct big s;
volatile struct volatile_pair vp;
struct volatile_pair plain;
static _Thread_local double local_to_thread;
__attribute__((weak)) double weak_value;
double aliased_target;
extern double aliased __attribute__((alias("aliased_target")));
static jmp_buf jump;
static double early;
__attribute__((constructor)) static void before_main(void) { early = rand() * 0.0 + 2.5; }

NOINLINE double sum(int n, ...) {
  va_list list;
  va_start(list, n);
  double t = 0;
  for (int i = 0; i < n; i++)
    t += va_arg(list, double);
  va_end(list);
  return t;
}
NOINLINE double pick(int which, ...) {
  va_list list;
  va_start(list, which);
  double t = 0;
  for (int i = 0; i <= which; i++)
    t = va_arg(list, double);
  va_end(list);
  return t;
}
NOINLINE int pick_int(int which, ...) {
  va_list list, copy;
  va_start(list, which);
  va_copy(copy, list);
  int t = 0;
  for (int i = 0; i <= which; i++)
    t = va_arg(copy, int);
  va_end(copy);
  va_end(list);
  return t;
}
NOINLINE void mixed(const char *text, ...) {
  va_list list;
  va_start(list, text);
  int i = va_arg(list, int);
  double d = va_arg(list, double);
  long double q = va_arg(list, long double);
  struct big b = va_arg(list, struct big);
  long x = va_arg(list, long);
  out[10] = i * 2.0;
  out[11] = d * 2;
  out[12] = (double)(q * 2);
  out[13] = b.v[2] * 2;
  out[14] = x * 2.0;
  va_end(list);
}
NOINLINE double read_list(va_list list) { return va_arg(list, double) * 2; }
NOINLINE double pass_list(int n, ...) {
  va_list list;
  va_start(list, n);
  double r = read_list(list);
  va_end(list);
  return r;
}
NOINLINE double by_value(struct big b, double x) {
  b.v[1] = b.v[0] + x;
  out[15] = b.v[1] * b.v[2];
  return b.v[3] * 2;
}
NOINLINE void open_array(int n, double *x) {
  double w[n];
  for (int i = 0; i < n; i++)
    w[i] = x[i] * 2;
  for (int i = 0; i < n; i++)
    x[i] = w[n - 1 - i] + 1;
}
NOINLINE double other_open_array(int n, const double *x) {
  double w[n];
  for (int i = 0; i < n; i++)
    w[i] = x[i] * 3;
  double r = 0;
  for (int i = 0; i < n; i++)
    r += w[i];
  return r;
}
NOINLINE int computed(int way, int x, int y) {
  static void *const table[] = {&&first, &&second, &&third};
  goto *table[way];
first:
  return x * 3;
second:
  return y * 5;
third:
  return 7;
}
NOINLINE int switched(int way, int x, int y) {
  switch (way) {
  case 0: return x * 3;
  case 1: return y * 5;
  case 7: return x + y;
  default: return 7;
  }
}
NOINLINE void jumping(int depth, double x) {
  if (depth == 0) {
    out[17] = x * 2;
    longjmp(jump, 1);
  }
  jumping(depth - 1, x);
}
NOINLINE double with_environment(double x, double y) {
#pragma STDC FENV_ACCESS ON
  return x / y;
}
NOINLINE void start(int n) {
  for (int i = 0; i < 24; i++)
    a[i] = n + i;
  for (int i = 0; i < 16; i++) {
    k[i] = n + i;
    bytes[i] = (unsigned char)(n * i);
  }
  for (int i = 0; i < 4; i++) {
    l[i] = n + i;
    f[i] = n + i;
    s.v[i] = n + i;
    half[i] = (_Float16)(n + i);
  }
  for (int i = 0; i < 8; i++)
    shorts[i] = (short)(n + i);
  ld[0] = ld[1] = n;
  wide[0] = wide[1] = n;
  vp.x = vp.y = n;
  counter = n;
  level = n;
  swapped = n;
  s.n = n;
}

int main(int argc, char **argv) {
  volatile int one = argc;
  start(argc);
  out[0] = sum(3, a[0], a[2], a[4]) + 1;
  out[1] = pick(1, a[5], a[6], a[7]) * 2;
  out[2] = pick(10, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11]) * 2;
  iout[0] = pick_int(2, k[0], k[1], k[2]) * 3;
  iout[1] = pick_int(7, k[0], k[1], k[2], k[3], k[4], k[5], k[6], k[7], k[8]) * 3;
  iout[2] = pick_int(1, k[3] + 1, k[4] + k[5], 7) * 3;
  iout[3] = pick_int(2, k[3] + 1, k[4] + k[5], 7) * 3;
  mixed("x", k[8], a[12], ld[1], s, l[3]);
  out[3] = pass_list(1, a[13]) + 1;
  out[4] = by_value(s, a[14]) + 1;
  open_array(4, a + 16);
  out[5] = other_open_array(2, a + 20);

  union pun pun;
  pun.d = a[1];
  pun.u ^= (uint64_t)1 << 63;
  out[6] = pun.d * 2;
  pun.f[0] = f[1];
  pun.f[1] = f[2];
  out[7] = pun.f[1] * 2;
  memcpy(&pun.u, &a[3], 8);
  pun.u += 1;
  memcpy(&out[8], &pun, 8);
  bytes[5] = (unsigned char)(bytes[9] + 1);
  shorts[2] = (short)(shorts[5] * 2);
  memcpy(moved, bytes + 4, 8);
  iout[4] = moved[2] * 3;
  memcpy(moved + 9, bytes, 7); /* not equally aligned: no flow is known, and none is invented */
  iout[5] = moved[10] * 3;

  lout = ld[0] * 2;
  wout = wide[0] * wide[1];
  hout[0] = half[2] * half[2];
  atomic_fetch_add(&counter, k[1]);
  atomic_store(&swapped, l[1]);
  long expected = one;
  atomic_compare_exchange_strong(&swapped, &expected, l[2] * 2);
  out[9] = atomic_load(&level) * 2;
  iout[6] = atomic_exchange(&counter, 5) * 2;
  plain = *(struct volatile_pair *)&vp;
  out[16] = plain.y * 2;
  if (setjmp(jump) == 0)
    jumping(3, a[9]);
  iout[7] = computed(one, k[2], k[3]);
  iout[8] = switched(one + 6, k[4], k[5]);
  local_to_thread = a[10] * 2;
  out[18] = local_to_thread + 1;
  weak_value = a[11] + 1;
  aliased_target = a[12] + 1;
  out[19] = aliased * 2;
  out[20] = early * a[13];
  long doubled;
  __asm__("leaq (%1,%1), %0" : "=r"(doubled) : "r"(l[0]));
  out[21] = doubled * 2.0;
  out[22] = __builtin_powi(a[14], argc + 1);
  iout[9] = one > 5 ? k[9] : k[10] + 1;
  struct big *grown = malloc(sizeof *grown);
  *grown = s;
  grown = realloc(grown, 100 * sizeof *grown);
  out[23] = grown->v[1] * 2;
  out[24] = with_environment(a[15], a[16]);
  free(grown);
  printf("%g %g %d %d %g %g %g\n", out[0], out[2], iout[1], iout[3], out[6], out[15], out[23]);
  printf("%d %d %g %g %d %d\n", (int)wout, (int)counter, (double)lout, (double)hout[0], iout[5], (int)swapped);
  return 0;
}
