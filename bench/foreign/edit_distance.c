/* Distance of two random texts with two rows, for several pairs. */
#include <stdio.h>
#include <stdlib.h>

static int least(int a, int b) { return a < b ? a : b; }

static int distance(const char *a, int m, const char *b, int n) {
    int *before = malloc((n + 1) * sizeof *before), *row = malloc((n + 1) * sizeof *row);
    for (int j = 0; j <= n; j++)
        before[j] = j;
    for (int i = 1; i <= m; i++) {
        row[0] = i;
        for (int j = 1; j <= n; j++)
            row[j] = least(least(before[j], row[j - 1]) + 1, before[j - 1] + (a[i - 1] != b[j - 1]));
        int *t = before;
        before = row;
        row = t;
    }
    int result = before[n];
    free(before);
    free(row);
    return result;
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 1000, pairs = argc > 2 ? atoi(argv[2]) : 10, total = 0;
    char *texts = malloc((size_t)(pairs + 1) * n);
    unsigned state = 9;
    for (int i = 0; i < (pairs + 1) * n; i++) {
        state = state * 1664525u + 1013904223u;
        texts[i] = 'a' + (state >> 28);
    }
    for (int p = 0; p < pairs; p++)
        total += distance(texts + (size_t)p * n, n, texts + (size_t)(p + 1) * n, n);
    printf("%d\n", total);
    return 0;
}
