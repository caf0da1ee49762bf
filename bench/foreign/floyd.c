/* All shortest paths of a dense graph of integers. */
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 300;
    int *d = malloc((size_t)n * n * sizeof *d);
    long sum = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            d[i * n + j] = i == j ? 0 : 1 + (i * 7919 + j * 104729) % 997;
    for (int k = 0; k < n; k++)
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                if (d[i * n + k] + d[k * n + j] < d[i * n + j])
                    d[i * n + j] = d[i * n + k] + d[k * n + j];
    for (int i = 0; i < n * n; i++)
        sum += d[i];
    printf("%ld\n", sum);
    return 0;
}
