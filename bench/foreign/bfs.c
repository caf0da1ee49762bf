/* Breadth-first searches from several vertices of a random graph in compressed rows. */
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 50000, searches = argc > 2 ? atoi(argv[2]) : 20, degree = 8;
    int *first = malloc((n + 1) * sizeof *first), *target = malloc((size_t)n * degree * sizeof *target);
    int *distance = malloc(n * sizeof *distance), *queue = malloc(n * sizeof *queue);
    long total = 0;
    unsigned state = 7;
    for (int v = 0; v < n; v++) {
        first[v] = v * degree;
        for (int k = 0; k < degree; k++) {
            state = state * 1664525u + 1013904223u;
            target[v * degree + k] = (int)((state >> 8) % (unsigned)n);
        }
    }
    first[n] = n * degree;
    for (int s = 0; s < searches; s++) {
        int head = 0, tail = 0, root = (int)((s * 7919u) % (unsigned)n);
        for (int v = 0; v < n; v++)
            distance[v] = -1;
        distance[root] = 0;
        queue[tail++] = root;
        while (head < tail) {
            int v = queue[head++];
            for (int e = first[v]; e < first[v + 1]; e++) {
                int w = target[e];
                if (distance[w] < 0) {
                    distance[w] = distance[v] + 1;
                    queue[tail++] = w;
                }
            }
        }
        for (int v = 0; v < n; v++)
            total += distance[v];
    }
    printf("%ld\n", total);
    return 0;
}
