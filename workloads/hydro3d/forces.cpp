// Forces of the elements on their nodes: stress, and damping of the modes that do not change the volume.
#include "geometry.hpp"

namespace hydro {

namespace {

constexpr int MODES = 4;

// Hourglass modes: products of two or three of a corner's coordinate signs.
double mode_sign(int mode, int c)
{
    double sx = c & 1 ? 1.0 : -1.0, sy = c & 2 ? 1.0 : -1.0, sz = c & 4 ? 1.0 : -1.0;
    return mode == 0 ? sy * sz : mode == 1 ? sx * sz : mode == 2 ? sx * sy : sx * sy * sz;
}

void zero_forces(Domain &d)
{
    for (int n = 0; n < d.mesh.nodes; n++) {
        d.fx[n] = 0.0;
        d.fy[n] = 0.0;
        d.fz[n] = 0.0;
    }
}

void init_stress(const Domain &d, double *sigxx, double *sigyy, double *sigzz)
{
    for (int i = 0; i < d.mesh.elements; i++)
        sigxx[i] = sigyy[i] = sigzz[i] = -d.p[i] - d.q[i];
}

void integrate_stress(Domain &d, const double *sigxx, const double *sigyy, const double *sigzz,
                      double *determ)
{
    for (int element = 0; element < d.mesh.elements; element++) {
        Corners at;
        double b[3][CORNERS];
        gather(d.mesh, element, d.x, d.y, d.z, at);
        corner_areas(at, b);
        determ[element] = volume(at);
        const int *nodes = &d.mesh.nodelist[CORNERS * element];
        for (int c = 0; c < CORNERS; c++) {
            d.fx[nodes[c]] -= sigxx[element] * b[0][c];
            d.fy[nodes[c]] -= sigyy[element] * b[1][c];
            d.fz[nodes[c]] -= sigzz[element] * b[2][c];
        }
    }
}

// Corner areas and positions of all elements, kept for the hourglass kernel.
struct HourglassGeometry {
    double *dvdx, *dvdy, *dvdz;
    double *x8n, *y8n, *z8n;
};

void hourglass_geometry(const Domain &d, HourglassGeometry &g)
{
    for (int element = 0; element < d.mesh.elements; element++) {
        Corners at;
        double b[3][CORNERS];
        gather(d.mesh, element, d.x, d.y, d.z, at);
        corner_areas(at, b);
        for (int c = 0; c < CORNERS; c++) {
            int i = CORNERS * element + c;
            g.dvdx[i] = b[0][c];
            g.dvdy[i] = b[1][c];
            g.dvdz[i] = b[2][c];
            g.x8n[i] = at.x[c];
            g.y8n[i] = at.y[c];
            g.z8n[i] = at.z[c];
        }
    }
}

// Mode shapes orthogonal to the linear velocity fields of this element.
void mode_shapes(const HourglassGeometry &g, int element, double volume_now, double *shape)
{
    const double *x = &g.x8n[CORNERS * element];
    const double *y = &g.y8n[CORNERS * element];
    const double *z = &g.z8n[CORNERS * element];
    for (int m = 0; m < MODES; m++) {
        double mx = 0.0, my = 0.0, mz = 0.0;
        for (int c = 0; c < CORNERS; c++) {
            mx += x[c] * mode_sign(m, c);
            my += y[c] * mode_sign(m, c);
            mz += z[c] * mode_sign(m, c);
        }
        for (int c = 0; c < CORNERS; c++) {
            int i = CORNERS * element + c;
            double linear = g.dvdx[i] * mx + g.dvdy[i] * my + g.dvdz[i] * mz;
            shape[CORNERS * m + c] = mode_sign(m, c) - linear / volume_now;
        }
    }
}

// Damping force of one velocity component at the corners.
void damp(const double *shape, const double *velocity, double coefficient, double *force)
{
    double amplitude[MODES];
    for (int m = 0; m < MODES; m++) {
        amplitude[m] = 0.0;
        for (int c = 0; c < CORNERS; c++)
            amplitude[m] += shape[CORNERS * m + c] * velocity[c];
    }
    for (int c = 0; c < CORNERS; c++) {
        double sum = 0.0;
        for (int m = 0; m < MODES; m++)
            sum += shape[CORNERS * m + c] * amplitude[m];
        force[c] = -coefficient * sum;
    }
}

// One workspace for the mode shapes serves all elements in turn.
void hourglass_forces(const Domain &d, const HourglassGeometry &g, const double *determ, double *fx_elem,
                      double *fy_elem, double *fz_elem)
{
    double *shape = allocate(MODES * CORNERS);
    for (int element = 0; element < d.mesh.elements; element++) {
        Corners velocity;
        gather(d.mesh, element, d.xd, d.yd, d.zd, velocity);
        mode_shapes(g, element, determ[element], shape);
        double coefficient = d.par.hourglass * d.ss[element] * d.elem_mass[element] / d.arealg[element];
        damp(shape, velocity.x, coefficient, &fx_elem[CORNERS * element]);
        damp(shape, velocity.y, coefficient, &fy_elem[CORNERS * element]);
        damp(shape, velocity.z, coefficient, &fz_elem[CORNERS * element]);
    }
    release(shape);
}

// Every node collects what the corners that meet there push.
void collect_corner_forces(Domain &d, const double *fx_elem, const double *fy_elem, const double *fz_elem)
{
    for (int n = 0; n < d.mesh.nodes; n++) {
        double sx = 0.0, sy = 0.0, sz = 0.0;
        for (int i = d.mesh.corner_start[n]; i < d.mesh.corner_start[n + 1]; i++) {
            int corner = d.mesh.corner_list[i];
            sx += fx_elem[corner];
            sy += fy_elem[corner];
            sz += fz_elem[corner];
        }
        d.fx[n] += sx;
        d.fy[n] += sy;
        d.fz[n] += sz;
    }
}

void add_hourglass(Domain &d, const double *determ)
{
    long corners = static_cast<long>(CORNERS) * d.mesh.elements;
    HourglassGeometry g = {allocate(corners), allocate(corners), allocate(corners),
                           allocate(corners), allocate(corners), allocate(corners)};
    double *fx_elem = allocate(corners);
    double *fy_elem = allocate(corners);
    double *fz_elem = allocate(corners);
    hourglass_geometry(d, g);
    hourglass_forces(d, g, determ, fx_elem, fy_elem, fz_elem);
    collect_corner_forces(d, fx_elem, fy_elem, fz_elem);
    for (double *array : {g.dvdx, g.dvdy, g.dvdz, g.x8n, g.y8n, g.z8n, fx_elem, fy_elem, fz_elem})
        release(array);
}

}  // namespace

void compute_forces(Domain &d)
{
    double *sigxx = allocate(d.mesh.elements);
    double *sigyy = allocate(d.mesh.elements);
    double *sigzz = allocate(d.mesh.elements);
    double *determ = allocate(d.mesh.elements);
    zero_forces(d);
    init_stress(d, sigxx, sigyy, sigzz);
    integrate_stress(d, sigxx, sigyy, sigzz, determ);
    add_hourglass(d, determ);
    release(determ);
    release(sigzz);
    release(sigyy);
    release(sigxx);
}

}  // namespace hydro
