#pragma once

/// Rows in memory as they are stored, and some of the rows of another source.

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "candor/base/index.hpp"
#include "candor/neighbors/row_source.hpp"

namespace candor::neighbors {

class MemoryRows final : public RowSource {
  public:
    explicit MemoryRows(StoredRows rows) : stored_(std::move(rows)) {}

    std::int64_t rows() const override;
    std::int64_t dimension() const override;
    /// May be called by several threads at a time.
    StoredRows read(std::span<const ContextRow> which) const override;

  private:
    StoredRows stored_;
};

/// Row i is row `which[i]` of another source, which must outlive this.
class RowSubset final : public RowSource {
  public:
    RowSubset(const RowSource& of, std::vector<ContextRow> which) : of_(of), which_(std::move(which)) {}

    std::int64_t rows() const override { return std::ssize(which_); }
    std::int64_t dimension() const override { return of_.dimension(); }
    StoredRows read(std::span<const ContextRow> which) const override;

  private:
    const RowSource& of_;
    std::vector<ContextRow> which_;
};

}  // namespace candor::neighbors
