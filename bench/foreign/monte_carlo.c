/* Random walks of photons through layers; random numbers of a linear congruence in a structure. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct { unsigned long state; } random_t;

static double uniform(random_t *r) {
    r->state = r->state * 6364136223846793005ul + 1442695040888963407ul;
    return (double)(r->state >> 11) / (double)(1ul << 53);
}

int main(int argc, char **argv) {
    int photons = argc > 1 ? atoi(argv[1]) : 100000, layers = 50;
    double *absorbed = calloc(layers, sizeof *absorbed), through = 0, back = 0;
    random_t *r = malloc(sizeof *r);
    r->state = 42;
    for (int p = 0; p < photons; p++) {
        double depth = 0, direction = 1, weight = 1;
        while (weight > 0.01) {
            depth -= 2.0 * direction * log(uniform(r) + 1e-12);
            if (depth < 0) {
                back += weight;
                break;
            }
            if (depth >= layers) {
                through += weight;
                break;
            }
            absorbed[(int)depth] += 0.1 * weight;
            weight *= 0.9;
            direction = 2 * uniform(r) - 1;
        }
    }
    printf("%.10e %.10e %.10e\n", absorbed[3], back, through);
    return 0;
}
