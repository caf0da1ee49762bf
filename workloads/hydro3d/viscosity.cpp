// Artificial viscosity: velocity gradients of the elements, limited by those of their neighbours.
#include "geometry.hpp"

namespace hydro {

namespace {

// Mean of the corners on the upper minus mean of those on the lower face of an axis.
double across(const double corner[CORNERS], int axis)
{
    double sum = 0.0;
    for (int c = 0; c < CORNERS; c++)
        sum += c >> axis & 1 ? corner[c] : -corner[c];
    return 0.25 * sum;
}

// Gradient beyond a face relative to the element's own.
double ratio_beyond(const double *delv, int neighbour, double own)
{
    if (neighbour == SYMMETRY_PLANE)
        return 1.0;
    if (neighbour == FREE_SURFACE)
        return 0.0;
    double small = own < 0.0 ? -1e-36 : 1e-36;
    return delv[neighbour] / (own + small);
}

// 1 where the velocity field is smooth, 0 at a shock.
double limiter(const double *delv, const int *pair, double own)
{
    double below = ratio_beyond(delv, pair[0], own);
    double above = ratio_beyond(delv, pair[1], own);
    double phi = 0.5 * (below + above);
    if (2.0 * below < phi)
        phi = 2.0 * below;
    if (2.0 * above < phi)
        phi = 2.0 * above;
    if (phi < 0.0)
        phi = 0.0;
    return phi > 1.0 ? 1.0 : phi;
}

}  // namespace

void velocity_gradients(const Domain &d, const double *vnew, Gradients &g)
{
    for (int element = 0; element < d.mesh.elements; element++) {
        Corners at, velocity;
        gather(d.mesh, element, d.x, d.y, d.z, at);
        gather(d.mesh, element, d.xd, d.yd, d.zd, velocity);
        double volume_now = vnew[element] * d.volo[element];
        for (int axis = 0; axis < 3; axis++) {
            double lower[3], upper[3];
            face_area(at, 2 * axis, lower);
            face_area(at, 2 * axis + 1, upper);
            double nx = upper[0] - lower[0], ny = upper[1] - lower[1], nz = upper[2] - lower[2];
            double area = 0.5 * std::sqrt(nx * nx + ny * ny + nz * nz);
            double extent = volume_now / area;
            double jump = nx * across(velocity.x, axis) + ny * across(velocity.y, axis) +
                          nz * across(velocity.z, axis);
            g.delx[axis][element] = extent;
            g.delv[axis][element] = 0.5 * jump / (area * extent);
        }
    }
}

void limit_viscosity(Domain &d, const double *vnew, const Gradients &g)
{
    for (int element = 0; element < d.mesh.elements; element++) {
        double linear = 0.0, quadratic = 0.0;
        for (int axis = 0; axis < 3; axis++) {
            double own = g.delv[axis][element];
            double phi = limiter(g.delv[axis], &d.mesh.neighbour[FACES * element + 2 * axis], own);
            double jump = own * g.delx[axis][element];
            jump = jump > 0.0 ? 0.0 : jump;
            linear += jump * (1.0 - phi);
            quadratic += jump * jump * (1.0 - phi * phi);
        }
        double density = d.elem_mass[element] / (d.volo[element] * vnew[element]);
        if (d.vdov[element] > 0.0)
            linear = quadratic = 0.0;
        d.ql[element] = -d.par.q_linear * density * linear;
        d.qq[element] = d.par.q_quadratic * density * quadratic;
    }
}

void update_viscosity(Domain &d, const double *vnew)
{
    Gradients g;
    for (int axis = 0; axis < 3; axis++) {
        g.delv[axis] = allocate(d.mesh.elements);
        g.delx[axis] = allocate(d.mesh.elements);
    }
    velocity_gradients(d, vnew, g);
    limit_viscosity(d, vnew, g);
    for (int axis = 0; axis < 3; axis++) {
        release(g.delx[axis]);
        release(g.delv[axis]);
    }
}

}  // namespace hydro
