/* Local alignment of random sequences with a first one; the whole table is kept. */
#include <stdio.h>
#include <stdlib.h>

static int most(int a, int b) { return a > b ? a : b; }

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 2000, pairs = argc > 2 ? atoi(argv[2]) : 1, best = 0;
    char *a = malloc(n + 1), *b = malloc(n + 1);
    unsigned state = 1;
    for (int i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        a[i] = "ACGT"[state >> 30];
    }
    int **h = malloc((n + 1) * sizeof *h);
    for (int i = 0; i <= n; i++)
        h[i] = calloc(n + 1, sizeof **h);
    for (int p = 0; p < pairs; p++) {
        for (int i = 0; i < n; i++) {
            state = state * 1664525u + 1013904223u;
            b[i] = "ACGT"[state >> 30];
        }
        for (int i = 1; i <= n; i++)
            for (int j = 1; j <= n; j++) {
                int score = most(0, h[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 2 : -1));
                score = most(score, most(h[i - 1][j], h[i][j - 1]) - 1);
                h[i][j] = score;
                best = most(best, score);
            }
    }
    printf("%d\n", best);
    return 0;
}
