// hydro3d on p = q^3 ranks, each with a cube of elements.
//
//     mpiexec -n P hydro3d_mpi [N [STEPS [owner|replicate|symmetric]]]     default: 12 4 owner
//
// Nodes on the boundary of a part are shared by up to eight ranks. Their forces are sums over the ranks, and the
// elements of all sharers need their positions and velocities:
//
//     owner      every sharer sends its partial forces to the node's owner, which moves the node and sends position
//                and velocity back: each value is computed by one rank
//     replicate  the owner sends the total force back and all sharers move the node alike
//     symmetric  every sharer sends its partial forces to every other one and all move the node alike
//
// Prints the checksums of hydro3d and the bytes sent.
#include <mpi.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "domain.hpp"
#include "exchange.hpp"

// Defined by a tool that counts messages per region.
extern "C" {
__attribute__((weak)) void commanalyzer_region_begin(const char *name);
__attribute__((weak)) void commanalyzer_region_end(const char *name);
}

namespace {

using hydro::Domain;
using hydro::Part;
using hydro::Traffic;

constexpr double EDGE = 1.0;
constexpr double ENERGY = 0.25;

enum class Scheme { owner, replicate, symmetric };

void sum_everywhere(const Part &part, const hydro::Fields &fields, Scheme scheme, Traffic &traffic)
{
    if (scheme == Scheme::symmetric) {
        hydro::sum_at_all(part, fields, traffic);
        return;
    }
    hydro::sum_at_owners(part, fields, traffic);
    if (scheme == Scheme::replicate)
        hydro::copy_from_owners(part, fields, traffic);
}

void move_shared_nodes(Domain &d, const Part &part, Scheme scheme, Traffic &traffic)
{
    sum_everywhere(part, {&d.fx, &d.fy, &d.fz}, scheme, traffic);
    hydro::accelerate_nodes(d);
    hydro::move_nodes(d);
    if (scheme == Scheme::owner)
        hydro::copy_from_owners(part, {&d.x, &d.y, &d.z, &d.xd, &d.yd, &d.zd}, traffic);
}

void update_viscosity(Domain &d, const Part &part, const double *vnew, Traffic &traffic)
{
    hydro::Gradients g;
    for (int axis = 0; axis < 3; axis++) {
        g.delv[axis] = hydro::allocate(d.mesh.elements + part.ghosts);
        g.delx[axis] = hydro::allocate(d.mesh.elements);
    }
    hydro::velocity_gradients(d, vnew, g);
    hydro::exchange_faces(part, g.delv, traffic);
    hydro::limit_viscosity(d, vnew, g);
    for (int axis = 0; axis < 3; axis++) {
        hydro::release(g.delx[axis]);
        hydro::release(g.delv[axis]);
    }
}

void time_step(Domain &d, const Part &part, Scheme scheme, Traffic &traffic)
{
    hydro::compute_forces(d);
    move_shared_nodes(d, part, scheme, traffic);
    double *vnew = hydro::allocate(d.mesh.elements);
    hydro::update_kinematics(d, vnew);
    update_viscosity(d, part, vnew, traffic);
    hydro::update_materials(d, vnew);
    hydro::update_volumes(d, vnew);
    hydro::release(vnew);
    hydro::advance_time(d, hydro::smallest_of_all(hydro::smallest_time_step(d), traffic));
}

// Owners place their nodes and tell the others; masses are summed once.
void initialise(Domain &d, const Part &part, Scheme scheme, double spacing, Traffic &traffic)
{
    int row = part.size + 1;
    for (int n = 0; n < d.mesh.nodes; n++) {
        if (!part.owned[n])
            continue;
        d.x[n] = spacing * (part.place[0] * part.size + n % row);
        d.y[n] = spacing * (part.place[1] * part.size + n / row % row);
        d.z[n] = spacing * (part.place[2] * part.size + n / row / row);
    }
    hydro::copy_from_owners(part, {&d.x, &d.y, &d.z, &d.xd, &d.yd, &d.zd}, traffic);
    hydro::set_masses(d);
    sum_everywhere(part, {&d.nodal_mass}, scheme, traffic);
    bool at_origin = part.place[0] + part.place[1] + part.place[2] == 0;
    hydro::deposit_energy(d, at_origin ? 0 : -1, ENERGY);
    for (int element = 0; element < d.mesh.elements; element++)
        d.arealg[element] = spacing;
    hydro::first_time_step(d, spacing, ENERGY);
}

void print_checksums(const Domain &d, const Part &part, int rank)
{
    double local[3] = {0.0, 0.0, 0.0}, sum[3];
    for (int element = 0; element < d.mesh.elements; element++)
        local[0] += d.e[element] * d.volo[element];
    for (int n = 0; n < d.mesh.nodes; n++) {
        if (!part.owned[n])
            continue;
        double square = d.xd[n] * d.xd[n] + d.yd[n] * d.yd[n] + d.zd[n] * d.zd[n];
        local[1] += 0.5 * d.nodal_mass[n] * square;
        local[2] += d.nodal_mass[n] * (d.x[n] + d.y[n] + d.z[n]);
    }
    MPI_Reduce(local, sum, 3, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank != 0)
        return;
    std::printf("time %.13e\n", d.time);
    std::printf("dt %.13e\n", d.dt);
    std::printf("internal %.13e\n", sum[0]);
    std::printf("kinetic %.13e\n", sum[1]);
    std::printf("radius %.13e\n", sum[2]);
    std::printf("origin %.13e\n", d.e[0]);
}

void print_traffic(const char *when, const Traffic &traffic, int rank)
{
    long long local[5] = {traffic.fold, traffic.expand, traffic.gradients, traffic.reductions, traffic.messages};
    long long all[5];
    MPI_Reduce(local, all, 5, MPI_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        std::printf("%s_bytes %lld fold %lld expand %lld gradients %lld reductions %lld messages %lld\n", when,
                    all[0] + all[1] + all[2] + all[3], all[0], all[1], all[2], all[3], all[4]);
}

[[noreturn]] void refuse(int rank, const char *expected)
{
    if (rank == 0)
        std::fprintf(stderr, "hydro3d_mpi: %s\n", expected);
    MPI_Finalize();
    std::exit(2);
}

Scheme scheme_named(const char *name, int rank)
{
    if (std::strcmp(name, "owner") == 0)
        return Scheme::owner;
    if (std::strcmp(name, "replicate") == 0)
        return Scheme::replicate;
    if (std::strcmp(name, "symmetric") == 0)
        return Scheme::symmetric;
    refuse(rank, "the scheme must be owner, replicate or symmetric");
}

}  // namespace

// The main loop.
void hydro_run(Domain &d, const Part &part, Scheme scheme, int steps, Traffic &traffic)
{
    if (commanalyzer_region_begin)
        commanalyzer_region_begin("hydro_run");
    for (int step = 0; step < steps; step++)
        time_step(d, part, scheme, traffic);
    if (commanalyzer_region_end)
        commanalyzer_region_end("hydro_run");
}

int main(int argc, char **argv)
{
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int n = argc > 1 ? std::atoi(argv[1]) : 12;
    int steps = argc > 2 ? std::atoi(argv[2]) : 4;
    Scheme scheme = scheme_named(argc > 3 ? argv[3] : "owner", rank);
    int edge = static_cast<int>(std::lround(std::cbrt(ranks)));
    if (argc > 4 || steps < 0)
        refuse(rank, "usage: hydro3d_mpi [N [STEPS [owner|replicate|symmetric]]]");
    if (edge * edge * edge != ranks || n < edge || n % edge != 0)
        refuse(rank, "ranks must be a cube number q^3 with q a divisor of N");

    Part part = hydro::make_part(n, edge, rank);
    Domain d(part.mesh);
    Traffic setup, loop;
    initialise(d, part, scheme, EDGE / n, setup);
    hydro_run(d, part, scheme, steps, loop);
    if (rank == 0)
        std::printf("hydro3d n %d steps %d\n", n, steps);
    print_checksums(d, part, rank);
    print_traffic("setup", setup, rank);
    print_traffic("loop", loop, rank);
    MPI_Finalize();
    return 0;
}
