#pragma once

/// Where the rows of a context come from: memory or files.

#include <cstdint>
#include <span>
#include <variant>

#include "candor/base/index.hpp"
#include "candor/base/matrix.hpp"

namespace candor::neighbors {

/// Rows as stored: float16 and float32 files as float, float64 as double.
using StoredRows = std::variant<Matrix<float>, Matrix<double>>;

class RowSource {
  public:
    virtual ~RowSource() = default;

    virtual std::int64_t rows() const = 0;
    virtual std::int64_t dimension() const = 0;
    /// The rows `which` in that order, always of one type. Called by one thread at a time, not always the
    /// same one.
    virtual StoredRows read(std::span<const ContextRow> which) const = 0;

  protected:
    RowSource() = default;
    RowSource(const RowSource&) = default;
    RowSource(RowSource&&) = default;
    RowSource& operator=(const RowSource&) = default;
    RowSource& operator=(RowSource&&) = default;
};

}  // namespace candor::neighbors
