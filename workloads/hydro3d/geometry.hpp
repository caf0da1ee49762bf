// Geometry of one element.
#pragma once

#include <cmath>

#include "domain.hpp"

namespace hydro {

// Corners of each face, in the order that makes the normal point out of the element.
constexpr int FACE_CORNERS[FACES][4] = {{0, 4, 6, 2}, {1, 3, 7, 5}, {0, 1, 5, 4},
                                        {2, 6, 7, 3}, {0, 2, 3, 1}, {4, 5, 7, 6}};

inline void gather(const Mesh &mesh, int element, const std::vector<double> &x, const std::vector<double> &y,
                   const std::vector<double> &z, Corners &local)
{
    const int *nodes = &mesh.nodelist[CORNERS * element];
    for (int c = 0; c < CORNERS; c++) {
        local.x[c] = x[nodes[c]];
        local.y[c] = y[nodes[c]];
        local.z[c] = z[nodes[c]];
    }
}

// Area vector of a face: half the cross product of its diagonals.
inline void face_area(const Corners &at, int face, double area[3])
{
    const int *f = FACE_CORNERS[face];
    double ax = at.x[f[2]] - at.x[f[0]], bx = at.x[f[3]] - at.x[f[1]];
    double ay = at.y[f[2]] - at.y[f[0]], by = at.y[f[3]] - at.y[f[1]];
    double az = at.z[f[2]] - at.z[f[0]], bz = at.z[f[3]] - at.z[f[1]];
    area[0] = 0.5 * (ay * bz - az * by);
    area[1] = 0.5 * (az * bx - ax * bz);
    area[2] = 0.5 * (ax * by - ay * bx);
}

// Corner area vectors b[axis][corner]: a quarter of the faces that meet at the corner.
inline void corner_areas(const Corners &at, double b[3][CORNERS])
{
    for (int axis = 0; axis < 3; axis++)
        for (int c = 0; c < CORNERS; c++)
            b[axis][c] = 0.0;
    for (int face = 0; face < FACES; face++) {
        double area[3];
        face_area(at, face, area);
        for (int i = 0; i < 4; i++)
            for (int axis = 0; axis < 3; axis++)
                b[axis][FACE_CORNERS[face][i]] += 0.25 * area[axis];
    }
}

// Volume: a third of the sum of face centre times area vector, exact for bilinear faces.
inline double volume(const Corners &at)
{
    double sum = 0.0;
    for (int face = 0; face < FACES; face++) {
        double area[3], centre[3] = {0.0, 0.0, 0.0};
        face_area(at, face, area);
        for (int i = 0; i < 4; i++) {
            int c = FACE_CORNERS[face][i];
            centre[0] += at.x[c];
            centre[1] += at.y[c];
            centre[2] += at.z[c];
        }
        sum += area[0] * centre[0] + area[1] * centre[1] + area[2] * centre[2];
    }
    return sum / 12.0;
}

// Characteristic length: volume over the largest face.
inline double shortest_extent(const Corners &at, double volume_now)
{
    double largest = 0.0;
    for (int face = 0; face < FACES; face++) {
        double a[3];
        face_area(at, face, a);
        double square = a[0] * a[0] + a[1] * a[1] + a[2] * a[2];
        largest = square > largest ? square : largest;
    }
    return volume_now / std::sqrt(largest);
}

}  // namespace hydro
