// Energy, pressure and viscosity of the materials, a work array per quantity and one pass per sub-step.
#include <cmath>

#include "domain.hpp"

namespace hydro {

namespace {

// Work arrays over the elements of one material, in the order of its list.
struct Work {
    double *e_old, *p_old, *q_old, *ql, *qq;
    double *vnew, *delv;
    double *compression, *half_compression;
    double *p_half, *e_new, *p_new, *q_new;
};

void allocate_work(Work &w, long count)
{
    w.e_old = allocate(count);
    w.p_old = allocate(count);
    w.q_old = allocate(count);
    w.ql = allocate(count);
    w.qq = allocate(count);
    w.vnew = allocate(count);
    w.delv = allocate(count);
    w.compression = allocate(count);
    w.half_compression = allocate(count);
    w.p_half = allocate(count);
    w.e_new = allocate(count);
    w.p_new = allocate(count);
    w.q_new = allocate(count);
}

void release_work(Work &w)
{
    for (double *array : {w.e_old, w.p_old, w.q_old, w.ql, w.qq, w.vnew, w.delv, w.compression,
                          w.half_compression, w.p_half, w.e_new, w.p_new, w.q_new})
        release(array);
}

void compress(const Domain &d, const std::vector<int> &list, const double *vnew, Work &w)
{
    int count = static_cast<int>(list.size());
    for (int i = 0; i < count; i++) {
        w.e_old[i] = d.e[list[i]];
        w.p_old[i] = d.p[list[i]];
        w.q_old[i] = d.q[list[i]];
        w.ql[i] = d.ql[list[i]];
        w.qq[i] = d.qq[list[i]];
        w.vnew[i] = vnew[list[i]];
        w.delv[i] = d.delv[list[i]];
    }
    for (int i = 0; i < count; i++) {
        w.compression[i] = 1.0 / w.vnew[i];
        w.half_compression[i] = 1.0 / (w.vnew[i] - 0.5 * w.delv[i]);
    }
}

void pressures(const Parameters &par, int material, int count, const double *energy,
               const double *compression, double *pressure)
{
    for (int i = 0; i < count; i++) {
        double now = (par.gamma[material] - 1.0) * compression[i] * energy[i];
        if (std::fabs(now) < par.p_cut)
            now = 0.0;
        pressure[i] = now;
    }
}

void viscosities(const Parameters &par, int material, int count, const Work &w, const double *pressure,
                 const double *compression)
{
    for (int i = 0; i < count; i++) {
        if (w.delv[i] > 0.0) {
            w.q_new[i] = 0.0;
        } else {
            double sound = std::sqrt(par.gamma[material] * pressure[i] / compression[i] + 1e-36);
            w.q_new[i] = w.ql[i] * sound + w.qq[i];
        }
    }
}

void energies(const Parameters &par, int count, const Work &w, const double *pressure_a,
              const double *pressure_b, const double *viscosity)
{
    for (int i = 0; i < count; i++) {
        double push = 0.5 * (pressure_a[i] + pressure_b[i] + w.q_old[i] + viscosity[i]);
        double energy = w.e_old[i] - w.delv[i] * push;
        w.e_new[i] = energy < par.e_min ? par.e_min : energy;
    }
}

void half_step_energies(const Parameters &par, int count, const Work &w)
{
    for (int i = 0; i < count; i++) {
        double energy = w.e_old[i] - 0.5 * w.delv[i] * (w.p_old[i] + w.q_old[i]);
        w.e_new[i] = energy < par.e_min ? par.e_min : energy;
    }
}

void update_material(Domain &d, int material, const double *vnew)
{
    const std::vector<int> &list = d.mesh.material[material];
    int count = static_cast<int>(list.size());
    Work w;
    allocate_work(w, count);
    compress(d, list, vnew, w);

    half_step_energies(d.par, count, w);
    pressures(d.par, material, count, w.e_new, w.half_compression, w.p_half);
    viscosities(d.par, material, count, w, w.p_half, w.half_compression);
    energies(d.par, count, w, w.p_half, w.p_half, w.q_new);
    pressures(d.par, material, count, w.e_new, w.compression, w.p_new);
    energies(d.par, count, w, w.p_old, w.p_new, w.q_new);
    pressures(d.par, material, count, w.e_new, w.compression, w.p_new);
    viscosities(d.par, material, count, w, w.p_new, w.compression);

    for (int i = 0; i < count; i++) {
        d.e[list[i]] = w.e_new[i];
        d.p[list[i]] = w.p_new[i];
        d.q[list[i]] = w.q_new[i];
        d.ss[list[i]] = std::sqrt(d.par.gamma[material] * w.p_new[i] / w.compression[i] + 1e-36);
    }
    release_work(w);
}

}  // namespace

void update_materials(Domain &d, const double *vnew)
{
    for (int material = 0; material < 2; material++)
        update_material(d, material, vnew);
}

void update_volumes(Domain &d, const double *vnew)
{
    for (int element = 0; element < d.mesh.elements; element++)
        d.v[element] = std::fabs(vnew[element] - 1.0) < 1e-10 ? 1.0 : vnew[element];
}

}  // namespace hydro
