/* A reaction-diffusion equation by Heun's method with a step size that the estimated error sets.
 *
 * A step whose error is too large is tried again with a smaller one. Blocks of points, per trial: the
 * predicted values on both sides of p - 1 cuts, 2 (p - 1) words; the greatest error and its way back,
 * 2 (p - 1). The values at the start of a step are sent once, however often it is tried: 2 (p - 1). */
#include <math.h>
#include <stdio.h>
#define N 64
typedef double Field[N + 2];
static Field u, k1, k2, guess;

static void rate(const Field y, Field dydt)
{
    for (int i = 1; i <= N; i++)
        dydt[i] = 40.0 * (y[i - 1] - 2 * y[i] + y[i + 1]) + 30.0 * y[i] * (1 - y[i]);
}

int solve(double end, double tol, int *trials)
{
    int accepted = 0;
    double t = 0, dt = 1e-2;
    *trials = 0;
    while (t < end) {
        double error = 0;
        rate(u, k1);
        for (int i = 1; i <= N; i++)
            guess[i] = u[i] + dt * k1[i];
        rate(guess, k2);
        for (int i = 1; i <= N; i++)
            error = fmax(error, fabs(0.5 * dt * (k2[i] - k1[i])));
        if (error <= tol) {
            for (int i = 1; i <= N; i++)
                u[i] += 0.5 * dt * (k1[i] + k2[i]);
            t += dt;
            accepted++;
        }
        dt *= fmin(2.0, 0.9 * sqrt(tol / (error + 1e-30)));
        ++*trials;
    }
    return accepted;
}

int main(void)
{
    for (int i = 1; i <= N; i++)
        u[i] = i < N / 3 ? 1.0 : 0.0;
    u[0] = 1.0;
    int trials, steps = solve(0.05, 2e-2, &trials);
    printf("steps %d trials %d u %.6e\n", steps, trials, u[N / 2]);
}
