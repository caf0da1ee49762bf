/* Right-looking elimination in place with partial pivoting; rows are swapped through pointers. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 300;
    double **a = malloc(n * sizeof *a);
    for (int i = 0; i < n; i++) {
        a[i] = malloc(n * sizeof **a);
        for (int j = 0; j < n; j++)
            a[i][j] = (i * 31 + j * 17) % 23 + (i == j ? 5.0 : 0.0);
    }
    for (int k = 0; k < n; k++) {
        int pivot = k;
        for (int i = k + 1; i < n; i++)
            if (fabs(a[i][k]) > fabs(a[pivot][k]))
                pivot = i;
        double *row = a[k];
        a[k] = a[pivot];
        a[pivot] = row;
        for (int i = k + 1; i < n; i++) {
            double factor = a[i][k] /= a[k][k];
            for (int j = k + 1; j < n; j++)
                a[i][j] -= factor * a[k][j];
        }
    }
    printf("%.10e\n", a[n - 1][n - 1]);
    return 0;
}
