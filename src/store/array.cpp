#include "candor/store/array.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "candor/base/error.hpp"

namespace candor::store {

namespace {

constexpr std::int64_t slab_bytes = std::int64_t{64} << 20;
/// Skipping fewer bytes than this costs more than reading them.
constexpr std::int64_t gap_bytes = std::int64_t{1} << 20;

template <class T>
void read_slabs(const Array& array, std::span<const FeatureRow> which, MatrixView<T> out) {
    CANDOR_REQUIRE(out.rows == static_cast<std::int64_t>(which.size()) && out.cols == array.cols,
                   std::to_string(out.rows) + " x " + std::to_string(out.cols));
    std::vector<std::int64_t> order(which.size());
    std::iota(order.begin(), order.end(), std::int64_t{0});
    const auto row_of = [&](std::int64_t i) { return which[static_cast<std::size_t>(i)].value; };
    std::sort(order.begin(), order.end(), [&](auto a, auto b) { return row_of(a) < row_of(b); });

    const std::int64_t row_bytes = array.cols * size_of(array.type);
    std::int64_t slab_rows = std::max<std::int64_t>(1, slab_bytes / row_bytes);
    if (array.unit <= slab_rows) slab_rows -= slab_rows % array.unit;
    const std::int64_t gap_rows = std::max(array.unit, gap_bytes / row_bytes + 1);

    std::vector<std::byte> slab;
    for (std::size_t begin = 0; begin < order.size();) {
        const std::int64_t first = row_of(order[begin]);
        // Slabs end where blocks end, so that a compressed block is unpacked once.
        const std::int64_t limit = first - first % std::min(array.unit, slab_rows) + slab_rows;
        std::int64_t last = first;
        std::size_t end = begin;
        for (; end < order.size(); ++end) {
            const std::int64_t row = row_of(order[end]);
            if (row >= limit || row - last > gap_rows) break;
            last = row;
        }
        CANDOR_REQUIRE(first >= 0 && last < array.rows, std::to_string(first) + ", " + std::to_string(last));
        slab.resize(static_cast<std::size_t>((last - first + 1) * row_bytes));
        array.read(first, last - first + 1, slab.data());
        for (std::size_t i = begin; i < end; ++i) {
            decode(array.type, slab.data() + (row_of(order[i]) - first) * row_bytes, out.row(order[i]));
        }
        begin = end;
    }
}

}  // namespace

void read_rows(const Array& array, std::span<const FeatureRow> which, MatrixView<float> out) {
    CANDOR_REQUIRE(array.type != ElementType::float64, "float64 does not fit a float");
    read_slabs(array, which, out);
}

void read_rows(const Array& array, std::span<const FeatureRow> which, MatrixView<double> out) {
    read_slabs(array, which, out);
}

std::int64_t array_bytes(const std::string& where, std::int64_t rows, std::int64_t cols, std::int64_t size) {
    std::int64_t bytes = 0;
    const bool overflows =
        __builtin_mul_overflow(rows, cols, &bytes) || __builtin_mul_overflow(bytes, size, &bytes);
    if (rows < 0 || cols < 0 || overflows || bytes > std::int64_t{1} << 62) {
        throw DataError({where}, "claims " + std::to_string(rows) + " x " + std::to_string(cols) +
                                     " numbers, more than any file holds");
    }
    return bytes;
}

}  // namespace candor::store
