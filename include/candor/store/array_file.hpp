#pragma once

/// What `candor import` reads besides CSV: a matrix, or the ids of its rows, out of any kind of file.

#include <memory>
#include <string>
#include <vector>

#include "candor/store/array.hpp"

namespace candor::store {

/// The matrix `name` of an `.npy` (no name), `.npz` (an array) or HDF5 file (a dataset). Without a name: of
/// an
/// `.npz`, "features" or its only array; of HDF5, /features.
/// @throws UsageError where a name is missing or has no meaning; DataError as npy_array, Npz and hdf5_array
/// do.
std::unique_ptr<Array> open_array(const std::string& path, const std::string& name = {});

/// The texts `name` of a file, one a row: `.npy`, `.npz` (default "image_id"), HDF5 (default /image_id), or
/// plain text with one a line (UTF-8; a byte-order mark and CRLF allowed; blank lines only at the end).
/// @throws as open_array; DataError with the line where a text file has a blank line before its end.
std::vector<std::string> open_texts(const std::string& path, const std::string& name = {});

/// The regions of an erased feature file in HDF5 (/finding), empty where it has none.
std::vector<std::string> findings_of(const std::string& path);

}  // namespace candor::store
