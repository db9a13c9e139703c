#pragma once

/// A two-dimensional array of numbers, wherever it is kept: what feature files and `candor import` read from.

#include <cstddef>
#include <cstdint>
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

/// Reads the rows `which` (any order, repeats allowed) of `array` into `out` (which.size() x cols), converted
/// exactly. The array is read in its own order, in contiguous slabs of about 64 MiB.
void read_rows(const Array& array, std::span<const FeatureRow> which, MatrixView<float> out);
void read_rows(const Array& array, std::span<const FeatureRow> which, MatrixView<double> out);

/// Bytes that rows x cols numbers of `size` bytes take. @throws DataError at `where` where that overflows
/// 2^62.
std::int64_t array_bytes(const std::string& where, std::int64_t rows, std::int64_t cols, std::int64_t size);

}  // namespace candor::store
