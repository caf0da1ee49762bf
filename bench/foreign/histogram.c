/* Counts bytes of random data, in pieces with a histogram each, then equalises the data by the counts. */
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 1000000, rounds = argc > 2 ? atoi(argv[2]) : 20, pieces = 16;
    unsigned char *data = malloc(n);
    int(*counts)[256] = malloc(pieces * sizeof *counts), map[256], total[256];
    unsigned state = 11;
    for (int i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        data[i] = (unsigned char)((state >> 24) & (state >> 16));
    }
    for (int r = 0; r < rounds; r++) {
        for (int p = 0; p < pieces; p++) {
            for (int k = 0; k < 256; k++)
                counts[p][k] = 0;
            for (int i = (int)((long)n * p / pieces); i < (long)n * (p + 1) / pieces; i++)
                counts[p][data[i]]++;
        }
        for (int k = 0, sum = 0; k < 256; k++) {
            total[k] = 0;
            for (int p = 0; p < pieces; p++)
                total[k] += counts[p][k];
            sum += total[k];
            map[k] = (int)(255L * sum / n);
        }
        for (int i = 0; i < n; i++)
            data[i] = (unsigned char)map[data[i]];
    }
    printf("%d %d\n", total[0], data[n / 2]);
    return 0;
}
