/*
 * What the applications of this folder share: reading sizes, refusing bad ones, printing checksums.
 *
 * Buffers hold floats, as those of the published benchmarks do. Each is allocated in `main`, so that it has the
 * name of its variable.
 */
#ifndef TASKS_H
#define TASKS_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* Argument `index`, or `otherwise` if it is missing; the program ends with status 2 if it is no whole number
 * from `low` to `high`. */
static inline int size_argument(int argc, char **argv, int index, int otherwise, int low, int high)
{
    if (index >= argc)
        return otherwise;
    char *end;
    errno = 0;
    long value = strtol(argv[index], &end, 10);
    if (errno || end == argv[index] || *end || value < low || value > high) {
        fprintf(stderr, "%s: argument %d must be a whole number from %d to %d\n", argv[0], index, low, high);
        exit(2);
    }
    return (int)value;
}

/* End the program if an allocation failed. */
static inline void require(int is_there)
{
    if (!is_there) {
        fprintf(stderr, "not enough memory\n");
        exit(1);
    }
}

/* Print the sum of a buffer, so that nothing that leads to it can be left out. */
static inline void print_sum(const char *name, const float *buffer, int count)
{
    double sum = 0.0;
    for (int i = 0; i < count; i++)
        sum += buffer[i];
    printf("%s %.6e\n", name, sum);
}

#endif
