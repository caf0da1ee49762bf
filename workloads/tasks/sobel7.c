/*
 * Edges of an image: size of the gradient by Sobel's operator on 7 x 7 points. Points beyond the border are left out.
 *
 *     sobel7 [N]        default: 16
 */
#include <math.h>

#include "tasks.h"

/* Smoothing (1, 6, 15, 20, 15, 6, 1) across, difference (1, 4, 5, 0, -5, -4, -1) along. */
static const float weights[49] = {
    1, 4, 5, 0, -5, -4, -1,
    6, 24, 30, 0, -30, -24, -6,
    15, 60, 75, 0, -75, -60, -15,
    20, 80, 100, 0, -100, -80, -20,
    15, 60, 75, 0, -75, -60, -15,
    6, 24, 30, 0, -30, -24, -6,
    1, 4, 5, 0, -5, -4, -1,
};

void sobel7(int n, const float *in, float *out)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            float along = 0.0f;
            float across = 0.0f;
            for (int di = 0; di < 7; di++)
                for (int dj = 0; dj < 7; dj++) {
                    int row = i + di - 3;
                    int column = j + dj - 3;
                    if (row < 0 || row >= n || column < 0 || column >= n)
                        continue;
                    float sample = in[row * n + column];
                    along += weights[7 * di + dj] * sample;
                    across += weights[7 * dj + di] * sample;
                }
            out[i * n + j] = fminf(sqrtf(along * along + across * across) / 1280.0f, 1.0f);
        }
}

static void initialise(int n, float *in)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            in[i * n + j] = (float)((i * 31 + j * 17) % 101) / 101.0f;
}

int main(int argc, char **argv)
{
    int n = size_argument(argc, argv, 1, 16, 3, 8192);
    size_t bytes = sizeof(float) * (size_t)n * (size_t)n;
    float *in = malloc(bytes);
    float *out = malloc(bytes);
    require(in && out);
    initialise(n, in);
    sobel7(n, in, out);
    print_sum("out", out, n * n);
    free(in);
    free(out);
    return 0;
}
