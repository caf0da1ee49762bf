#include "mesh.hpp"

namespace hydro {

namespace {

int neighbour_along(int index, int edge, int step, int stride, int element)
{
    int beyond = index + step;
    if (beyond < 0)
        return SYMMETRY_PLANE;
    return beyond < edge ? element + step * stride : FREE_SURFACE;
}

void connect(Mesh &mesh, int edge, int i, int j, int k)
{
    int row = edge + 1;
    int element = (k * edge + j) * edge + i;
    for (int c = 0; c < CORNERS; c++) {
        int x = i + (c & 1), y = j + (c >> 1 & 1), z = k + (c >> 2);
        mesh.nodelist[CORNERS * element + c] = (z * row + y) * row + x;
    }
    const int index[3] = {i, j, k};
    int stride = 1;
    for (int axis = 0; axis < 3; axis++) {
        int *pair = &mesh.neighbour[FACES * element + 2 * axis];
        pair[0] = neighbour_along(index[axis], edge, -1, stride, element);
        pair[1] = neighbour_along(index[axis], edge, 1, stride, element);
        stride *= edge;
    }
    mesh.material[material_of(i, j, k, edge)].push_back(element);
}

}  // namespace

int material_of(int i, int j, int k, int edge)
{
    int x = 2 * i + 1, y = 2 * j + 1, z = 2 * k + 1;
    return x * x + y * y + z * z > edge * edge;
}

void list_corners(Mesh &mesh)
{
    int corners = CORNERS * mesh.elements;
    mesh.corner_start.assign(mesh.nodes + 1, 0);
    mesh.corner_list.resize(corners);
    for (int c = 0; c < corners; c++)
        mesh.corner_start[mesh.nodelist[c] + 1]++;
    for (int n = 0; n < mesh.nodes; n++)
        mesh.corner_start[n + 1] += mesh.corner_start[n];
    std::vector<int> filled(mesh.corner_start.begin(), mesh.corner_start.end() - 1);
    for (int c = 0; c < corners; c++)
        mesh.corner_list[filled[mesh.nodelist[c]]++] = c;
}

Mesh cube_mesh(int edge)
{
    Mesh mesh;
    int row = edge + 1;
    mesh.elements = edge * edge * edge;
    mesh.nodes = row * row * row;
    mesh.nodelist.resize(CORNERS * mesh.elements);
    mesh.neighbour.resize(FACES * mesh.elements);
    for (int k = 0; k < edge; k++)
        for (int j = 0; j < edge; j++)
            for (int i = 0; i < edge; i++)
                connect(mesh, edge, i, j, k);
    for (int b = 0; b < row; b++)
        for (int a = 0; a < row; a++) {
            mesh.symmetry[0].push_back((b * row + a) * row);
            mesh.symmetry[1].push_back(b * row * row + a);
            mesh.symmetry[2].push_back(b * row + a);
        }
    list_corners(mesh);
    return mesh;
}

}  // namespace hydro
