// Newton's law for the nodes.
#include <cmath>

#include "domain.hpp"

namespace hydro {

namespace {

double without_noise(double velocity, double cut)
{
    return std::fabs(velocity) < cut ? 0.0 : velocity;
}

}  // namespace

void accelerate_nodes(Domain &d)
{
    for (int n = 0; n < d.mesh.nodes; n++) {
        d.xdd[n] = d.fx[n] / d.nodal_mass[n];
        d.ydd[n] = d.fy[n] / d.nodal_mass[n];
        d.zdd[n] = d.fz[n] / d.nodal_mass[n];
    }
    for (int n : d.mesh.symmetry[0])
        d.xdd[n] = 0.0;
    for (int n : d.mesh.symmetry[1])
        d.ydd[n] = 0.0;
    for (int n : d.mesh.symmetry[2])
        d.zdd[n] = 0.0;
}

void move_nodes(Domain &d)
{
    for (int n = 0; n < d.mesh.nodes; n++) {
        d.xd[n] = without_noise(d.xd[n] + d.xdd[n] * d.dt, d.par.v_cut);
        d.yd[n] = without_noise(d.yd[n] + d.ydd[n] * d.dt, d.par.v_cut);
        d.zd[n] = without_noise(d.zd[n] + d.zdd[n] * d.dt, d.par.v_cut);
    }
    for (int n = 0; n < d.mesh.nodes; n++) {
        d.x[n] += d.xd[n] * d.dt;
        d.y[n] += d.yd[n] * d.dt;
        d.z[n] += d.zd[n] * d.dt;
    }
}

}  // namespace hydro
