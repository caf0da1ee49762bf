// Volumes, lengths and strain rates of the elements after their nodes have moved.
#include "geometry.hpp"

namespace hydro {

namespace {

// Rate of strain along the axes from the velocities and the corner areas in the middle of the step.
void strain_rates(Corners &at, const Corners &velocity, double dt, double rate[3])
{
    double b[3][CORNERS];
    for (int c = 0; c < CORNERS; c++) {
        at.x[c] -= 0.5 * dt * velocity.x[c];
        at.y[c] -= 0.5 * dt * velocity.y[c];
        at.z[c] -= 0.5 * dt * velocity.z[c];
    }
    corner_areas(at, b);
    double volume_half = volume(at);
    rate[0] = rate[1] = rate[2] = 0.0;
    for (int c = 0; c < CORNERS; c++) {
        rate[0] += b[0][c] * velocity.x[c];
        rate[1] += b[1][c] * velocity.y[c];
        rate[2] += b[2][c] * velocity.z[c];
    }
    for (int axis = 0; axis < 3; axis++)
        rate[axis] /= volume_half;
}

}  // namespace

void update_kinematics(Domain &d, double *vnew)
{
    int elements = d.mesh.elements;
    double *dxx = allocate(elements);
    double *dyy = allocate(elements);
    double *dzz = allocate(elements);
    for (int element = 0; element < elements; element++) {
        Corners at, velocity;
        double rate[3];
        gather(d.mesh, element, d.x, d.y, d.z, at);
        gather(d.mesh, element, d.xd, d.yd, d.zd, velocity);
        double volume_now = volume(at);
        vnew[element] = volume_now / d.volo[element];
        d.delv[element] = vnew[element] - d.v[element];
        d.arealg[element] = shortest_extent(at, volume_now);
        strain_rates(at, velocity, d.dt, rate);
        dxx[element] = rate[0];
        dyy[element] = rate[1];
        dzz[element] = rate[2];
    }
    for (int element = 0; element < elements; element++)
        d.vdov[element] = dxx[element] + dyy[element] + dzz[element];
    release(dzz);
    release(dyy);
    release(dxx);
}

}  // namespace hydro
