/* Joins two tables: builds an open-addressing hash table of the first, probes it with the second, adds up. */
#include <stdio.h>
#include <stdlib.h>

typedef struct { unsigned key; double value; } entry_t;

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 200000, probes = argc > 2 ? atoi(argv[2]) : 10;
    unsigned size = 1, state = 1;
    while (size < 2u * n)
        size *= 2;
    entry_t *table = calloc(size, sizeof *table), *left = malloc(n * sizeof *left), *right = malloc(n * sizeof *right);
    double *out = calloc(n, sizeof *out);
    for (int i = 0; i < n; i++) {
        left[i].key = 1 + (unsigned)((i * 2654435761ul) % (4ul * n));
        left[i].value = 0.5 * i;
        state = state * 1664525u + 1013904223u;
        right[i].key = 1 + state % (4u * n);
        right[i].value = 2.0 * i;
    }
    for (int i = 0; i < n; i++) {
        unsigned slot = (left[i].key * 2654435769u) & (size - 1);
        while (table[slot].key && table[slot].key != left[i].key)
            slot = (slot + 1) & (size - 1);
        table[slot].key = left[i].key;
        table[slot].value += left[i].value;
    }
    for (int r = 0; r < probes; r++)
        for (int i = 0; i < n; i++) {
            unsigned slot = (right[i].key * 2654435769u) & (size - 1);
            while (table[slot].key && table[slot].key != right[i].key)
                slot = (slot + 1) & (size - 1);
            if (table[slot].key)
                out[i] += right[i].value * table[slot].value;
        }
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += out[i];
    printf("%.10e\n", sum);
    return 0;
}
