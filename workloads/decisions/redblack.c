/* Successive over-relaxation in two colours until no point changes by more than 1e-4.
 *
 * q x q blocks: in each sweep every point of a border is sent once, when its colour is done: 4 N (q - 1)
 * words; the greatest change of each colour and its way back 4 (p - 1). */
#include <stdio.h>
#include <math.h>
#define N 16
#define MAX(a, b) ((a) > (b) ? (a) : (b))

double u[N + 2][N + 2];

static double half_sweep(int colour)
{
    double most = 0.0;
    for (int i = 1; i <= N; i++)
        for (int j = 1 + (i + colour) % 2; j <= N; j += 2) {
            double gs = 0.25 * (u[i - 1][j] + u[i + 1][j] + u[i][j - 1] + u[i][j + 1]);
            double d = 1.5 * (gs - u[i][j]);
            u[i][j] += d;
            most = MAX(most, fabs(d));
        }
    return most;
}

int solve(void)
{
    int sweeps = 0;
    double most;
    do {
        double red = half_sweep(0), black = half_sweep(1);
        most = MAX(red, black);
        sweeps++;
    } while (most > 1e-4);
    return sweeps;
}

int main(void)
{
    for (int i = 0; i < N + 2; i++)
        u[i][0] = 1.0;
    int sweeps = solve();
    printf("steps %d u %.6e\n", sweeps, u[N / 2][N / 2]);
    return 0;
}
