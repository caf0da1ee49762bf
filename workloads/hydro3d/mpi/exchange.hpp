// Messages between the ranks. Every byte given to MPI_Isend is counted.
#pragma once

#include <vector>

#include "decomposition.hpp"

namespace hydro {

using Fields = std::vector<std::vector<double> *>;

struct Traffic {
    long long fold = 0;        // partial sums of nodes
    long long expand = 0;      // sums, positions or velocities of nodes
    long long gradients = 0;   // values of neighbour elements
    long long reductions = 0;  // all-reductions as 2 (p - 1) words
    long long messages = 0;    // without the reductions
};

// Adds up the contributions to shared nodes at their owners.
void sum_at_owners(const Part &part, const Fields &fields, Traffic &traffic);

// Gives the owners' values of shared nodes to the other sharers.
void copy_from_owners(const Part &part, const Fields &fields, Traffic &traffic);

// Every sharer sends its contribution to every other one and adds up what it gets.
void sum_at_all(const Part &part, const Fields &fields, Traffic &traffic);

// Values of the elements beyond each face; values[axis] is used for the two faces of that axis.
void exchange_faces(const Part &part, double *const values[3], Traffic &traffic);

// Smallest of all ranks' values.
double smallest_of_all(double value, Traffic &traffic);

}  // namespace hydro
