/*
 * Edges of an image: size of the gradient by Sobel's operator on 5 x 5 points. Points beyond the border are left out.
 *
 *     sobel5 [N]        default: 16
 */
#include <math.h>

#include "tasks.h"

/* Smoothing (1, 4, 6, 4, 1) across, difference (1, 2, 0, -2, -1) along. */
static const float weights[25] = {
    1, 2, 0, -2, -1,
    4, 8, 0, -8, -4,
    6, 12, 0, -12, -6,
    4, 8, 0, -8, -4,
    1, 2, 0, -2, -1,
};

void sobel5(int n, const float *in, float *out)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            float along = 0.0f;
            float across = 0.0f;
            for (int di = 0; di < 5; di++)
                for (int dj = 0; dj < 5; dj++) {
                    int row = i + di - 2;
                    int column = j + dj - 2;
                    if (row < 0 || row >= n || column < 0 || column >= n)
                        continue;
                    float sample = in[row * n + column];
                    along += weights[5 * di + dj] * sample;
                    across += weights[5 * dj + di] * sample;
                }
            out[i * n + j] = fminf(sqrtf(along * along + across * across) / 96.0f, 1.0f);
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
    sobel5(n, in, out);
    print_sum("out", out, n * n);
    free(in);
    free(out);
    return 0;
}
