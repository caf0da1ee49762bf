/* Bilinear elements on a square are assembled into a sparse matrix by rows: places are found by bisection. */
#include <stdio.h>
#include <stdlib.h>

static int place(const int *start, const int *column, int row, int wanted) {
    int low = start[row], high = start[row + 1] - 1;
    while (low < high) {
        int middle = (low + high) / 2;
        if (column[middle] < wanted) low = middle + 1;
        else high = middle;
    }
    return low;
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 100, rounds = argc > 2 ? atoi(argv[2]) : 20, m = n + 1, filled = 0;
    int *start = malloc(sizeof *start * (m * m + 1)), *column = malloc(sizeof *column * 9 * m * m);
    int(*corner)[4] = malloc(sizeof *corner * n * n);
    double *value = malloc(sizeof *value * 9 * m * m), *material = malloc(sizeof *material * n * n), trace = 0;
    for (int p = 0; p < m * m; p++) {
        start[p] = filled;
        for (int j = p / m - 1; j <= p / m + 1; j++)
            for (int i = p % m - 1; i <= p % m + 1; i++)
                if (i >= 0 && j >= 0 && i < m && j < m) column[filled++] = j * m + i;
    }
    start[m * m] = filled;
    for (int e = 0; e < n * n; e++) {
        int p = e / n * m + e % n, around[4] = {p, p + 1, p + m + 1, p + m};
        for (int k = 0; k < 4; k++) corner[e][k] = around[k];
        material[e] = 1.0 + 0.1 * (e % 7);
    }
    for (int r = 0; r < rounds; r++) {
        for (int k = 0; k < filled; k++) value[k] = 0;
        for (int e = 0; e < n * n; e++) {
            double local[4][4];
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 4; j++)
                    local[i][j] = material[e] * (i == j ? 4 : (i ^ j) == 2 ? -2 : -1) / 6.0;
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 4; j++) value[place(start, column, corner[e][i], corner[e][j])] += local[i][j];
        }
        for (int e = 0; e < n * n; e++) material[e] = 0.9 * material[e] + 0.1 * value[start[corner[e][0]]];
    }
    for (int p = 0; p < m * m; p++) trace += value[place(start, column, p, p)];
    printf("%.10e\n", trace);
    return 0;
}
