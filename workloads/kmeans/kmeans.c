/*
 * K-means clustering (Lloyd's algorithm) with a fixed number of iterations.
 *
 *     kmeans [N [M [K [ITER]]]]       default: 2000 8 5 5
 *
 * N objects with M features each are divided into K clusters. An iteration assigns every object to its
 * nearest centroid and then makes each centroid the mean of its members: the sums are accumulated in the
 * centroid itself and divided by the member count at the end. A cluster without members stays at the
 * origin. Each feature is a pseudo-random number in [0, 1) computed from its index; the first centroids
 * are objects.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static double squared_distance(int m, const double *a, const double *b)
{
    double sum = 0.0;
    for (int f = 0; f < m; f++) {
        double difference = a[f] - b[f];
        sum += difference * difference;
    }
    return sum;
}

void assign_objects(int n, int m, int k, const double *object, const double *centroid, int *member_of)
{
    for (int i = 0; i < n; i++) {
        int nearest = 0;
        double best = squared_distance(m, &object[i * m], centroid);
        for (int c = 1; c < k; c++) {
            double distance = squared_distance(m, &object[i * m], &centroid[c * m]);
            if (distance < best) {
                best = distance;
                nearest = c;
            }
        }
        member_of[i] = nearest;
    }
}

void update_centroids(int n, int m, int k, const double *object, const int *member_of, double *centroid,
                      int *count)
{
    for (int c = 0; c < k; c++) {
        count[c] = 0;
        for (int f = 0; f < m; f++)
            centroid[c * m + f] = 0.0;
    }
    for (int i = 0; i < n; i++) {
        int c = member_of[i];
        count[c] += 1;
        for (int f = 0; f < m; f++)
            centroid[c * m + f] += object[i * m + f];
    }
    for (int c = 0; c < k; c++)
        if (count[c] > 0)
            for (int f = 0; f < m; f++)
                centroid[c * m + f] /= count[c];
}

/* The main loop. */
void kmeans(int n, int m, int k, int iterations, const double *object, double *centroid, int *member_of,
            int *count)
{
    for (int it = 0; it < iterations; it++) {
        assign_objects(n, m, k, object, centroid, member_of);
        update_centroids(n, m, k, object, member_of, centroid, count);
    }
}

/* Scrambles an index into 32 well mixed bits, so that every feature has its own pseudo-random number. */
static uint32_t scramble(uint32_t x)
{
    x = (x ^ (x >> 16)) * 0x7feb352du;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    return x ^ (x >> 16);
}

static void initialise(int n, int m, int k, double *object, double *centroid, int *member_of, int *count)
{
    for (int i = 0; i < n * m; i++)
        object[i] = scramble((uint32_t)i + 1u) / 4294967296.0;
    for (int i = 0; i < n; i++)
        member_of[i] = 0;
    for (int c = 0; c < k; c++) {
        int chosen = c * (n / k);
        for (int f = 0; f < m; f++)
            centroid[c * m + f] = object[chosen * m + f];
        count[c] = 0;
    }
}

static int argument(const char *name, const char *text, int low, int high)
{
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno || end == text || *end || value < low || value > high) {
        fprintf(stderr, "kmeans: %s must be an integer from %d to %d, found '%s'\n", name, low, high,
                text);
        exit(2);
    }
    return (int)value;
}

static void *allocate(size_t count, size_t size)
{
    void *memory = malloc(count * size);
    if (!memory) {
        fprintf(stderr, "kmeans: not enough memory for %zu elements\n", count);
        exit(1);
    }
    return memory;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? argument("N", argv[1], 1, 20000000) : 2000;
    int m = argc > 2 ? argument("M", argv[2], 1, 100) : 8;
    int k = argc > 3 ? argument("K", argv[3], 1, n) : (n < 5 ? n : 5);
    int iterations = argc > 4 ? argument("ITER", argv[4], 0, 1000000) : 5;
    if (argc > 5) {
        fprintf(stderr, "usage: kmeans [N [M [K [ITER]]]]\n");
        return 2;
    }

    double *object = allocate((size_t)n * (size_t)m, sizeof(double));
    double *centroid = allocate((size_t)k * (size_t)m, sizeof(double));
    int *member_of = allocate((size_t)n, sizeof(int));
    int *count = allocate((size_t)k, sizeof(int));
    initialise(n, m, k, object, centroid, member_of, count);

    kmeans(n, m, k, iterations, object, centroid, member_of, count);

    unsigned long long labels = 0;
    double inertia = 0.0;
    for (int i = 0; i < n; i++) {
        labels += (unsigned long long)(i + 1) * (unsigned long long)(member_of[i] + 1);
        inertia += squared_distance(m, &object[i * m], &centroid[member_of[i] * m]);
    }
    printf("kmeans n %d m %d k %d iterations %d\n", n, m, k, iterations);
    printf("labels %llu\n", labels);
    printf("inertia %.10e\n", inertia);
    for (int c = 0; c < k && c < 8; c++)
        printf("cluster %d members %d first feature %.10e\n", c, count[c], centroid[c * m]);
    free(object);
    free(centroid);
    free(member_of);
    free(count);
    return 0;
}
