/*
 * kmeans with the objects divided among the processes.
 *
 *     mpiexec -n 4 kmeans_mpi [N [M [K [ITER]]]]
 *
 * Rank 0 owns the centroids. In each iteration it sends them to all, every process adds up its members and
 * their number for each cluster, and the sums go back to rank 0, which divides. The last centroids are not
 * sent (they are after the main loop, for the printed sum of squares).
 */
#include "../../common/blocks.h"
#include <stdint.h>

static double squared_distance(int m, const double *a, const double *b)
{
    double sum = 0.0;
    for (int f = 0; f < m; f++) {
        double difference = a[f] - b[f];
        sum += difference * difference;
    }
    return sum;
}

static void assign_objects(int n, int m, int k, const double *object, const double *centroid, int *member_of)
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

static void add_members(int n, int m, int k, const double *object, const int *member_of, double *sum, int *count)
{
    for (int c = 0; c < k; c++) {
        count[c] = 0;
        for (int f = 0; f < m; f++)
            sum[c * m + f] = 0.0;
    }
    for (int i = 0; i < n; i++) {
        int c = member_of[i];
        count[c] += 1;
        for (int f = 0; f < m; f++)
            sum[c * m + f] += object[i * m + f];
    }
}

static void kmeans(int n, int m, int k, int iterations, const double *object, double *centroid, int *member_of,
                   int *count, double *my_sum, int *my_count)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int it = 0; it < iterations; it++) {
        MPI_Bcast(centroid, k * m, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        assign_objects(n, m, k, object, centroid, member_of);
        add_members(n, m, k, object, member_of, my_sum, my_count);
        MPI_Reduce(my_sum, centroid, k * m, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
        MPI_Reduce(my_count, count, k, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
        for (int c = 0; rank == 0 && c < k; c++)
            if (count[c] > 0)
                for (int f = 0; f < m; f++)
                    centroid[c * m + f] /= count[c];
    }
}

static uint32_t scramble(uint32_t x)
{
    x = (x ^ (x >> 16)) * 0x7feb352du;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    return x ^ (x >> 16);
}

static double feature(int object, int m, int f)
{
    return scramble((uint32_t)(object * m + f) + 1u) / 4294967296.0;
}

static void report(int n, int m, int k, int iterations, int first, int mine, const double *object,
                   double *centroid, const int *member_of, const int *count)
{
    int rank;
    unsigned long long labels = 0, all_labels = 0;
    double inertia = 0.0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Bcast(centroid, k * m, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    for (int i = 0; i < mine; i++) {
        labels += (unsigned long long)(first + i + 1) * (unsigned long long)(member_of[i] + 1);
        inertia += squared_distance(m, &object[i * m], &centroid[member_of[i] * m]);
    }
    MPI_Reduce(&labels, &all_labels, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    inertia = total(inertia);
    if (rank == 0) {
        printf("kmeans n %d m %d k %d iterations %d\n", n, m, k, iterations);
        printf("labels %llu\ninertia %.10e\n", all_labels, inertia);
        for (int c = 0; c < k && c < 8; c++)
            printf("cluster %d members %d first feature %.10e\n", c, count[c], centroid[c * m]);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Pcontrol(0); /* only the main loop is measured */
    int n = argc > 1 ? argument("N", argv[1], 1, 20000000) : 2000;
    int m = argc > 2 ? argument("M", argv[2], 1, 100) : 8;
    int k = argc > 3 ? argument("K", argv[3], 1, n) : (n < 5 ? n : 5);
    int iterations = argc > 4 ? argument("ITER", argv[4], 0, 1000000) : 5;
    if (argc > 5)
        fail("usage: kmeans_mpi [N [M [K [ITER]]]]");
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    int first = block_begin(n, size, rank), mine = block_begin(n, size, rank + 1) - first;
    size_t components = (size_t)k * (size_t)m;
    double *object = allocate((size_t)mine * (size_t)m, sizeof(double));
    double *centroid = allocate(components, sizeof(double)), *my_sum = allocate(components, sizeof(double));
    int *member_of = allocate((size_t)mine, sizeof(int));
    int *count = allocate((size_t)k, sizeof(int)), *my_count = allocate((size_t)k, sizeof(int));
    for (int i = 0; i < mine; i++)
        for (int f = 0; f < m; f++)
            object[i * m + f] = feature(first + i, m, f);
    for (int c = 0; c < k; c++)
        for (int f = 0; f < m; f++)
            centroid[c * m + f] = feature(c * (n / k), m, f);

    MPI_Pcontrol(1);
    kmeans(mine, m, k, iterations, object, centroid, member_of, count, my_sum, my_count);
    MPI_Pcontrol(0);

    report(n, m, k, iterations, first, mine, object, centroid, member_of, count);
    free(object);
    free(centroid);
    free(my_sum);
    free(member_of);
    free(count);
    free(my_count);
    MPI_Finalize();
    return 0;
}
