// The next time step: no sound wave may cross an element, no volume may change too much.
#include <cmath>

#include "domain.hpp"

namespace hydro {

double smallest_time_step(const Domain &d)
{
    double smallest = 1e20;
    for (int element = 0; element < d.mesh.elements; element++) {
        double rate = d.vdov[element];
        double speed = d.ss[element];
        if (rate < 0.0) {
            double jump = 2.0 * d.par.q_quadratic * d.arealg[element] * rate;
            speed = std::sqrt(speed * speed + jump * jump);
        }
        double limit = d.par.courant * d.arealg[element] / speed;
        double change = d.par.max_change / (std::fabs(rate) + 1e-20);
        if (change < limit)
            limit = change;
        if (limit < smallest)
            smallest = limit;
    }
    return smallest;
}

void advance_time(Domain &d, double limit)
{
    d.time += d.dt;
    double longest = d.dt * d.par.growth;
    d.dt = limit < longest ? limit : longest;
}

}  // namespace hydro
