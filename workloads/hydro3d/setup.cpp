#include <utility>

#include "geometry.hpp"

namespace hydro {

Domain::Domain(Mesh connectivity)
    : mesh(std::move(connectivity)),
      x(mesh.nodes),
      y(mesh.nodes),
      z(mesh.nodes),
      xd(mesh.nodes),
      yd(mesh.nodes),
      zd(mesh.nodes),
      xdd(mesh.nodes),
      ydd(mesh.nodes),
      zdd(mesh.nodes),
      fx(mesh.nodes),
      fy(mesh.nodes),
      fz(mesh.nodes),
      nodal_mass(mesh.nodes),
      e(mesh.elements),
      p(mesh.elements),
      q(mesh.elements),
      ql(mesh.elements),
      qq(mesh.elements),
      v(mesh.elements),
      volo(mesh.elements),
      delv(mesh.elements),
      vdov(mesh.elements),
      arealg(mesh.elements),
      ss(mesh.elements),
      elem_mass(mesh.elements)
{
    par.hourglass = 0.005;
    par.q_linear = 0.5;
    par.q_quadratic = 2.0 / 3.0;
    par.courant = 0.5;
    par.max_change = 0.1;
    par.growth = 1.1;
    par.v_cut = 1e-12;
    par.p_cut = 1e-12;
    par.e_min = 1e-15;
    par.gamma[0] = 1.4;
    par.gamma[1] = 5.0 / 3.0;
}

// Nodes of a cube mesh whose lowest corner is the origin.
void place_nodes(Domain &d, double spacing)
{
    int row = 1;
    while (row * row * row < d.mesh.nodes)
        row++;
    for (int n = 0; n < d.mesh.nodes; n++) {
        d.x[n] = spacing * (n % row);
        d.y[n] = spacing * (n / row % row);
        d.z[n] = spacing * (n / row / row);
    }
}

// Volumes and masses at unit density; an eighth of an element's mass belongs to each of its corners.
void set_masses(Domain &d)
{
    for (int element = 0; element < d.mesh.elements; element++) {
        Corners at;
        gather(d.mesh, element, d.x, d.y, d.z, at);
        double initial = volume(at);
        d.volo[element] = initial;
        d.elem_mass[element] = initial;
        d.v[element] = 1.0;
        for (int c = 0; c < CORNERS; c++)
            d.nodal_mass[d.mesh.nodelist[CORNERS * element + c]] += initial / CORNERS;
    }
}

// A cold gas; one element holds the energy of the explosion (none if the index is negative).
void deposit_energy(Domain &d, int element, double energy)
{
    for (int m = 0; m < 2; m++)
        for (int i : d.mesh.material[m]) {
            double background = 1e-3;
            d.e[i] = i == element ? energy / d.volo[i] : background;
            d.p[i] = (d.par.gamma[m] - 1.0) * d.e[i];
            d.ss[i] = std::sqrt(d.par.gamma[m] * d.p[i]);
        }
}

// A fraction of the time that the first shock takes through an element.
void first_time_step(Domain &d, double spacing, double energy)
{
    double density = energy / (spacing * spacing * spacing);
    d.dt = 0.1 * d.par.courant * spacing / std::sqrt(density);
}

}  // namespace hydro
