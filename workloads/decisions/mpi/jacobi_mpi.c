/* jacobi in blocks:  mpiexec -n 4 jacobi_mpi [N [TOL [MAX [PARTS_YxPARTS_X]]]] */
#include "blocks2d.h"
#include <math.h>

static double sweep(const Square *s, const double *u, double *w)
{
    double change = 0.0;
    for (int i = 1; i <= s->size[0]; i++)
        for (int j = 1; j <= s->size[1]; j++) {
            int k = i * s->width + j;
            w[k] = 0.25 * (u[k - 1] + u[k + 1] + u[k - s->width] + u[k + s->width]);
            change += (w[k] - u[k]) * (w[k] - u[k]);
        }
    return change;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Pcontrol(0); /* only the main loop is measured */
    int n = argc > 1 ? argument("N", argv[1], 1, 20000) : 16, it = 0;
    double tol = argc > 2 ? atof(argv[2]) : 1e-2, change = HUGE_VAL;
    int max = argc > 3 ? argument("MAX", argv[3], 0, 1000000) : 1000;
    Square s = square_of(n, argc > 4 ? argv[4] : NULL);
    double *u = allocate((size_t)(s.size[0] + 2) * s.width, sizeof *u);
    double *w = allocate((size_t)(s.size[0] + 2) * s.width, sizeof *w);
    for (int j = 0; s.first[0] == 1 && j < s.width; j++)
        u[j] = w[j] = 1.0;
    MPI_Pcontrol(1);
    while (sqrt(change) > tol && it < max) {
        send_down(&s, u);
        send_up(&s, u);
        double mine = sweep(&s, u, w), *t = u;
        MPI_Allreduce(&mine, &change, 1, MPI_DOUBLE, MPI_SUM, s.grid.comm);
        u = w;
        w = t;
        it++;
    }
    MPI_Pcontrol(0);
    finish(&s, n, u, it);
    return 0;
}
