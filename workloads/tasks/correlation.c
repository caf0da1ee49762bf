/*
 * Correlations of the columns of a matrix: means, deviations, normalising, products.
 *
 *     correlation [N]        default: 12
 */
#include <math.h>

#include "tasks.h"

#define LEAST 0.005f

void correlation_mean(int n, const float *data, float *mean)
{
    for (int j = 0; j < n; j++) {
        float sum = 0.0f;
        for (int i = 0; i < n; i++)
            sum += data[i * n + j];
        mean[j] = sum / (float)n;
    }
}

void correlation_deviation(int n, const float *data, const float *mean, float *stddev)
{
    for (int j = 0; j < n; j++) {
        float sum = 0.0f;
        for (int i = 0; i < n; i++)
            sum += (data[i * n + j] - mean[j]) * (data[i * n + j] - mean[j]);
        float deviation = sqrtf(sum / (float)n);
        stddev[j] = deviation <= LEAST ? 1.0f : deviation;
    }
}

void correlation_normalise(int n, float *data, const float *mean, const float *stddev)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            data[i * n + j] = (data[i * n + j] - mean[j]) / (sqrtf((float)n) * stddev[j]);
}

void correlation_product(int n, const float *data, float *symmat)
{
    for (int j1 = 0; j1 < n; j1++) {
        symmat[j1 * n + j1] = 1.0f;
        for (int j2 = j1 + 1; j2 < n; j2++) {
            float sum = 0.0f;
            for (int i = 0; i < n; i++)
                sum += data[i * n + j1] * data[i * n + j2];
            symmat[j1 * n + j2] = sum;
            symmat[j2 * n + j1] = sum;
        }
    }
}

static void initialise(int n, float *data)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            data[i * n + j] = (float)((i * 31 + j * 17) % 101) / 101.0f;
}

int main(int argc, char **argv)
{
    int n = size_argument(argc, argv, 1, 12, 2, 8192);
    size_t bytes = sizeof(float) * (size_t)n * (size_t)n;
    float *data = malloc(bytes);
    float *mean = malloc(sizeof(float) * (size_t)n);
    float *stddev = malloc(sizeof(float) * (size_t)n);
    float *symmat = malloc(bytes);
    require(data && mean && stddev && symmat);
    initialise(n, data);
    correlation_mean(n, data, mean);
    correlation_deviation(n, data, mean, stddev);
    correlation_normalise(n, data, mean, stddev);
    correlation_product(n, data, symmat);
    print_sum("symmat", symmat, n * n);
    free(data);
    free(mean);
    free(stddev);
    free(symmat);
    return 0;
}
