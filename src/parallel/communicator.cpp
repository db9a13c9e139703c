#include "candor/parallel/communicator.hpp"

#include <algorithm>
#include <cstring>

#include "check.hpp"

namespace candor::parallel {

namespace {

constexpr std::int64_t piece = std::int64_t{1} << 30;  // MPI counts are int: larger transfers go in pieces

static_assert(sizeof(MPI_Comm) <= sizeof(void*), "the handle of a communicator fits a pointer");

MPI_Comm comm_of(const Communicator& communicator) {
    MPI_Comm comm;
    std::memcpy(&comm, communicator.native(), sizeof comm);
    return comm;
}

template <class Call>
void in_pieces(std::int64_t total, Call call) {
    for (std::int64_t first = 0; first < total; first += piece) {
        call(first, static_cast<int>(std::min(piece, total - first)));
    }
}

void reduce(const Communicator& world, std::span<std::int64_t> values, MPI_Op op) {
    const auto total = static_cast<std::int64_t>(values.size());
    in_pieces(total, [&](std::int64_t first, int count) {
        check(MPI_Allreduce(MPI_IN_PLACE, values.data() + first, count, MPI_INT64_T, op, comm_of(world)),
              "MPI_Allreduce");
    });
}

}  // namespace

Communicator Communicator::world() {
    MPI_Comm comm = MPI_COMM_WORLD;
    void* handle = nullptr;
    std::memcpy(&handle, &comm, sizeof comm);
    int rank = 0, size = 0;
    check(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
    check(MPI_Comm_size(comm, &size), "MPI_Comm_size");
    return {handle, rank, size};
}

void Communicator::barrier() const {
    check(MPI_Barrier(comm_of(*this)), "MPI_Barrier");
}

std::string Communicator::broadcast(std::string bytes, int root) const {
    auto total = static_cast<std::int64_t>(bytes.size());
    check(MPI_Bcast(&total, 1, MPI_INT64_T, root, comm_of(*this)), "MPI_Bcast");
    bytes.resize(static_cast<std::size_t>(total));
    in_pieces(total, [&](std::int64_t first, int count) {
        check(MPI_Bcast(bytes.data() + first, count, MPI_CHAR, root, comm_of(*this)), "MPI_Bcast");
    });
    return bytes;
}

void Communicator::sum(std::span<std::int64_t> values) const {
    reduce(*this, values, MPI_SUM);
}

void Communicator::maximum(std::span<std::int64_t> values) const {
    reduce(*this, values, MPI_MAX);
}

std::vector<std::string> Communicator::all_gather(const std::string& bytes) const {
    std::vector<std::string> all(static_cast<std::size_t>(size_));
    for (int root = 0; root < size_; ++root) {
        all[static_cast<std::size_t>(root)] = broadcast(root == rank_ ? bytes : std::string(), root);
    }
    return all;
}

std::vector<std::string> Communicator::gather(const std::string& bytes, int root) const {
    std::vector<std::string> outgoing(static_cast<std::size_t>(size_));
    outgoing[static_cast<std::size_t>(root)] = bytes;
    std::vector<std::string> incoming = exchange(outgoing);
    if (rank_ != root) incoming.clear();
    return incoming;
}

std::vector<std::string> Communicator::exchange(const std::vector<std::string>& outgoing) const {
    const MPI_Comm comm = comm_of(*this);
    const auto ranks = static_cast<std::size_t>(size_);
    std::vector<std::int64_t> sizes_out(ranks), sizes_in(ranks);
    for (std::size_t r = 0; r < ranks; ++r) sizes_out[r] = static_cast<std::int64_t>(outgoing[r].size());
    check(MPI_Alltoall(sizes_out.data(), 1, MPI_INT64_T, sizes_in.data(), 1, MPI_INT64_T, comm),
          "MPI_Alltoall");

    std::vector<std::string> incoming(ranks);
    std::vector<MPI_Request> requests;
    for (std::size_t r = 0; r < ranks; ++r) {
        incoming[r].resize(static_cast<std::size_t>(sizes_in[r]));
        in_pieces(sizes_in[r], [&](std::int64_t first, int count) {
            requests.emplace_back();
            check(MPI_Irecv(incoming[r].data() + first, count, MPI_CHAR, static_cast<int>(r), 0, comm,
                            &requests.back()),
                  "MPI_Irecv");
        });
    }
    for (std::size_t r = 0; r < ranks; ++r) {
        in_pieces(sizes_out[r], [&](std::int64_t first, int count) {
            requests.emplace_back();
            check(MPI_Isend(outgoing[r].data() + first, count, MPI_CHAR, static_cast<int>(r), 0, comm,
                            &requests.back()),
                  "MPI_Isend");
        });
    }
    check(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE),
          "MPI_Waitall");
    return incoming;
}

}  // namespace candor::parallel
