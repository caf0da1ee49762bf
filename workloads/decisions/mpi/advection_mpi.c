/* advection in blocks:  mpiexec -n 4 advection_mpi [N [END [PARTS_YxPARTS_X]]] */
#include "blocks2d.h"
#include <math.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Pcontrol(0); /* only the main loop is measured */
    int n = argc > 1 ? argument("N", argv[1], 1, 20000) : 16, steps = 0;
    double end = argc > 2 ? atof(argv[2]) : 0.2, t = 0.0, dx = 1.0 / n;
    Square s = square_of(n, argc > 3 ? argv[3] : NULL);
    size_t points = (size_t)(s.size[0] + 2) * s.width;
    double *u = allocate(points, sizeof *u), *v = allocate(points, sizeof *v);
    for (int i = 0; i < s.size[0] + 2; i++)
        for (int j = 0; j < s.width; j++)
            u[i * s.width + j] =
                1.0 + 0.3 * sin(6.28 * (i + s.first[0] - 1) / n) * cos(6.28 * (j + s.first[1] - 1) / n);
    MPI_Pcontrol(1);
    while (t < end) {
        double mine = 0.0, fastest;
        for (int i = 1; i <= s.size[0]; i++)
            for (int j = 1; j <= s.size[1]; j++)
                mine = fmax(mine, fabs(u[i * s.width + j]));
        MPI_Allreduce(&mine, &fastest, 1, MPI_DOUBLE, MPI_MAX, s.grid.comm);
        send_down(&s, u);
        double c = 0.4 / fastest; /* dt / dx */
        for (int i = 1; i <= s.size[0]; i++)
            for (int j = 1; j <= s.size[1]; j++) {
                int k = i * s.width + j;
                v[k] = u[k] - c * u[k] * (2.0 * u[k] - u[k - 1] - u[k - s.width]);
            }
        for (int i = 1; i <= s.size[0]; i++)
            for (int j = 1; j <= s.size[1]; j++)
                u[i * s.width + j] = v[i * s.width + j];
        t += c * dx;
        steps++;
    }
    MPI_Pcontrol(0);
    finish(&s, n, u, steps);
    return 0;
}
