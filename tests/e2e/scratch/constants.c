/* Terms of constants alone; KIND 0: histories that share iterations, 1: four moments in registers,
   2: independent integrals one after the other, 3: a time beside an array that is computed. */
enum { K = 20, N = 64 };
double tally[K], moment[4], integral[N], u[N], now;

__attribute__((noinline)) void run(int n) {
#if KIND == 0
  for (int i = 0; i < n; i++) {
    double x = (i + 0.5) / n, w = 1;
    for (int c = 0; c < 40; c++) w = w * 0.9 + 0.1 / (1 + x * w);
    for (int k = 0; k < K; k++, w *= x) tally[k] += w;
  }
#elif KIND == 1
  for (int i = 0; i < n; i++) {
    double x = (i + 0.5) / n, w = 4 / (1 + x * x);
    moment[0] += w, moment[1] += w * x, moment[2] += w * x * x, moment[3] += w * x * x * x;
  }
#elif KIND == 2
  for (int k = 0; k < N; k++)
    for (int i = 0; i < n; i++) integral[k] += 1 / (1 + (i + 0.5) / n * (k + 1));
#else
  for (int t = 0; t < 20; t++, now += 0.1)
    for (int i = 0; i < N; i++) u[i] = 0.5 * u[i] + now;
#endif
}

int main(void) {
  run(400);
  return tally[1] + moment[2] + integral[3] + u[4] == 0.5;
}
