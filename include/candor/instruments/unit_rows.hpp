#pragma once

/// Rows divided by their norms, in double.

#include <cstdint>
#include <mutex>
#include <span>

#include "candor/base/index.hpp"
#include "candor/base/matrix.hpp"
#include "candor/neighbors/row_source.hpp"

namespace candor::instruments {

/// A source of rows as unit rows, for any number of threads: the source is read by one at a time.
class UnitRows {
  public:
    /// `rows` must outlive this.
    explicit UnitRows(const neighbors::RowSource& rows) : rows_(rows) {}

    std::int64_t dimension() const { return rows_.dimension(); }
    /// The rows `which`, each divided by its norm. @throws InternalError where one has no direction.
    Matrix<double> read(std::span<const ContextRow> which) const;

  private:
    const neighbors::RowSource& rows_;
    mutable std::mutex reading_;
};

/// Rows that are looked at together, so that bits do not depend on the number of threads.
inline constexpr std::int64_t unit_block_rows = 512;

/// Block `b` of `which`, the last one shorter.
std::span<const ContextRow> unit_block(std::span<const ContextRow> which, std::int64_t b);
/// How many there are.
std::int64_t unit_blocks(std::span<const ContextRow> which);

}  // namespace candor::instruments
