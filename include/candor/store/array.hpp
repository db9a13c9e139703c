#pragma once

/// A two-dimensional array of numbers, wherever it is kept: what feature files and `candor import` read from.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "candor/base/index.hpp"
#include "candor/base/matrix.hpp"
#include "candor/store/element.hpp"

namespace candor::store {

class Array {
  public:
    virtual ~Array() = default;

    std::int64_t rows = 0;  ///< at least 1
    std::int64_t cols = 0;  ///< at least 1
    ElementType type = ElementType::float32;
    /// Reading rows [m * unit, n * unit) touches no stored block twice.
    std::int64_t unit = 1;

    /// Rows [first, first + count), row-major without padding, as stored but in native byte order.
    /// @throws DataError naming file and row where the rows cannot be read.
    virtual void read(std::int64_t first, std::int64_t count, std::byte* out) const = 0;
};

/// Bytes of rows that are read at a time (one row at least): what reading needs beside its target.
inline constexpr std::int64_t slab_bytes = std::int64_t{8} << 20;

/// Reads the rows `which` (any order, repeats allowed) of `array`, row which[i] into row target[i] of `out`
/// (cols wide), converted exactly. The array is read in its own order, in contiguous slabs; straight into
/// `out` where the rows lie there as they do in the file.
/// @pre target.size() == which.size(), no target twice.
void read_rows(const Array& array, std::span<const FeatureRow> which, std::span<const std::int64_t> target,
               MatrixView<float> out);
void read_rows(const Array& array, std::span<const FeatureRow> which, std::span<const std::int64_t> target,
               MatrixView<double> out);

/// As above, row which[i] into row i of `out` (which.size() x cols).
void read_rows(const Array& array, std::span<const FeatureRow> which, MatrixView<float> out);
void read_rows(const Array& array, std::span<const FeatureRow> which, MatrixView<double> out);

/// Takes row which[i], as position i and its values, which are there during the call only.
template <class T>
using TakeRow = std::function<void(std::int64_t i, std::span<const T> row)>;

/// Shows `take` the rows `which` (any order, repeats allowed), converted exactly, each once in the array's
/// own order, a slab in memory at a time.
void visit_rows(const Array& array, std::span<const FeatureRow> which, const TakeRow<float>& take);
void visit_rows(const Array& array, std::span<const FeatureRow> which, const TakeRow<double>& take);

/// Bytes that rows x cols numbers of `size` bytes take. @throws DataError at `where` where that overflows
/// 2^62.
std::int64_t array_bytes(const std::string& where, std::int64_t rows, std::int64_t cols, std::int64_t size);

}  // namespace candor::store
