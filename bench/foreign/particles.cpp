// Particles as structures in a vector move in a field kept as arrays; reflected at walls, sampled to a grid.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

struct Particle {
    float x, y, vx, vy;
    double weight;
    int cell;
};

struct Field {
    std::vector<float> ex, ey;
    std::vector<double> density;
    int n;
};

class Simulation {
public:
    Simulation(int n, int count) : particles_(count) {
        field_.n = n;
        field_.ex.resize(n * n);
        field_.ey.resize(n * n);
        field_.density.resize(n * n);
        for (int i = 0; i < n * n; i++) {
            field_.ex[i] = 0.01f * (i % 13 - 6);
            field_.ey[i] = 0.01f * (i % 17 - 8);
        }
        unsigned state = 3;
        for (auto &p : particles_) {
            state = state * 1664525u + 1013904223u;
            p.x = n * ((state >> 8) / 16777216.0f);
            state = state * 1664525u + 1013904223u;
            p.y = n * ((state >> 8) / 16777216.0f);
            p.vx = p.vy = 0.0f;
            p.weight = 1.0;
        }
    }
    void push(float dt) {
        const float top = static_cast<float>(field_.n) - 0.001f;
        for (auto &p : particles_) {
            p.cell = static_cast<int>(p.y) * field_.n + static_cast<int>(p.x);
            p.vx += dt * field_.ex[p.cell];
            p.vy += dt * field_.ey[p.cell];
            p.x += dt * p.vx;
            p.y += dt * p.vy;
            if (p.x < 0.0f || p.x > top) { p.vx = -p.vx; p.x = p.x < 0.0f ? 0.0f : top; }
            if (p.y < 0.0f || p.y > top) { p.vy = -p.vy; p.y = p.y < 0.0f ? 0.0f : top; }
        }
    }
    void sample() {
        for (auto &d : field_.density) d = 0.0;
        for (const auto &p : particles_) field_.density[p.cell] += p.weight;
    }
    double centre() const { return field_.density[field_.n * field_.n / 2]; }
    double first() const { return particles_[0].x; }

private:
    Field field_;
    std::vector<Particle> particles_;
};

int main(int argc, char **argv) {
    int count = argc > 1 ? std::atoi(argv[1]) : 100000, steps = argc > 2 ? std::atoi(argv[2]) : 30;
    Simulation simulation(64, count);
    for (int s = 0; s < steps; s++) {
        simulation.push(0.1f);
        simulation.sample();
    }
    std::printf("%.6e %.6e\n", simulation.centre(), simulation.first());
    return 0;
}
