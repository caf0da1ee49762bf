/*
 * pagerank with the vertices divided in blocks of consecutive numbers.
 *
 *     mpiexec -n 4 pagerank_mpi [N [smallworld|kronecker [DEGREE [ITER]]]]
 *
 * In each iteration the ranks of the dangling vertices are summed over all processes, and what a vertex passes
 * on is sent once to each other process that has an edge from it.
 */
#include "../../common/gather.h"
#include <math.h>
#include <stdint.h>
#include <string.h>

static const double damping = 0.85;

typedef struct {
    int from, to;
} Edge;

/* Edges to my vertices; sources are local numbers of the gather plan. */
typedef struct {
    int vertices;
    int *row_start;
    int *source;
    int *out_degree;
} Graph;

static void pagerank(const GatherPlan *plan, const Graph *graph, int n, int iterations, double *rank, double *share)
{
    for (int it = 0; it < iterations; it++) {
        double mine = 0.0, dangling;
        for (int v = 0; v < graph->vertices; v++) {
            if (graph->out_degree[v] == 0)
                mine += rank[v];
            share[v] = graph->out_degree[v] > 0 ? rank[v] / graph->out_degree[v] : 0.0;
        }
        MPI_Allreduce(&mine, &dangling, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        gather_ghosts(plan, share);
        double everywhere = (1.0 - damping + damping * dangling) / n;
        for (int v = 0; v < graph->vertices; v++) {
            double sum = 0.0;
            for (int e = graph->row_start[v]; e < graph->row_start[v + 1]; e++)
                sum += share[graph->source[e]];
            rank[v] = everywhere + damping * sum;
        }
    }
}

static uint32_t scramble(uint32_t x)
{
    x = (x ^ (x >> 16)) * 0x7feb352du;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    return x ^ (x >> 16);
}

static Edge small_world_edge(int n, int degree, int number)
{
    int from = number / degree, k = number % degree;
    int distance = k < degree / 2 ? k - degree / 2 : k - degree / 2 + 1;
    uint32_t random = scramble(2u * (uint32_t)number + 1u);
    Edge edge = {from, ((from + distance) % n + n) % n};
    if (random % 10u == 0u)
        edge.to = (int)(scramble(random) % (uint32_t)n);
    return edge;
}

static Edge kronecker_edge(int n, int number)
{
    Edge edge = {0, 0};
    uint32_t random = scramble((uint32_t)number + 1u);
    for (int bit = 1; bit < n; bit *= 2) {
        random = scramble(random + 0x9e3779b9u);
        uint32_t percent = random % 100u;
        edge.from += percent >= 76u ? bit : 0;
        edge.to += (percent >= 57u && percent < 76u) || percent >= 95u ? bit : 0;
    }
    return edge;
}

/* Every process makes all edges and keeps those to its own vertices. */
static Graph my_graph(int n, int kronecker, int degree, GatherPlan *plan)
{
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int first = block_begin(n, size, rank), mine = block_begin(n, size, rank + 1) - first, edges = n * degree;
    int *owner = allocate((size_t)n, sizeof(int));
    char *read = allocate((size_t)n, 1);
    Edge *edge = allocate((size_t)edges, sizeof(Edge));
    Graph graph = {mine, allocate((size_t)mine + 1, sizeof(int)), NULL, allocate((size_t)mine, sizeof(int))};
    for (int v = 0; v < n; v++)
        owner[v] = block_of(n, size, v);
    for (int number = 0; number < edges; number++) {
        edge[number] = kronecker ? kronecker_edge(n, number) : small_world_edge(n, degree, number);
        if (owner[edge[number].from] == rank)
            graph.out_degree[edge[number].from - first]++;
        if (owner[edge[number].to] == rank) {
            graph.row_start[edge[number].to - first + 1]++;
            read[edge[number].from] = 1;
        }
    }
    for (int v = 0; v < mine; v++)
        graph.row_start[v + 1] += graph.row_start[v];
    *plan = plan_gather(n, owner, read);
    graph.source = allocate((size_t)graph.row_start[mine], sizeof(int));
    int *next = allocate((size_t)mine, sizeof(int));
    for (int number = 0; number < edges; number++)
        if (owner[edge[number].to] == rank) {
            int row = edge[number].to - first;
            graph.source[graph.row_start[row] + next[row]++] = plan->local_of[edge[number].from];
        }
    free(owner);
    free(read);
    free(edge);
    free(next);
    return graph;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Pcontrol(0); /* only the main loop is measured */
    int me, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int n = argc > 1 ? argument("N", argv[1], 2, 1 << 22) : 1024;
    const char *kind = argc > 2 ? argv[2] : "smallworld";
    int degree = argc > 3 ? argument("DEGREE", argv[3], 1, 256) : 8;
    int iterations = argc > 4 ? argument("ITER", argv[4], 0, 1000000) : 10;
    int kronecker = strcmp(kind, "kronecker") == 0;
    if (argc > 5 || (!kronecker && strcmp(kind, "smallworld") != 0))
        fail("usage: pagerank_mpi [N [smallworld|kronecker [DEGREE [ITER]]]]");
    if ((kronecker && (n & (n - 1)) != 0) || n < size)
        fail("pagerank: N must be a power of two for kronecker and not less than the processes");

    GatherPlan plan;
    Graph graph = my_graph(n, kronecker, degree, &plan);
    double *rank = allocate((size_t)graph.vertices, sizeof(double));
    double *share = allocate((size_t)(graph.vertices + plan.ghosts), sizeof(double));
    for (int v = 0; v < graph.vertices; v++)
        rank[v] = 1.0 / n;

    MPI_Pcontrol(1);
    pagerank(&plan, &graph, n, iterations, rank, share);
    MPI_Pcontrol(0);

    double sum = 0.0, squares = 0.0;
    for (int v = 0; v < graph.vertices; v++) {
        sum += rank[v];
        squares += rank[v] * rank[v];
    }
    sum = total(sum);
    squares = total(squares);
    double last = total(me == size - 1 ? rank[graph.vertices - 1] : 0.0);
    if (me == 0)
        printf("pagerank n %d graph %s edges %d iterations %d\nsum %.10e\nnorm %.10e\nfirst %.10e last %.10e\n", n,
               kind, n * degree, iterations, sum, sqrt(squares), rank[0], last);
    free(graph.row_start);
    free(graph.source);
    free(graph.out_degree);
    free(rank);
    free(share);
    free_plan(&plan);
    MPI_Finalize();
    return 0;
}
