"""Programs that compute with numbers of type NUMBER: the same in integers and in floating point."""

MAIN = """
int main(int argc, char **argv) {
    int n = atoi(argv[1]), m = atoi(argv[2]);
    NUMBER *a = calloc((size_t)SIZE, sizeof *a), *b = calloc((size_t)SIZE, sizeof *b);
    for (int i = 0; i < SIZE; i++) a[i] = (NUMBER)(i * 7 % 11);
    kernel(n, m, a, b);
    NUMBER sum = 0;
    for (int i = 0; i < SIZE; i++) sum += a[i] + b[i];
    printf("%g\\n", (double)sum);
}
"""
# Every kernel has one operation or more for each value it makes, in arrays of n elements or n * n.
KERNELS = {
    "stencil": """
static void kernel(int n, int m, NUMBER *a, NUMBER *b) {
    for (int t = 0; t < m; t++) {
        for (int i = 1; i < n - 1; i++) b[i] = a[i - 1] + a[i] + a[i + 1];
        for (int i = 1; i < n - 1; i++) a[i] = b[i] * 3;
    }
}""",
    "edit distance": """
static NUMBER least(NUMBER x, NUMBER y) { return x < y ? x : y; }
static void kernel(int n, int m, NUMBER *a, NUMBER *b) {
    for (int i = 1; i < n; i++)
        for (int j = 1; j < n; j++)
            b[i * n + j] = least(least(b[(i - 1) * n + j], b[i * n + j - 1]) + 1,
                                 b[(i - 1) * n + j - 1] + a[i * n + j]);
}""",
    "shortest paths": """
static void kernel(int n, int m, NUMBER *a, NUMBER *b) {
    for (int k = 0; k < n; k++)
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) {
                NUMBER t = a[i * n + k] + a[k * n + j];
                a[i * n + j] = a[i * n + j] < t ? a[i * n + j] : t;
            }
}""",
    "counting sort": """
static void kernel(int n, int m, NUMBER *a, NUMBER *b) {
    for (int i = 0; i < n; i++) b[(int)a[i]] += a[i] + 1;
    for (int k = 1; k < 11; k++) b[k] += b[k - 1];
}""",
    "search": """
static void reach(int n, int w, NUMBER from, NUMBER *b) {
    if (w >= 0 && w < n && b[w] < 0) b[w] = from + 1;
}
static void kernel(int n, int m, NUMBER *a, NUMBER *b) {
    for (int i = 1; i < n; i++) b[i] = -1;
    for (int level = 0; level < 2 * m; level++) /* breadth first in a grid of m columns */
        for (int v = 0; v < n; v++)
            if (b[v] == level) {
                reach(n, v - m, b[v], b);
                reach(n, v % m ? v - 1 : -1, b[v], b);
                reach(n, (v + 1) % m ? v + 1 : -1, b[v], b);
                reach(n, v + m, b[v], b);
            }
}""",
}


def source_of(name: str, number: str) -> str:
    """The whole program, computing with numbers of type ``number``."""
    size = "n * n" if name in ("edit distance", "shortest paths") else "n"
    return f"#define NUMBER {number}\n#define SIZE ({size}){KERNELS[name]}\n{MAIN}"
