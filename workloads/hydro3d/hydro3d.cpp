// Lagrangian hydrodynamics of an explosion in the corner of a cube.
//
//     hydro3d [N [STEPS]]     default: 12 4
//
// N x N x N hexahedral elements with staggered unknowns: position and velocity at the nodes, energy, pressure and
// volume in the elements. Three faces of the cube are symmetry planes, three are free.
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "domain.hpp"

namespace {

using hydro::Domain;

constexpr double EDGE = 1.0;
constexpr double ENERGY = 0.25;

void time_step(Domain &d)
{
    hydro::compute_forces(d);
    hydro::accelerate_nodes(d);
    hydro::move_nodes(d);
    double *vnew = hydro::allocate(d.mesh.elements);
    hydro::update_kinematics(d, vnew);
    hydro::update_viscosity(d, vnew);
    hydro::update_materials(d, vnew);
    hydro::update_volumes(d, vnew);
    hydro::release(vnew);
    hydro::advance_time(d, hydro::smallest_time_step(d));
}

void initialise(Domain &d, double spacing)
{
    hydro::place_nodes(d, spacing);
    hydro::set_masses(d);
    hydro::deposit_energy(d, 0, ENERGY);
    for (int element = 0; element < d.mesh.elements; element++)
        d.arealg[element] = spacing;
    hydro::first_time_step(d, spacing, ENERGY);
}

void print_checksums(const Domain &d)
{
    double internal = 0.0, kinetic = 0.0, radius = 0.0;
    for (int element = 0; element < d.mesh.elements; element++)
        internal += d.e[element] * d.volo[element];
    for (int n = 0; n < d.mesh.nodes; n++) {
        double square = d.xd[n] * d.xd[n] + d.yd[n] * d.yd[n] + d.zd[n] * d.zd[n];
        kinetic += 0.5 * d.nodal_mass[n] * square;
        radius += d.nodal_mass[n] * (d.x[n] + d.y[n] + d.z[n]);
    }
    std::printf("time %.13e\n", d.time);
    std::printf("dt %.13e\n", d.dt);
    std::printf("internal %.13e\n", internal);
    std::printf("kinetic %.13e\n", kinetic);
    std::printf("radius %.13e\n", radius);
    std::printf("origin %.13e\n", d.e[0]);
}

int argument(const char *name, const char *text, int low, int high)
{
    char *end;
    errno = 0;
    long value = std::strtol(text, &end, 10);
    if (errno || end == text || *end || value < low || value > high) {
        std::fprintf(stderr, "hydro3d: %s must be an integer from %d to %d, found '%s'\n", name, low, high, text);
        std::exit(2);
    }
    return static_cast<int>(value);
}

}  // namespace

// The main loop.
void hydro_run(Domain &d, int steps)
{
    for (int step = 0; step < steps; step++)
        time_step(d);
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? argument("N", argv[1], 1, 200) : 12;
    int steps = argc > 2 ? argument("STEPS", argv[2], 0, 1000000) : 4;
    if (argc > 3) {
        std::fprintf(stderr, "usage: hydro3d [N [STEPS]]\n");
        return 2;
    }
    Domain d(hydro::cube_mesh(n));
    initialise(d, EDGE / n);
    hydro_run(d, steps);
    std::printf("hydro3d n %d steps %d\n", n, steps);
    print_checksums(d);
    return 0;
}
