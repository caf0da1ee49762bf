/* Newton's method for Kepler's equation on each element by itself: who has an element decides about it.
 *
 * Elements in blocks: nothing is sent. */
#include <math.h>
#include <stdio.h>

enum { ELEMENTS = 64, POINTS = 3 };
struct element { double anomaly[POINTS], eccentricity; };
static struct element orbit[ELEMENTS];
static double result[ELEMENTS][POINTS];

static void newton(const struct element *e, double *x)
{
    double residual;
    int rounds = 0;
    for (int k = 0; k < POINTS; k++)
        x[k] = e->anomaly[k];
    do {
        residual = 0;
        for (int k = 0; k < POINTS; k++) {
            double f = x[k] - e->eccentricity * sin(x[k]) - e->anomaly[k];
            x[k] -= f / (1 - e->eccentricity * cos(x[k]));
            residual += f * f;
        }
    } while (residual > 1e-20 && ++rounds < 50);
}

int solve(void)
{
    for (int i = 0; i < ELEMENTS; i++)
        newton(&orbit[i], result[i]);
    return 1;
}

int main(void)
{
    for (int i = 0; i < ELEMENTS; i++) {
        orbit[i].eccentricity = 0.1 + 0.01 * (i * 7 % 60);
        for (int k = 0; k < POINTS; k++)
            orbit[i].anomaly[k] = 0.3 + 0.04 * i + 0.1 * k;
    }
    int steps = solve();
    printf("steps %d x %.6e\n", steps, result[5][1]);
}
