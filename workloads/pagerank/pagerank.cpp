/*
 * PageRank by power iteration on a directed graph with irregular neighbourhoods.
 *
 *     pagerank [N [smallworld|kronecker [DEGREE [ITER]]]]       default: 1024 smallworld 8 10
 *
 * smallworld: every vertex has edges to the DEGREE / 2 next vertices on a ring in both directions, of which
 *             one in ten leads to a random vertex instead (Watts and Strogatz);
 * kronecker:  N DEGREE edges; N is a power of two, and each bit pair of an edge's ends is drawn with the
 *             weights 0.57, 0.19, 0.19, 0.05 of Graph500: few vertices have most of the edges, and some have
 *             none that leave ("dangling": their rank is spread over all).
 *
 * Every edge is a function of its number. Multiple edges and loops stay.
 */
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

constexpr double damping = 0.85;

struct Edge {
    int from;
    int to;
};

// Edges by target: row v of the matrix lists the vertices that lead to v.
struct Graph {
    std::vector<int> row_start;
    std::vector<int> source;
    std::vector<int> out_degree;

    int vertices() const { return static_cast<int>(out_degree.size()); }
};

// Rank of the vertices without outgoing edges.
double dangling_rank(const Graph &graph, const std::vector<double> &rank)
{
    double sum = 0.0;
    for (int v = 0; v < graph.vertices(); v++)
        if (graph.out_degree[v] == 0)
            sum += rank[v];
    return sum;
}

// What each vertex passes along each of its edges.
void share_rank(const Graph &graph, const std::vector<double> &rank, std::vector<double> &share)
{
    for (int v = 0; v < graph.vertices(); v++)
        share[v] = graph.out_degree[v] > 0 ? rank[v] / graph.out_degree[v] : 0.0;
}

void collect_rank(const Graph &graph, const std::vector<double> &share, double everywhere,
                  std::vector<double> &rank)
{
    for (int v = 0; v < graph.vertices(); v++) {
        double sum = 0.0;
        for (int e = graph.row_start[v]; e < graph.row_start[v + 1]; e++)
            sum += share[graph.source[e]];
        rank[v] = everywhere + damping * sum;
    }
}

// The main loop.
void pagerank(const Graph &graph, int iterations, std::vector<double> &rank, std::vector<double> &share)
{
    double n = graph.vertices();
    for (int it = 0; it < iterations; it++) {
        double everywhere = (1.0 - damping + damping * dangling_rank(graph, rank)) / n;
        share_rank(graph, rank, share);
        collect_rank(graph, share, everywhere, rank);
    }
}

// Scrambles an index into 32 well mixed bits.
static std::uint32_t scramble(std::uint32_t x)
{
    x = (x ^ (x >> 16)) * 0x7feb352du;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    return x ^ (x >> 16);
}

static Edge small_world_edge(int n, int degree, int number)
{
    int from = number / degree;
    int k = number % degree;
    int distance = k < degree / 2 ? k - degree / 2 : k - degree / 2 + 1;
    auto random = scramble(2u * static_cast<std::uint32_t>(number) + 1u);
    if (random % 10u == 0u)
        return {from, static_cast<int>(scramble(random) % static_cast<std::uint32_t>(n))};
    return {from, ((from + distance) % n + n) % n};
}

static Edge kronecker_edge(int n, int number)
{
    Edge edge = {0, 0};
    auto random = scramble(static_cast<std::uint32_t>(number) + 1u);
    for (int bit = 1; bit < n; bit *= 2) {
        random = scramble(random + 0x9e3779b9u);
        std::uint32_t percent = random % 100u;
        edge.from += percent >= 76u ? bit : 0;
        edge.to += (percent >= 57u && percent < 76u) || percent >= 95u ? bit : 0;
    }
    return edge;
}

static Graph build_graph(int n, bool kronecker, int degree)
{
    std::vector<Edge> edges;
    for (int number = 0; number < n * degree; number++)
        edges.push_back(kronecker ? kronecker_edge(n, number) : small_world_edge(n, degree, number));

    Graph graph = {std::vector<int>(n + 1), std::vector<int>(edges.size()), std::vector<int>(n)};
    for (const Edge &edge : edges) {
        graph.row_start[edge.to + 1]++;
        graph.out_degree[edge.from]++;
    }
    std::partial_sum(graph.row_start.begin(), graph.row_start.end(), graph.row_start.begin());
    std::vector<int> next(graph.row_start.begin(), graph.row_start.end() - 1);
    for (const Edge &edge : edges)
        graph.source[next[edge.to]++] = edge.from;
    return graph;
}

static int argument(const char *name, const char *text, int low, int high)
{
    char *end;
    long value = std::strtol(text, &end, 10);
    if (end == text || *end || value < low || value > high) {
        std::fprintf(stderr, "pagerank: %s must be an integer from %d to %d, found '%s'\n", name, low, high,
                     text);
        std::exit(2);
    }
    return static_cast<int>(value);
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? argument("N", argv[1], 2, 1 << 22) : 1024;
    std::string kind = argc > 2 ? argv[2] : "smallworld";
    int degree = argc > 3 ? argument("DEGREE", argv[3], 1, 256) : 8;
    int iterations = argc > 4 ? argument("ITER", argv[4], 0, 1000000) : 10;
    bool kronecker = kind == "kronecker";
    if (argc > 5 || (!kronecker && kind != "smallworld")) {
        std::fprintf(stderr, "usage: pagerank [N [smallworld|kronecker [DEGREE [ITER]]]]\n");
        return 2;
    }
    if (kronecker && (n & (n - 1)) != 0) {
        std::fprintf(stderr, "pagerank: N must be a power of two for kronecker, found %d\n", n);
        return 2;
    }

    Graph graph = build_graph(n, kronecker, degree);
    std::vector<double> rank(n, 1.0 / n);
    std::vector<double> share(n);

    pagerank(graph, iterations, rank, share);

    double sum = 0.0, squares = 0.0;
    for (double r : rank) {
        sum += r;
        squares += r * r;
    }
    std::printf("pagerank n %d graph %s edges %zu iterations %d\n", n, kind.c_str(), graph.source.size(),
                iterations);
    std::printf("sum %.10e\n", sum);
    std::printf("norm %.10e\n", std::sqrt(squares));
    std::printf("first %.10e last %.10e\n", rank.front(), rank.back());
    return 0;
}
