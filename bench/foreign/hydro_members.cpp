// Staggered Lagrangian hydrodynamics on an unstructured mesh: points, sides and zones are members of classes.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

struct double2 {
    double x, y;
    double2(double x_ = 0, double y_ = 0) : x(x_), y(y_) {}
    double2 &operator+=(const double2 &o) { x += o.x; y += o.y; return *this; }
};
static inline double2 operator+(const double2 &a, const double2 &b) { return double2(a.x + b.x, a.y + b.y); }
static inline double2 operator-(const double2 &a, const double2 &b) { return double2(a.x - b.x, a.y - b.y); }
static inline double2 operator*(double s, const double2 &a) { return double2(s * a.x, s * a.y); }
static inline double cross(const double2 &a, const double2 &b) { return a.x * b.y - a.y * b.x; }

class Mesh {
public:
    int nump, nums, numz;
    std::vector<int> mapsp1, mapsp2, mapsz, mapss3; // side -> points, zone, previous side
    double2 *px, *pxp, *zx;
    double *sarea, *svol, *zarea, *zvol;

    explicit Mesh(int n) : nump((n + 1) * (n + 1)), nums(4 * n * n), numz(n * n) {
        mapsp1.resize(nums); mapsp2.resize(nums); mapsz.resize(nums); mapss3.resize(nums);
        px = new double2[nump]; pxp = new double2[nump]; zx = new double2[numz];
        sarea = new double[nums]; svol = new double[nums]; zarea = new double[numz]; zvol = new double[numz];
        for (int j = 0, p = 0; j <= n; j++)
            for (int i = 0; i <= n; i++, p++)
                px[p] = double2(double(i) / n, double(j) / n);
        for (int z = 0, s = 0; z < numz; z++) {
            int p = z / n * (n + 1) + z % n;
            int corner[4] = {p, p + 1, p + n + 2, p + n + 1};
            for (int k = 0; k < 4; k++, s++) {
                mapsp1[s] = corner[k];
                mapsp2[s] = corner[(k + 1) % 4];
                mapsz[s] = z;
                mapss3[s] = 4 * z + (k + 3) % 4;
            }
        }
    }

    void calcCtrs(const double2 *x) {
        for (int z = 0; z < numz; z++) zx[z] = double2();
        for (int s = 0; s < nums; s++) zx[mapsz[s]] += x[mapsp1[s]];
        for (int z = 0; z < numz; z++) zx[z] = 0.25 * zx[z];
    }

    void calcVols(const double2 *x) {
        for (int z = 0; z < numz; z++) { zarea[z] = 0.; zvol[z] = 0.; }
        for (int s = 0; s < nums; s++) {
            int p1 = mapsp1[s], p2 = mapsp2[s], z = mapsz[s];
            double sa = 0.5 * cross(x[p2] - x[p1], zx[z] - x[p1]);
            double sv = sa * (x[p1].x + x[p2].x + zx[z].x) / 3.;
            sarea[s] = sa;
            svol[s] = sv;
            zarea[z] += sa;
            zvol[z] += sv;
        }
    }
};

class Hydro {
public:
    Mesh *mesh;
    double2 *pu, *pf, *sf;
    double *zm, *ze, *zr, *zp, *pm, *maswt;
    double dt;

    explicit Hydro(Mesh *m) : mesh(m), dt(1e-4) {
        pu = new double2[m->nump]; pf = new double2[m->nump]; sf = new double2[m->nums];
        zm = new double[m->numz]; ze = new double[m->numz]; zr = new double[m->numz]; zp = new double[m->numz];
        pm = new double[m->nump]; maswt = new double[m->nums];
        m->calcCtrs(m->px);
        m->calcVols(m->px);
        for (int z = 0; z < m->numz; z++) {
            zm[z] = m->zarea[z];
            ze[z] = z % 5 == 0 ? 1.5 * zm[z] : zm[z];
        }
    }

    void doCycle() {
        Mesh *m = mesh;
        double2 *px = m->px, *pxp = m->pxp;
        for (int p = 0; p < m->nump; p++) pxp[p] = px[p] + (0.5 * dt) * pu[p];
        m->calcCtrs(pxp);
        m->calcVols(pxp);
        for (int z = 0; z < m->numz; z++) {
            zr[z] = zm[z] / m->zarea[z];
            double e = ze[z] / zm[z];
            zp[z] = (e > 0. ? e : 0.) * zr[z] * (5. / 3. - 1.);
        }
        for (int p = 0; p < m->nump; p++) { pf[p] = double2(); pm[p] = 0.; }
        for (int s = 0; s < m->nums; s++) {
            int z = m->mapsz[s];
            double2 surf = m->zx[z] - 0.5 * (pxp[m->mapsp1[s]] + pxp[m->mapsp2[s]]);
            sf[s] = (-zp[z]) * double2(-surf.y, surf.x);
            maswt[s] = 0.25 * zm[z];
        }
        for (int s = 0; s < m->nums; s++) {
            int s3 = m->mapss3[s], p = m->mapsp1[s];
            pf[p] += sf[s] - sf[s3];
            pm[p] += maswt[s];
        }
        for (int p = 0; p < m->nump; p++) {
            double2 a = (1. / pm[p]) * pf[p];
            px[p] += dt * (pu[p] + (0.5 * dt) * a);
            pu[p] += dt * a;
        }
        m->calcCtrs(px);
        m->calcVols(px);
        for (int s = 0; s < m->nums; s++) {
            double2 u = 0.5 * (pu[m->mapsp1[s]] + pu[m->mapsp2[s]]);
            ze[m->mapsz[s]] -= dt * (sf[s].x * u.x + sf[s].y * u.y);
        }
        double most = 0.;
        for (int z = 0; z < m->numz; z++) {
            double c = std::sqrt(zp[z] / zr[z]) / std::sqrt(m->zarea[z]);
            most = c > most ? c : most;
        }
        double limit = 0.1 / most;
        dt = 1.1 * dt < limit ? 1.1 * dt : limit;
    }
};

int main(int argc, char **argv) {
    int n = argc > 1 ? std::atoi(argv[1]) : 60, cycles = argc > 2 ? std::atoi(argv[2]) : 50;
    Mesh mesh(n);
    Hydro hydro(&mesh);
    for (int c = 0; c < cycles; c++) hydro.doCycle();
    std::printf("%.10e %.10e\n", hydro.ze[mesh.numz / 3], hydro.dt);
    return 0;
}
