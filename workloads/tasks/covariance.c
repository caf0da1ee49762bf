/*
 * Covariances of the columns of a matrix: means, centring, products.
 *
 *     covariance [N]        default: 12
 */
#include "tasks.h"

void covariance_mean(int n, const float *data, float *mean)
{
    for (int j = 0; j < n; j++) {
        float sum = 0.0f;
        for (int i = 0; i < n; i++)
            sum += data[i * n + j];
        mean[j] = sum / (float)n;
    }
}

void covariance_centre(int n, float *data, const float *mean)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            data[i * n + j] -= mean[j];
}

void covariance_product(int n, const float *data, float *symmat)
{
    for (int j1 = 0; j1 < n; j1++) {
        symmat[j1 * n + j1] = 1.0f;
        for (int j2 = j1; j2 < n; j2++) {
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
    float *symmat = malloc(bytes);
    require(data && mean && symmat);
    initialise(n, data);
    covariance_mean(n, data, mean);
    covariance_centre(n, data, mean);
    covariance_product(n, data, symmat);
    print_sum("symmat", symmat, n * n);
    free(data);
    free(mean);
    free(symmat);
    return 0;
}
