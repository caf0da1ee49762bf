// Unstructured Lagrangian hydrodynamics on n x m quadrilateral zones, t cycles: points, four sides and four corners per zone,
// connected by index arrays only; all arrays come from one allocation template that keeps a list of them.
//
// Plain division: p1 x p2 blocks of zones with their sides and corners; a point belongs to the block of one of its zones. In a
// cycle the two coordinates and two velocities of a point go to each other block that has a zone of it; that block sends
// one sum of masses and two of forces: 7 words for each of (m + 1)(p1 - 1) + (n + 1)(p2 - 1) + (p1 - 1)(p2 - 1) pairs of a
// point and another block: 56 t times these. (The pressure and volume of a zone stay with it.)
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
#ifndef APART
#define APART __attribute__((noinline))
#endif
struct Memory {
  static std::vector<void *> &blocks() {
    static std::vector<void *> all;
    return all;
  }
  template <class T> static APART T *alloc(int count) {
    void *block = std::calloc(count, sizeof(T));
    blocks().push_back(block);
    return static_cast<T *>(block);
  }
};
struct double2 {
  double x, y;
};
struct Mesh {
  int nump, numz, nums;
  int *mapsz, *mapsp1, *mapsp2, *mapss3;  // of a side: zone, points, the side before
  int *first, *corner;                    // of a point: its corners (numbered as sides)
  double2 *px, *zx, *sf, *cf, *pf, *pu;
  double *zvol, *zm, *zr, *ze, *zp, *smf, *cmass, *pmass;
  void make_maps(int n, int m);
  void make_fields(int m);
};
void Mesh::make_maps(int n, int m) {
  nump = (n + 1) * (m + 1), numz = n * m, nums = 4 * numz;
  mapsz = Memory::alloc<int>(nums);
  mapsp1 = Memory::alloc<int>(nums);
  mapsp2 = Memory::alloc<int>(nums);
  mapss3 = Memory::alloc<int>(nums);
  first = Memory::alloc<int>(nump + 1);
  corner = Memory::alloc<int>(nums);
  for (int z = 0; z < numz; z++) {
    int p = z / m * (m + 1) + z % m;
    const int around[4] = {p, p + 1, p + m + 2, p + m + 1};
    for (int c = 0; c < 4; c++) {
      mapsz[4 * z + c] = z;
      mapsp1[4 * z + c] = around[c];
      mapsp2[4 * z + c] = around[(c + 1) % 4];
      mapss3[4 * z + c] = 4 * z + (c + 3) % 4;
    }
  }
  std::vector<std::vector<int>> of(nump);
  for (int s = 0; s < nums; s++) of[mapsp1[s]].push_back(s);
  for (int p = 0, at = 0; p < nump; p++) {
    first[p] = at;
    for (int s : of[p]) corner[at++] = s;
    first[p + 1] = at;
  }
}
void Mesh::make_fields(int m) {
  px = Memory::alloc<double2>(nump);
  pu = Memory::alloc<double2>(nump);
  pf = Memory::alloc<double2>(nump);
  pmass = Memory::alloc<double>(nump);
  zx = Memory::alloc<double2>(numz);
  zvol = Memory::alloc<double>(numz);
  zm = Memory::alloc<double>(numz);
  zr = Memory::alloc<double>(numz);
  ze = Memory::alloc<double>(numz);
  zp = Memory::alloc<double>(numz);
  sf = Memory::alloc<double2>(nums);
  smf = Memory::alloc<double>(nums);
  cf = Memory::alloc<double2>(nums);
  cmass = Memory::alloc<double>(nums);
  for (int p = 0; p < nump; p++) px[p] = {p / (m + 1) + 0.1 * (p % 3), p % (m + 1) + 0.1 * (p % 2)};
  for (int z = 0; z < numz; z++) zm[z] = 1 + z % 3, ze[z] = 1 + z % 5;
  for (int s = 0; s < nums; s++) smf[s] = 0.25;
}
static double area(double2 a, double2 b, double2 c) { return 0.5 * ((b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x)); }
static void centers(Mesh &g) {
  for (int z = 0; z < g.numz; z++) g.zx[z] = {0, 0};
  for (int s = 0; s < g.nums; s++) {
    g.zx[g.mapsz[s]].x += 0.25 * g.px[g.mapsp1[s]].x;
    g.zx[g.mapsz[s]].y += 0.25 * g.px[g.mapsp1[s]].y;
  }
}
static void volumes(Mesh &g) {
  for (int z = 0; z < g.numz; z++) g.zvol[z] = 0;
  for (int s = 0; s < g.nums; s++) g.zvol[g.mapsz[s]] += std::fabs(area(g.px[g.mapsp1[s]], g.px[g.mapsp2[s]], g.zx[g.mapsz[s]]));
}
static void states(Mesh &g) {
  for (int z = 0; z < g.numz; z++) {
    g.zr[z] = g.zm[z] / g.zvol[z];
    g.zp[z] = 0.4 * g.zr[z] * g.ze[z] / g.zm[z];
  }
}
static void side_forces(Mesh &g) {
  for (int s = 0; s < g.nums; s++) {
    double2 a = g.px[g.mapsp1[s]], b = g.px[g.mapsp2[s]], c = g.zx[g.mapsz[s]];
    double x = 0.5 * (a.x + b.x) - c.x, y = 0.5 * (a.y + b.y) - c.y;
    g.sf[s].x = -g.zp[g.mapsz[s]] * y;
    g.sf[s].y = g.zp[g.mapsz[s]] * x;
  }
}
static void corner_sums(Mesh &g) {
  for (int s = 0; s < g.nums; s++) {
    int s3 = g.mapss3[s];
    g.cf[s] = {g.sf[s].x - g.sf[s3].x, g.sf[s].y - g.sf[s3].y};
    g.cmass[s] = g.zr[g.mapsz[s]] * g.zvol[g.mapsz[s]] * 0.5 * (g.smf[s] + g.smf[s3]);
  }
}
static void point_sums(Mesh &g) {
  for (int p = 0; p < g.nump; p++) {
    double mass = 0;
    double2 f = {0, 0};
    for (int e = g.first[p]; e < g.first[p + 1]; e++) {
      mass += g.cmass[g.corner[e]];
      f.x += g.cf[g.corner[e]].x;
      f.y += g.cf[g.corner[e]].y;
    }
    g.pmass[p] = mass;
    g.pf[p] = f;
  }
}
static void move(Mesh &g, double dt) {
  for (int p = 0; p < g.nump; p++) {
    g.pu[p].x += dt * g.pf[p].x / g.pmass[p];
    g.pu[p].y += dt * g.pf[p].y / g.pmass[p];
    g.px[p].x += dt * g.pu[p].x;
    g.px[p].y += dt * g.pu[p].y;
  }
}
static void energies(Mesh &g, double dt) {
  for (int s = 0; s < g.nums; s++) {
    double2 a = g.pu[g.mapsp1[s]], b = g.pu[g.mapsp2[s]];
    g.ze[g.mapsz[s]] -= 0.5 * dt * (g.sf[s].x * (a.x + b.x) + g.sf[s].y * (a.y + b.y));
  }
}
extern "C" void kernel(Mesh &g, int t) {
  for (int c = 0; c < t; c++) {
    centers(g);
    volumes(g);
    states(g);
    side_forces(g);
    corner_sums(g);
    point_sums(g);
    move(g, 1e-3);
    energies(g, 1e-3);
  }
}
int main(int, char **argv) {
  Mesh g;
  g.make_maps(std::atoi(argv[1]), std::atoi(argv[2]));
  g.make_fields(std::atoi(argv[2]));
  kernel(g, std::atoi(argv[3]));
  double sum = 0;
  for (int z = 0; z < g.numz; z++) sum += g.ze[z];
  std::printf("%.10e\n", sum);
}
