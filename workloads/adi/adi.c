/*
 * Heat conduction by the alternating direction implicit method (Peaceman and Rachford).
 *
 *     adi [N [STEPS]]        default: 32 5
 *
 * N x N interior points, zero boundary, heat capacity c(i,j). A time step is two half steps, each implicit in
 * one direction and explicit in the other:
 *
 *     (c - R Dx) half = (c + R Dy) u,     (c - R Dy) u = (c + R Dx) half
 *
 * with second differences Dx, Dy. Each line is one tridiagonal system, solved by elimination in two
 * workspaces that are used for every line again.
 */
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define R 0.8 /* time step / (2 dx^2) */
#define PI 3.14159265358979323846

/*
 * Solve one line of n points: from, to and capacity point to its first point, along is the distance to the
 * next point of the line, across the one to the next line.
 */
static void solve_line(int n, int along, int across, const double *capacity, const double *from, double *to,
                       double *cp, double *dp)
{
    for (int k = 0; k < n; k++) {
        const double *u = &from[k * along];
        double c = capacity[k * along];
        double right = c * u[0] + R * (u[-across] - 2.0 * u[0] + u[across]);
        if (k == 0) {
            cp[k] = R / (c + 2.0 * R);
            dp[k] = right / (c + 2.0 * R);
        } else {
            double pivot = c + 2.0 * R - R * cp[k - 1];
            cp[k] = R / pivot;
            dp[k] = (right + R * dp[k - 1]) / pivot;
        }
    }
    to[(n - 1) * along] = dp[n - 1];
    for (int k = n - 2; k >= 0; k--)
        to[k * along] = dp[k] + cp[k] * to[(k + 1) * along];
}

/* Half step implicit along the rows. */
void sweep_rows(int n, const double *capacity, const double *u, double *half, double *cp, double *dp)
{
    int w = n + 2;
    for (int i = 1; i <= n; i++)
        solve_line(n, 1, w, &capacity[i * w + 1], &u[i * w + 1], &half[i * w + 1], cp, dp);
}

/* Half step implicit along the columns. */
void sweep_columns(int n, const double *capacity, const double *half, double *u, double *cp, double *dp)
{
    int w = n + 2;
    for (int j = 1; j <= n; j++)
        solve_line(n, w, 1, &capacity[w + j], &half[w + j], &u[w + j], cp, dp);
}

/* The main loop. */
void adi_solve(int n, int steps, const double *capacity, double *u, double *half, double *cp, double *dp)
{
    for (int step = 0; step < steps; step++) {
        sweep_rows(n, capacity, u, half, cp, dp);
        sweep_columns(n, capacity, half, u, cp, dp);
    }
}

/* Scrambles an index into 32 well mixed bits. */
static uint32_t scramble(uint32_t x)
{
    x = (x ^ (x >> 16)) * 0x7feb352du;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    return x ^ (x >> 16);
}

static void initialise(int n, double *capacity, double *u, double *half)
{
    int w = n + 2;
    double h = PI / (n + 1);
    for (int i = 0; i < w; i++)
        for (int j = 0; j < w; j++) {
            int on_boundary = i == 0 || j == 0 || i == n + 1 || j == n + 1;
            capacity[i * w + j] = 1.0 + scramble((uint32_t)(i * w + j)) / 4294967296.0;
            u[i * w + j] = on_boundary ? 0.0 : sin(h * i) * sin(h * j);
            half[i * w + j] = 0.0;
        }
}

static int argument(const char *name, const char *text, int low, int high)
{
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno || end == text || *end || value < low || value > high) {
        fprintf(stderr, "adi: %s must be an integer from %d to %d, found '%s'\n", name, low, high, text);
        exit(2);
    }
    return (int)value;
}

static double *allocate(size_t count)
{
    double *memory = malloc(count * sizeof(double));
    if (!memory) {
        fprintf(stderr, "adi: not enough memory for %zu numbers\n", count);
        exit(1);
    }
    return memory;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? argument("N", argv[1], 1, 20000) : 32;
    int steps = argc > 2 ? argument("STEPS", argv[2], 0, 1000000) : 5;
    if (argc > 3) {
        fprintf(stderr, "usage: adi [N [STEPS]]\n");
        return 2;
    }

    int w = n + 2;
    double *capacity = allocate((size_t)w * (size_t)w);
    double *u = allocate((size_t)w * (size_t)w);
    double *half = allocate((size_t)w * (size_t)w);
    double *cp = allocate((size_t)n);
    double *dp = allocate((size_t)n);
    initialise(n, capacity, u, half);

    adi_solve(n, steps, capacity, u, half, cp, dp);

    double sum = 0.0;
    for (int i = 1; i <= n; i++)
        for (int j = 1; j <= n; j++)
            sum += u[i * w + j];
    printf("adi n %d steps %d\n", n, steps);
    printf("sum %.10e\n", sum);
    printf("centre %.10e\n", u[(n + 1) / 2 * w + (n + 1) / 2]);
    free(capacity);
    free(u);
    free(half);
    free(cp);
    free(dp);
    return 0;
}
