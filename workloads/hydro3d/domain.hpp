// State of the simulation and the kernels of a time step.
#pragma once

#include <cstdlib>
#include <new>
#include <vector>

#include "mesh.hpp"

namespace hydro {

struct Parameters {
    double hourglass;    // strength of the hourglass damping
    double q_linear;     // artificial viscosity, linear in the velocity jump
    double q_quadratic;  // and quadratic
    double courant;      // fraction of the sound crossing time taken as time step
    double max_change;   // largest relative volume change in a step
    double growth;       // largest growth of the time step
    double v_cut;        // velocities below are zero
    double p_cut;        // pressures below are zero
    double e_min;        // smallest energy
    double gamma[2];     // adiabatic exponent of each material
};

struct Domain {
    explicit Domain(Mesh connectivity);

    Mesh mesh;
    Parameters par;

    // Nodes: position, velocity, acceleration, force, mass.
    std::vector<double> x, y, z;
    std::vector<double> xd, yd, zd;
    std::vector<double> xdd, ydd, zdd;
    std::vector<double> fx, fy, fz;
    std::vector<double> nodal_mass;

    // Elements.
    std::vector<double> e;          // internal energy per initial volume
    std::vector<double> p, q;       // pressure, artificial viscosity
    std::vector<double> ql, qq;     // linear and quadratic coefficient of q
    std::vector<double> v, volo;    // volume relative to the initial one, initial volume
    std::vector<double> delv;       // change of v in this step
    std::vector<double> vdov;       // relative rate of change of the volume
    std::vector<double> arealg;     // characteristic length
    std::vector<double> ss;         // sound speed
    std::vector<double> elem_mass;  // mass

    double time = 0.0;
    double dt = 0.0;
};

// Corner positions or velocities of one element.
struct Corners {
    double x[CORNERS], y[CORNERS], z[CORNERS];
};

// Velocity gradient and extent of the elements along their three axes.
struct Gradients {
    double *delv[3];
    double *delx[3];
};

inline double *allocate(long count)
{
    void *memory = std::malloc(sizeof(double) * static_cast<size_t>(count));
    if (!memory)
        throw std::bad_alloc();
    return static_cast<double *>(memory);
}

inline void release(double *memory)
{
    std::free(memory);
}

// setup.cpp
void place_nodes(Domain &d, double spacing);
void set_masses(Domain &d);
void deposit_energy(Domain &d, int element, double energy);
void first_time_step(Domain &d, double spacing, double energy);

// forces.cpp
void compute_forces(Domain &d);

// motion.cpp
void accelerate_nodes(Domain &d);
void move_nodes(Domain &d);

// kinematics.cpp
void update_kinematics(Domain &d, double *vnew);

// viscosity.cpp
void velocity_gradients(const Domain &d, const double *vnew, Gradients &g);
void limit_viscosity(Domain &d, const double *vnew, const Gradients &g);
void update_viscosity(Domain &d, const double *vnew);

// eos.cpp
void update_materials(Domain &d, const double *vnew);
void update_volumes(Domain &d, const double *vnew);

// timestep.cpp
double smallest_time_step(const Domain &d);
void advance_time(Domain &d, double limit);

}  // namespace hydro
