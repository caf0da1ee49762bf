/* Forward and backward transforms in place: bit reversal, butterflies with a table of factors. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct { double re, im; } complex_t;

static void transform(complex_t *x, const complex_t *w, int n, int sign) {
    for (int i = 1, j = 0; i < n; i++) {
        int bit = n >> 1;
        for (; j & bit; bit >>= 1)
            j ^= bit;
        j ^= bit;
        if (i < j) {
            complex_t t = x[i];
            x[i] = x[j];
            x[j] = t;
        }
    }
    for (int len = 2; len <= n; len <<= 1)
        for (int i = 0; i < n; i += len)
            for (int k = 0; k < len / 2; k++) {
                complex_t f = w[n / len * k], u = x[i + k], v = x[i + k + len / 2], p;
                f.im *= sign;
                p.re = f.re * v.re - f.im * v.im;
                p.im = f.re * v.im + f.im * v.re;
                x[i + k].re = u.re + p.re;
                x[i + k].im = u.im + p.im;
                x[i + k + len / 2].re = u.re - p.re;
                x[i + k + len / 2].im = u.im - p.im;
            }
}

int main(int argc, char **argv) {
    int bits = argc > 1 ? atoi(argv[1]) : 14, rounds = argc > 2 ? atoi(argv[2]) : 10, n = 1 << bits;
    complex_t *x = malloc(n * sizeof *x), *w = malloc(n / 2 * sizeof *w);
    for (int i = 0; i < n / 2; i++) {
        w[i].re = cos(2 * M_PI * i / n);
        w[i].im = sin(2 * M_PI * i / n);
    }
    for (int i = 0; i < n; i++) {
        x[i].re = i % 17;
        x[i].im = 0;
    }
    for (int r = 0; r < rounds; r++) {
        transform(x, w, n, -1);
        transform(x, w, n, 1);
        for (int i = 0; i < n; i++) {
            x[i].re /= n;
            x[i].im /= n;
        }
    }
    printf("%.10e\n", x[n / 3].re);
    return 0;
}
