#include "exchange.hpp"

#include <mpi.h>

#include <cstddef>

namespace hydro {

namespace {

using Buffers = std::vector<std::vector<double>>;

// Sends one buffer to each of `to` and receives one from each of `from`, whose sizes are set.
long long swap_buffers(const std::vector<int> &to, const Buffers &out, const std::vector<int> &from, Buffers &in,
                       Traffic &traffic)
{
    std::vector<MPI_Request> requests(to.size() + from.size());
    long long bytes = 0;
    for (std::size_t i = 0; i < from.size(); i++)
        MPI_Irecv(in[i].data(), static_cast<int>(in[i].size()), MPI_DOUBLE, from[i], 0, MPI_COMM_WORLD,
                  &requests[i]);
    for (std::size_t i = 0; i < to.size(); i++) {
        MPI_Isend(out[i].data(), static_cast<int>(out[i].size()), MPI_DOUBLE, to[i], 0, MPI_COMM_WORLD,
                  &requests[from.size() + i]);
        bytes += static_cast<long long>(sizeof(double) * out[i].size());
        traffic.messages++;
    }
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    return bytes;
}

std::vector<int> ranks_of(const std::vector<Link> &links)
{
    std::vector<int> ranks;
    for (const Link &link : links)
        ranks.push_back(link.rank);
    return ranks;
}

// The fields at the nodes of each link, field by field.
Buffers pack(const std::vector<Link> &links, const Fields &fields)
{
    Buffers out;
    for (const Link &link : links) {
        out.emplace_back();
        for (const auto *field : fields)
            for (int node : link.list)
                out.back().push_back((*field)[node]);
    }
    return out;
}

long long trade(const std::vector<Link> &to, const std::vector<Link> &from, const Fields &fields, bool add,
                Traffic &traffic)
{
    Buffers in;
    for (const Link &link : from)
        in.emplace_back(fields.size() * link.list.size());
    long long bytes = swap_buffers(ranks_of(to), pack(to, fields), ranks_of(from), in, traffic);
    for (std::size_t i = 0; i < from.size(); i++) {
        const double *value = in[i].data();
        for (auto *field : fields)
            for (int node : from[i].list)
                (*field)[node] = add ? (*field)[node] + *value++ : *value++;
    }
    return bytes;
}

}  // namespace

void sum_at_owners(const Part &part, const Fields &fields, Traffic &traffic)
{
    traffic.fold += trade(part.owners, part.sharers, fields, true, traffic);
}

void copy_from_owners(const Part &part, const Fields &fields, Traffic &traffic)
{
    traffic.expand += trade(part.sharers, part.owners, fields, false, traffic);
}

void sum_at_all(const Part &part, const Fields &fields, Traffic &traffic)
{
    traffic.fold += trade(part.neighbours, part.neighbours, fields, true, traffic);
}

void exchange_faces(const Part &part, double *const values[3], Traffic &traffic)
{
    std::vector<int> ranks;
    Buffers out, in;
    for (const FaceLink &face : part.faces) {
        ranks.push_back(face.rank);
        in.emplace_back(face.inside.size());
        out.emplace_back();
        for (int element : face.inside)
            out.back().push_back(values[face.axis][element]);
    }
    traffic.gradients += swap_buffers(ranks, out, ranks, in, traffic);
    for (std::size_t i = 0; i < part.faces.size(); i++)
        for (std::size_t k = 0; k < in[i].size(); k++)
            values[part.faces[i].axis][part.faces[i].first_ghost + k] = in[i][k];
}

double smallest_of_all(double value, Traffic &traffic)
{
    int rank, ranks;
    double smallest;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Allreduce(&value, &smallest, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
    if (rank == 0)
        traffic.reductions += 2LL * (ranks - 1) * static_cast<long long>(sizeof(double));
    return smallest;
}

}  // namespace hydro
