#pragma once

/// The numbers of one panel of a census: some of its rows side by side, ready for products and decisions.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "candor/base/index.hpp"
#include "candor/base/matrix.hpp"
#include "candor/neighbors/centring.hpp"
#include "candor/neighbors/coarse_rows.hpp"
#include "candor/neighbors/leading_part.hpp"
#include "candor/neighbors/row_source.hpp"

namespace candor::neighbors {

struct PanelRows {
    StoredRows stored;
    std::vector<double> norm, offset, radius;  ///< Centring::Row of each
    Matrix<float> centred;                     ///< padding is zero
    Matrix<float> leading;                     ///< LeadingPart of each; no columns where there is none
    std::vector<float> rest;                   ///< length of what `leading` leaves of each row, rounded up
    CoarseRows coarse;                         ///< the centred rows in bytes, where there is a leading part

    std::int64_t size() const { return std::ssize(norm); }
    /// Bytes that a panel of n rows of this kind takes.
    static std::int64_t bytes(std::int64_t n, std::int64_t dimension, std::int64_t leading, bool doubles);
};

/// Reads and centres rows. `part` may be null.
PanelRows load_panel(const RowSource& source, std::span<const ContextRow> which, const Centring& centring,
                     const LeadingPart* part);

/// cosine_of row i of a and row j of b.
double cosine(const PanelRows& a, std::int64_t i, const PanelRows& b, std::int64_t j);

}  // namespace candor::neighbors
