/* Four numbers are made of each of three neighbours in turn: a cell beside a border needs one word per step. */
enum { N = 512 };
static double a[N + 2], b[N + 2];

__attribute__((noinline)) void run(double *from, double *to, int numbers) {
  for (int step = 0; step < 10; step++) {
    for (int i = 1; i <= N; i++) {
      double s = 0.1;
      for (int d = -1; d <= 1; d++) {
        double x[4] = {from[i + d] * 1.5, from[i + d] * from[i + d], 0, from[i + d] - 0.5};
        x[2] = 1 / (1 + x[1]);
        for (int k = 0; k < numbers; k++) s = x[k] / (1 + s * s);
      }
      to[i] = 0.001 * s;
    }
    double *other = from;
    from = to;
    to = other;
  }
}

int main(int count, char **words) {
  (void)words;
  for (int i = 0; i < N + 2; i++) a[i] = i % 7;
  run(a, b, count > 5 ? 3 : 4);
  return a[9] == 0.5;
}
