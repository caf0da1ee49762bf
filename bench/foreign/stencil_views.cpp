// Heat equation in three dimensions; arrays are views with operator(), kernels are lambdas.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>

class View {
public:
    View(int nx, int ny, int nz) : nx_(nx), ny_(ny), nz_(nz), data_(std::make_unique<double[]>(nx * ny * nz)) {}
    double &operator()(int i, int j, int k) { return data_[(i * ny_ + j) * nz_ + k]; }
    double operator()(int i, int j, int k) const { return data_[(i * ny_ + j) * nz_ + k]; }
    int nx() const { return nx_; }
    int ny() const { return ny_; }
    int nz() const { return nz_; }

private:
    int nx_, ny_, nz_;
    std::unique_ptr<double[]> data_;
};

template <class Body>
static void inside(const View &v, Body &&body) {
    for (int i = 1; i < v.nx() - 1; i++)
        for (int j = 1; j < v.ny() - 1; j++)
            for (int k = 1; k < v.nz() - 1; k++) body(i, j, k);
}

int main(int argc, char **argv) {
    int n = argc > 1 ? std::atoi(argv[1]) : 64, steps = argc > 2 ? std::atoi(argv[2]) : 50;
    View a(n, n, n), b(n, n, n);
    inside(a, [&](int i, int j, int k) { a(i, j, k) = 0.01 * ((i * 3 + j * 5 + k * 7) % 19); });
    for (int s = 0; s < steps; s++) {
        inside(a, [&](int i, int j, int k) {
            b(i, j, k) = 0.4 * a(i, j, k)
                + 0.1 * (a(i - 1, j, k) + a(i + 1, j, k) + a(i, j - 1, k) + a(i, j + 1, k) + a(i, j, k - 1)
                         + a(i, j, k + 1));
        });
        std::swap(a, b);
    }
    std::printf("%.10e\n", a(n / 2, n / 3, n / 4));
    return 0;
}
