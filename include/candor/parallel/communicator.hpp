#pragma once

/// What candor asks of MPI, in its own words. Counts are 64-bit: larger transfers go in pieces.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace candor::parallel {

/// A group of ranks. Every member but `rank`, `size` and `native` is collective.
class Communicator {
  public:
    /// All ranks of the program. @pre an MPI session is open.
    static Communicator world();

    int rank() const { return rank_; }
    int size() const { return size_; }

    void barrier() const;
    /// Rank `root`'s bytes on every rank.
    std::string broadcast(std::string bytes, int root = 0) const;
    /// Element-wise sum over ranks, in place; exact in any order.
    void sum(std::span<std::int64_t> values) const;
    /// Element-wise maximum over ranks, in place.
    void maximum(std::span<std::int64_t> values) const;
    /// Every rank's bytes on every rank, by rank.
    std::vector<std::string> all_gather(const std::string& bytes) const;
    /// Every rank's bytes on `root`, by rank; empty elsewhere.
    std::vector<std::string> gather(const std::string& bytes, int root = 0) const;
    /// Sends `outgoing[r]` to rank r; @returns what each rank sent here, by rank.
    std::vector<std::string> exchange(const std::vector<std::string>& outgoing) const;

    /// The MPI_Comm behind it, for HDF5's own driver only (the room `store`).
    const void* native() const { return &handle_; }

  private:
    Communicator(void* handle, int rank, int size) : handle_(handle), rank_(rank), size_(size) {}
    void* handle_;  // an MPI_Comm of Open MPI is a pointer; checked in the source
    int rank_, size_;
};

}  // namespace candor::parallel
