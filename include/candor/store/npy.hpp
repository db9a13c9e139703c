#pragma once

/// NumPy's `.npy` files (format versions 1, 2 and 3), read strictly: a header is understood whole or refused.
/// Source: numpy.lib.format, "Format Version 1.0" to "3.0".

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "candor/store/array.hpp"
#include "candor/store/input_file.hpp"

namespace candor::store {

/// What the header of an `.npy` file says.
struct NpyHeader {
    std::string descr;                ///< e.g. "<f4"; "" where the array has named fields
    bool fortran_order = false;       ///< the first index runs fastest
    std::vector<std::int64_t> shape;  ///< () is a single number
    std::int64_t data_offset = 0;     ///< bytes from the start of the file to the data
};

/// Parses the header at the beginning of `head`, which is the start of the file or all of it.
/// @throws DataError naming `file`: no magic, an unknown version, a header that is cut short or is not the
///         dictionary of exactly `descr`, `fortran_order` and `shape`.
NpyHeader parse_npy_header(const std::string& file, std::span<const std::byte> head);

/// The bytes of an `.npy` array: a file, or a member of an archive in memory.
class NpyBytes {
  public:
    explicit NpyBytes(InputFile file);
    /// `name` stands for the bytes in messages.
    NpyBytes(std::string name, std::vector<std::byte> bytes);

    const std::string& name() const { return name_; }
    std::int64_t size() const { return file_ ? file_->size() : static_cast<std::int64_t>(memory_.size()); }
    /// As InputFile::read.
    std::int64_t read(std::int64_t offset, std::span<std::byte> out) const;
    NpyHeader header() const;

  private:
    std::string name_;
    std::unique_ptr<InputFile> file_;
    std::vector<std::byte> memory_;
};

/// The numbers of a two-dimensional `.npy` array of little-endian f2, f4 or f8, C or Fortran order.
/// @throws DataError with a reason of its own for big-endian, integer, boolean, complex, text, object and
///         structured arrays, for another number of dimensions, no rows, no columns, and a file whose length
///         is not what the header promises.
std::unique_ptr<Array> npy_array(NpyBytes bytes);

/// The texts of a one-dimensional `.npy` array of type S or little-endian U, as UTF-8, padding removed.
/// @throws DataError for any other array; for a code point that is no character, with its row.
std::vector<std::string> npy_texts(const NpyBytes& bytes);

}  // namespace candor::store
