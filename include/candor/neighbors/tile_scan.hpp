#pragma once

/// One tile of the Gram matrix looked through by whole vectors: which of its scores may matter to some row or
/// to some column.

#include <cstdint>
#include <span>

namespace candor::neighbors {

/// The tile's products <a', b'> and what makes scores of them. Cuts and offsets are rounded so that no score
/// that reaches a cut in double is passed over.
struct Tile {
    const float* products = nullptr;  ///< rows x cols, row-major
    std::int64_t stride = 0;
    std::int64_t rows = 0, cols = 0;
    const float* row_offset = nullptr;  ///< of the row's side of a score
    const float* col_offset = nullptr;
    /// Lowest score that a row (of any column) still takes, less its own offset; +infinity: it takes none.
    /// They may rise while the tile is looked through.
    const float* row_cut = nullptr;
    const float* col_cut = nullptr;
    /// Where the products are of leading parts alone: lengths of what they leave out (LeadingPart).
    const float* row_rest = nullptr;
    const float* col_rest = nullptr;

    /// Rows first .. first + count of it.
    Tile from(std::int64_t first, std::int64_t count) const {
        Tile part = *this;
        part.products += first * stride;
        part.rows = count;
        part.row_offset += first;
        part.row_cut += first;
        if (row_rest != nullptr) part.row_rest += first;
        return part;
    }
};

/// Called for a row with the hits among columns first .. first + 63: bit b stands for column first + b.
using HitHandler = void (*)(void* context, std::int64_t row, std::int64_t first, std::uint64_t hits);

/// Calls `handler` for every place with product + col_offset >= row_cut or product + row_offset >= col_cut,
/// in single precision, rows ascending, then columns. By the widest vectors of this processor.
void scan_tile(const Tile& tile, HitHandler handler, void* context);

/// The same for every place with product + row_rest col_rest + col_offset >= row_cut or product + row_rest
/// col_rest + row_offset >= col_cut.
void scan_bounds(const Tile& tile, HitHandler handler, void* context);

/// The bits b with cuts[b] <= score, of 64 cuts.
std::uint64_t cuts_reached(const float* cuts, float score);

/// Inner products of `row` with rows b of `others` (first row at `others`, `stride` apart) for the bits b of
/// `hits`, ascending, into `out`; in single precision, in some order. All rows are padded with zeros to
/// `length` numbers, a multiple of 16.
void dot_products(const float* row, const float* others, std::int64_t stride, std::int64_t length,
                  std::uint64_t hits, float* out);

/// The same of rows in bytes, padded with zeros to `length`, a multiple of 64; exact. @pre length < 2^16.
void dot_products(const std::int8_t* row, const std::int8_t* others, std::int64_t stride, std::int64_t length,
                  std::uint64_t hits, std::int32_t* out);

/// The instruction set that scan_tile uses here, e.g. "AVX3".
const char* vector_target();

}  // namespace candor::neighbors
