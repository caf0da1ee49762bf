/* Quicksort with insertion sort below 16 elements, then heapsort of the shuffled result. */
#include <stdio.h>
#include <stdlib.h>

static void quick(double *a, long low, long high) {
    while (high - low > 16) {
        double pivot = a[(low + high) / 2];
        long i = low, j = high;
        while (i <= j) {
            while (a[i] < pivot) i++;
            while (a[j] > pivot) j--;
            if (i <= j) {
                double t = a[i];
                a[i++] = a[j];
                a[j--] = t;
            }
        }
        quick(a, low, j);
        low = i;
    }
    for (long i = low + 1; i <= high; i++) {
        double t = a[i];
        long j = i;
        for (; j > low && a[j - 1] > t; j--)
            a[j] = a[j - 1];
        a[j] = t;
    }
}

static void sift(double *a, long root, long n) {
    double t = a[root];
    for (long child; (child = 2 * root + 1) < n; root = child) {
        if (child + 1 < n && a[child + 1] > a[child]) child++;
        if (a[child] <= t) break;
        a[root] = a[child];
    }
    a[root] = t;
}

int main(int argc, char **argv) {
    long n = argc > 1 ? atol(argv[1]) : 300000;
    double *a = malloc(n * sizeof *a);
    unsigned long state = 12345;
    for (long i = 0; i < n; i++) {
        state = state * 6364136223846793005ul + 1442695040888963407ul;
        a[i] = (double)(state >> 11) / (1ul << 53);
    }
    quick(a, 0, n - 1);
    for (long i = 0; i < n / 2; i++) {
        long k = (i * 7919) % n;
        double t = a[i];
        a[i] = a[k];
        a[k] = t;
    }
    for (long i = n / 2 - 1; i >= 0; i--)
        sift(a, i, n);
    for (long m = n - 1; m > 0; m--) {
        double t = a[0];
        a[0] = a[m];
        a[m] = t;
        sift(a, 0, m);
    }
    printf("%.10e\n", a[n / 3]);
    return 0;
}
