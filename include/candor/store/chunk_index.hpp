#pragma once

/// Where the chunks of an HDF5 dataset are in its file, so that neighbours are read at once: HDF5 takes a
/// system call and some microseconds for each, and 1.10 names the places of n chunks in a time that grows as
/// n^2.

#include <hdf5.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "candor/store/input_file.hpp"

namespace candor::store {

/// A two-dimensional dataset of `across` x `down` chunks of `rows` x `cols` numbers, `bytes` each.
struct ChunkGrid {
    std::int64_t rows = 1, cols = 1, bytes = 1;
    std::int64_t down = 1, across = 1;
};

/// Offset in `file` of every chunk, row by row of the grid, from the version-1 B-tree that HDF5 writes unless
/// told to use newer formats. Nothing where the dataset has another index or an object header of another
/// kind, where a chunk is missing, filtered or of another size, or where anything is damaged: HDF5 can tell.
/// Source: HDF5 File Format Specification 3.0, III.A.1 "Version 1 B-trees", IV.A.1.a "Version 1 Data Object
/// Header Prefix", IV.A.2.i "The Data Layout Message".
std::optional<std::vector<std::int64_t>> chunk_offsets(const InputFile& file, hid_t dataset,
                                                       const ChunkGrid& grid);

}  // namespace candor::store
