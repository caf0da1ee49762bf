/* switch with fall through, goto into loops, computed goto, setjmp, function pointers, recursion, signals of state. */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static jmp_buf checkpoint;
static double history[16];

__attribute__((noinline)) static void fail(int code) {
  double local[6];
  for (int i = 0; i < 6; i++)
    local[i] = code + i;
  history[code % 16] += local[5];
  longjmp(checkpoint, code);
}

__attribute__((noinline)) static double nested(int depth, double x) {
  double work[5];
  for (int i = 0; i < 5; i++)
    work[i] = x + i;
  if (depth == 0)
    fail((int)work[4]);
  return work[0] + nested(depth - 1, work[1]);
}

static int classify(int x) {
  int score = 0;
  switch (x % 7) {
  case 0:
    score += 1; /* fall through */
  case 1:
    score += 2;
    break;
  case 3:
    goto odd;
  case 5:
  odd:
    score += 10;
    break;
  default:
    score -= x;
  }
  return score;
}

static int machine(const char *program) {
  static const void *labels[] = {&&add, &&mul, &&stop};
  static int runs; /* static local */
  int value = 1;
  const char *pc = program;
  goto *labels[*pc - '0'];
add:
  value += 3;
  goto *labels[*++pc - '0'];
mul:
  value *= 2;
  goto *labels[*++pc - '0'];
stop:
  return value + ++runs;
}

static double plus(double a, double b) { return a + b; }
static double times(double a, double b) { return a * b; }
typedef double (*operation)(double, double);
static operation const table[] = {plus, times};

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static unsigned ackermann(unsigned m, unsigned n) {
  unsigned memo[4] = {m, n, m + n, 0};
  if (!memo[0])
    return memo[1] + 1;
  return ackermann(m - 1, n ? ackermann(m, n - 1) : 1);
}

int main(void) {
  volatile int rounds = 0;
  int code = setjmp(checkpoint);
  rounds++;
  if (rounds < 5)
    nested(rounds, 0.5 * rounds);
  int score = 0;
  for (int i = 0; i < 30; i++)
    score += classify(i);
  double x = 1;
  for (int i = 0; i < 9; i++)
    x = table[i % 3 == 0](x, 1.5 + i);
  double sorted[12];
  for (int i = 0; i < 12; i++)
    sorted[i] = (i * 7) % 12;
  qsort(sorted, 12, sizeof *sorted, compare);
  double key = 5, *hit = bsearch(&key, sorted, 12, sizeof *sorted, compare);
  int i = 0;
again:
  if (i < 4) {
    history[i] = history[i] * 0.5 + i;
    i++;
    goto again;
  }
  printf("%d %d %d %.17g %ld\n", code, rounds, score, x, (long)(hit - sorted));
  printf("%d %d %u\n", machine("001012"), machine("112"), ackermann(2, 3));
  for (int k = 0; k < 16; k++)
    printf("%g ", history[k]);
  putchar('\n');
  return score & 31;
}
