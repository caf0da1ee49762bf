#include "decomposition.hpp"

namespace hydro {

namespace {

// Position of a node of the part relative to one axis: does the neighbour in direction `step` (-1, 0, 1) share it?
bool touches(const Part &part, int axis, int index, int step)
{
    int place = part.place[axis] + step;
    if (place < 0 || place >= part.ranks)
        return false;
    return step == 0 || index == (step < 0 ? 0 : part.size);
}

// The owner of a node is the lowest of its sharers: step -1 on the lower boundary of the part, else 0.
bool owner_is_below(const Part &part, int axis, int index)
{
    return index == 0 && part.place[axis] > 0;
}

bool shared(const Part &part, const int node[3], const int step[3])
{
    return touches(part, 0, node[0], step[0]) && touches(part, 1, node[1], step[1]) &&
           touches(part, 2, node[2], step[2]);
}

// Does the owner of the node lie in this direction?
bool owned_there(const Part &part, const int node[3], const int step[3])
{
    for (int axis = 0; axis < 3; axis++)
        if ((step[axis] < 0) != owner_is_below(part, axis, node[axis]))
            return false;
    return true;
}

int rank_at(const Part &part, const int step[3])
{
    int x = part.place[0] + step[0], y = part.place[1] + step[1], z = part.place[2] + step[2];
    return (z * part.ranks + y) * part.ranks + x;
}

// The nodes exchanged with the rank in one direction.
void link_nodes(Part &part, const int step[3])
{
    Link owner = {rank_at(part, step), {}}, sharer = owner, both = owner;
    bool down = step[0] <= 0 && step[1] <= 0 && step[2] <= 0;
    bool up = step[0] >= 0 && step[1] >= 0 && step[2] >= 0;
    int row = part.size + 1;
    for (int n = 0; n < part.mesh.nodes; n++) {
        const int node[3] = {n % row, n / row % row, n / row / row};
        if (!shared(part, node, step))
            continue;
        both.list.push_back(n);
        if (down && owned_there(part, node, step))
            owner.list.push_back(n);
        // Seen from the sharer, this rank is the owner: no lower rank may share the node.
        if (up && part.owned[n])
            sharer.list.push_back(n);
    }
    if (!both.list.empty())
        part.neighbours.push_back(both);
    if (!owner.list.empty())
        part.owners.push_back(owner);
    if (!sharer.list.empty())
        part.sharers.push_back(sharer);
}

void find_owned(Part &part)
{
    int row = part.size + 1;
    part.owned.resize(part.mesh.nodes);
    for (int n = 0; n < part.mesh.nodes; n++)
        part.owned[n] = !owner_is_below(part, 0, n % row) && !owner_is_below(part, 1, n / row % row) &&
                        !owner_is_below(part, 2, n / row / row);
}

// Connects the elements of one face to ghosts if a rank lies beyond it.
void link_face(Part &part, int face)
{
    int axis = face / 2, upper = face % 2;
    int step[3] = {0, 0, 0};
    step[axis] = upper ? 1 : -1;
    int beyond = part.place[axis] + step[axis];
    if (beyond < 0)
        return;
    FaceLink link = {0, axis, {}, part.mesh.elements + part.ghosts};
    for (int element = 0; element < part.mesh.elements; element++) {
        int &entry = part.mesh.neighbour[FACES * element + face];
        if (entry >= 0)
            continue;
        entry = FREE_SURFACE;
        if (beyond < part.ranks) {
            entry = part.mesh.elements + part.ghosts++;
            link.inside.push_back(element);
        }
    }
    link.rank = rank_at(part, step);
    if (beyond < part.ranks)
        part.faces.push_back(link);
}

void place_in_cube(Part &part)
{
    Mesh &mesh = part.mesh;
    for (int axis = 0; axis < 3; axis++)
        if (part.place[axis] > 0)
            mesh.symmetry[axis].clear();
    mesh.material[0].clear();
    mesh.material[1].clear();
    for (int element = 0; element < mesh.elements; element++) {
        int i = element % part.size + part.place[0] * part.size;
        int j = element / part.size % part.size + part.place[1] * part.size;
        int k = element / part.size / part.size + part.place[2] * part.size;
        mesh.material[material_of(i, j, k, part.edge)].push_back(element);
    }
}

}  // namespace

Part make_part(int edge, int ranks_per_edge, int rank)
{
    Part part;
    part.edge = edge;
    part.ranks = ranks_per_edge;
    part.size = edge / ranks_per_edge;
    part.place[0] = rank % ranks_per_edge;
    part.place[1] = rank / ranks_per_edge % ranks_per_edge;
    part.place[2] = rank / ranks_per_edge / ranks_per_edge;
    part.mesh = cube_mesh(part.size);
    part.ghosts = 0;
    place_in_cube(part);
    find_owned(part);
    for (int direction = 0; direction < 27; direction++) {
        const int step[3] = {direction % 3 - 1, direction / 3 % 3 - 1, direction / 9 - 1};
        if (direction != 13)
            link_nodes(part, step);
    }
    for (int face = 0; face < FACES; face++)
        link_face(part, face);
    return part;
}

}  // namespace hydro
