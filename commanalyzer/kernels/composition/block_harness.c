/* Times calls of one function on fresh data: seconds per call of every sample, after the calls per sample.
 *
 * Arguments: output file, size, samples, seed, most bytes of data per sample, most calls per sample.
 * BLOCK and ELEMENT are set by the compiler's command line. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void BLOCK(ELEMENT *data, size_t n);

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static uint64_t state;

static uint32_t next_random(void) { /* xorshift64*, Vigna 2016 */
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return (uint32_t)((state * 0x2545F4914F6CDD1Du) >> 33);
}

static double sampled(ELEMENT *data, size_t n, size_t calls) {
    for (size_t i = 0; i < n * calls; i++) data[i] = (ELEMENT)next_random();
    double start = now();
    for (size_t c = 0; c < calls; c++) BLOCK(data + c * n, n);
    return (now() - start) / (double)calls;
}

/* The smallest step of the clock that was seen. */
static double resolution(void) {
    double least = 1.0;
    for (int i = 0; i < 1000; i++) {
        double start = now(), end = now();
        while (end == start) end = now();
        if (end - start < least) least = end - start;
    }
    return least;
}

int main(int argc, char **argv) {
    if (argc != 7) return 2;
    size_t n = strtoull(argv[2], NULL, 10), samples = strtoull(argv[3], NULL, 10);
    state = 0x9E3779B97F4A7C15u ^ strtoull(argv[4], NULL, 10);
    size_t most = strtoull(argv[5], NULL, 10) / (n * sizeof(ELEMENT));
    size_t limit = strtoull(argv[6], NULL, 10);
    if (most < 1) most = 1;
    if (most > limit) most = limit;
    ELEMENT *data = malloc(most * n * sizeof(ELEMENT));
    double *seconds = malloc((samples + 1) * sizeof(double));
    if (!data || !seconds) {
        fprintf(stderr, "no memory for %zu elements\n", n);
        return 1;
    }
    size_t calls = 1;
    double wanted = 100 * resolution();
    while (calls < most && sampled(data, n, calls) * (double)calls < wanted) calls = 2 * calls < most ? 2 * calls : most;
    sampled(data, n, calls); /* code and data are where they will be */
    seconds[0] = (double)calls;
    for (size_t s = 1; s <= samples; s++) seconds[s] = sampled(data, n, calls);
    FILE *output = fopen(argv[1], "wb");
    if (!output || fwrite(seconds, sizeof(double), samples + 1, output) != samples + 1) return 1;
    return fclose(output) ? 1 : 0;
}
