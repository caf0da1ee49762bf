/* k-means until no point changes its cluster.
 *
 * Points in blocks that have members of all K clusters, per iteration: centroids to all and sums of them
 * back, 4 K (p - 1) words; numbers of members and of changes combined, and the changes back: (K + 2) (p - 1)
 * words of 4 bytes. */
#include <float.h>
#include <stdio.h>

#define POINTS 240
#define K 3

static float px[POINTS], py[POINTS];
static int cluster[POINTS];
static double cx[K], cy[K], sx[K], sy[K];
static int members[K];

int solve(void)
{
    int changed, iterations = 0;
    do {
        changed = 0;
        for (int k = 0; k < K; k++) sx[k] = sy[k] = 0, members[k] = 0;
        for (int i = 0; i < POINTS; i++) {
            int nearest = 0;
            double least = DBL_MAX;
            for (int k = 0; k < K; k++) {
                double dx = px[i] - cx[k], dy = py[i] - cy[k], d = dx * dx + dy * dy;
                if (d < least) least = d, nearest = k;
            }
            if (cluster[i] != nearest) changed++;
            cluster[i] = nearest;
            sx[nearest] += px[i], sy[nearest] += py[i], members[nearest]++;
        }
        for (int k = 0; k < K; k++)
            if (members[k]) cx[k] = sx[k] / members[k], cy[k] = sy[k] / members[k];
        iterations++;
    } while (changed > 0);
    return iterations;
}

int main(void)
{
    for (int i = 0; i < POINTS; i++) {
        px[i] = (i % 3) * 1.5f + (i * 37 % 101) * 0.02f, py[i] = (i % 3) * 0.8f + (i * 53 % 97) * 0.02f;
        cluster[i] = -1;
    }
    for (int k = 0; k < K; k++) cx[k] = px[k], cy[k] = py[k];
    int steps = solve();
    printf("steps %d first %.6e %.6e\n", steps, cx[0], cy[0]);
}
