// The part of the cube that one rank has, and which of its nodes and elements touch other ranks.
#pragma once

#include <vector>

#include "mesh.hpp"

namespace hydro {

// Nodes or elements exchanged with one rank, in the same order on both sides.
struct Link {
    int rank;
    std::vector<int> list;
};

// Element values of a face: those of the elements inside it go out, those beyond come in as ghost elements.
struct FaceLink {
    int rank;
    int axis;
    std::vector<int> inside;
    int first_ghost;
};

struct Part {
    int edge;       // elements per edge of the whole cube
    int ranks;      // ranks per edge
    int place[3];   // of this rank
    int size;       // elements per edge of the part
    Mesh mesh;      // local numbers; neighbour entries beyond mesh.elements are ghosts
    int ghosts;
    std::vector<char> owned;        // per node: this rank is the first of its sharers
    std::vector<Link> owners;       // nodes that other ranks own
    std::vector<Link> sharers;      // own nodes that other ranks share
    std::vector<Link> neighbours;   // nodes shared with each rank, whoever owns them
    std::vector<FaceLink> faces;
};

Part make_part(int edge, int ranks_per_edge, int rank);

}  // namespace hydro
