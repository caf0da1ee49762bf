/* Game of life on a torus, a byte per cell, two boards. */
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 512, steps = argc > 2 ? atoi(argv[2]) : 50, alive = 0;
    char *now = malloc((size_t)n * n), *next = malloc((size_t)n * n);
    unsigned state = 1;
    for (int i = 0; i < n * n; i++) {
        state = state * 1664525u + 1013904223u;
        now[i] = (state >> 28) < 5;
    }
    for (int s = 0; s < steps; s++) {
        for (int i = 0; i < n; i++) {
            const char *up = now + (size_t)((i + n - 1) % n) * n, *row = now + (size_t)i * n;
            const char *down = now + (size_t)((i + 1) % n) * n;
            for (int j = 0; j < n; j++) {
                int w = j ? j - 1 : n - 1, e = j + 1 < n ? j + 1 : 0;
                int sum = up[w] + up[j] + up[e] + row[w] + row[e] + down[w] + down[j] + down[e];
                next[(size_t)i * n + j] = sum == 3 || (sum == 2 && row[j]);
            }
        }
        char *t = now;
        now = next;
        next = t;
    }
    for (int i = 0; i < n * n; i++)
        alive += now[i];
    printf("%d\n", alive);
    return 0;
}
