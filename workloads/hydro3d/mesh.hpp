// Connectivity of a hexahedral mesh: which nodes are the corners of an element, which elements share its faces.
#pragma once

#include <vector>

namespace hydro {

constexpr int CORNERS = 8;
constexpr int FACES = 6;

// Entries of the neighbour list where the mesh ends.
constexpr int SYMMETRY_PLANE = -1;
constexpr int FREE_SURFACE = -2;

// Corner c of an element lies at (c & 1, c >> 1 & 1, c >> 2) of its unit cube. Faces come in pairs: 2 a is the
// lower and 2 a + 1 the upper face of axis a.
struct Mesh {
    int elements = 0;
    int nodes = 0;
    std::vector<int> nodelist;      // elements x CORNERS
    std::vector<int> neighbour;     // elements x FACES
    std::vector<int> corner_start;  // nodes + 1: where the corners of a node begin in corner_list
    std::vector<int> corner_list;   // CORNERS * element + corner
    std::vector<int> symmetry[3];   // nodes on the planes x = 0, y = 0, z = 0
    std::vector<int> material[2];   // elements of each material
};

// 0 in a ball around the origin, 1 outside it.
int material_of(int i, int j, int k, int edge);

// Mesh of the cube of edge^3 elements, numbered x fastest.
Mesh cube_mesh(int edge);

// For each node, the element corners that meet there.
void list_corners(Mesh &mesh);

}  // namespace hydro
