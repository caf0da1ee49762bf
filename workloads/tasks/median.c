/*
 * Median of the 3 x 3 points around each point of an image, by a sorting network; beyond the border the image
 * goes on with its last row or column.
 *
 *     median [N]        default: 16
 */
#include "tasks.h"

static void order(float *window, int first, int second)
{
    float low = window[first] < window[second] ? window[first] : window[second];
    float high = window[first] < window[second] ? window[second] : window[first];
    window[first] = low;
    window[second] = high;
}

static int within(int index, int n)
{
    return index < 0 ? 0 : index >= n ? n - 1 : index;
}

void median(int n, const float *in, float *out)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            float window[9];
            for (int di = 0; di < 3; di++)
                for (int dj = 0; dj < 3; dj++)
                    window[3 * di + dj] = in[within(i + di - 1, n) * n + within(j + dj - 1, n)];
            /* the middle of nine by 19 exchanges (Paeth) */
            order(window, 1, 2);
            order(window, 4, 5);
            order(window, 7, 8);
            order(window, 0, 1);
            order(window, 3, 4);
            order(window, 6, 7);
            order(window, 1, 2);
            order(window, 4, 5);
            order(window, 7, 8);
            order(window, 0, 3);
            order(window, 5, 8);
            order(window, 4, 7);
            order(window, 3, 6);
            order(window, 1, 4);
            order(window, 2, 5);
            order(window, 4, 7);
            order(window, 4, 2);
            order(window, 6, 4);
            order(window, 4, 2);
            out[i * n + j] = window[4];
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
    median(n, in, out);
    print_sum("out", out, n * n);
    free(in);
    free(out);
    return 0;
}
