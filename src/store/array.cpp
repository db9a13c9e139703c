#include "candor/store/array.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

#include "candor/base/error.hpp"

namespace candor::store {

namespace {

/// Skipping fewer bytes than this costs more than reading them.
constexpr std::int64_t gap_bytes = std::int64_t{1} << 20;

/// Wanted rows that are read at once: order[begin, end), file rows first to last.
struct Slab {
    std::size_t begin, end;
    std::int64_t first, last;

    std::int64_t rows() const { return last - first + 1; }
};

/// Rows wanted of an array, in the array's order.
class Wanted {
  public:
    Wanted(const Array& array, std::span<const FeatureRow> which)
        : array_(array), which_(which), order_(which.size()) {
        std::iota(order_.begin(), order_.end(), std::int64_t{0});
        const auto before = [&](std::int64_t a, std::int64_t b) { return row(a) < row(b); };
        if (!std::is_sorted(order_.begin(), order_.end(), before))
            std::sort(order_.begin(), order_.end(), before);
        if (order_.empty()) return;
        CANDOR_REQUIRE(row(order_.front()) >= 0 && row(order_.back()) < array.rows,
                       std::to_string(row(order_.front())) + ", " + std::to_string(row(order_.back())));
    }

    /// Row of the array that position `i` asks for.
    std::int64_t row(std::int64_t i) const { return which_[static_cast<std::size_t>(i)].value; }
    std::span<const std::int64_t> positions(const Slab& slab) const {
        return std::span(order_).subspan(slab.begin, slab.end - slab.begin);
    }

    template <class Use>
    void for_each_slab(Use use) const {
        const std::int64_t row_bytes = array_.cols * size_of(array_.type);
        const std::int64_t unit = array_.unit;
        std::int64_t most = std::max<std::int64_t>(1, slab_bytes / row_bytes);
        if (unit <= most) most -= most % unit;
        const std::int64_t gap = std::max(unit, gap_bytes / row_bytes + 1);
        for (Slab slab{}; slab.begin < order_.size(); slab.begin = slab.end) {
            slab.first = slab.last = row(order_[slab.begin]);
            // Slabs end where blocks end, so that a compressed block is unpacked once.
            const std::int64_t limit =
                unit <= most ? slab.first - slab.first % unit + most
                             : std::min(slab.first + most, slab.first - slab.first % unit + unit);
            for (slab.end = slab.begin; slab.end < order_.size(); ++slab.end) {
                const std::int64_t next = row(order_[slab.end]);
                if (next >= limit || next - slab.last > gap) break;
                slab.last = next;
            }
            use(slab);
        }
    }

  private:
    const Array& array_;
    std::span<const FeatureRow> which_;
    std::vector<std::int64_t> order_;  ///< positions in which_, ascending by row
};

/// Memory for one slab after another.
class SlabBuffer {
  public:
    explicit SlabBuffer(const Array& array) : array_(array), row_bytes_(array.cols * size_of(array.type)) {}

    void read(const Slab& slab) {
        const std::int64_t bytes = slab.rows() * row_bytes_;
        if (bytes > size_)
            bytes_ = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(bytes));
        size_ = std::max(size_, bytes);
        array_.read(slab.first, slab.rows(), bytes_.get());
        first_ = slab.first;
    }
    const std::byte* row(std::int64_t row) const { return bytes_.get() + (row - first_) * row_bytes_; }

  private:
    const Array& array_;
    std::int64_t row_bytes_, first_ = 0, size_ = 0;
    std::unique_ptr<std::byte[]> bytes_;
};

template <class T>
bool is_stored_as(ElementType type) {
    return type == (sizeof(T) == sizeof(float) ? ElementType::float32 : ElementType::float64);
}

template <class T, class Target>
void read_slabs(const Array& array, std::span<const FeatureRow> which, Target target, MatrixView<T> out) {
    CANDOR_REQUIRE(out.cols == array.cols, std::to_string(out.cols) + ", " + std::to_string(array.cols));
    const bool as_stored = is_stored_as<T>(array.type) && out.stride == out.cols;
    const Wanted wanted(array, which);
    SlabBuffer buffer(array);
    wanted.for_each_slab([&](const Slab& slab) {
        const auto positions = wanted.positions(slab);
        const std::int64_t place = target(positions.front());
        const auto lies_alike = [&](std::int64_t i) {
            return target(i) - place == wanted.row(i) - slab.first;
        };
        if (as_stored && std::ssize(positions) == slab.rows() && std::ranges::all_of(positions, lies_alike)) {
            array.read(slab.first, slab.rows(), reinterpret_cast<std::byte*>(out.row(place).data()));
            return;
        }
        buffer.read(slab);
        for (const std::int64_t i : positions)
            decode(array.type, buffer.row(wanted.row(i)), out.row(target(i)));
    });
}

template <class T>
void read_to(const Array& array, std::span<const FeatureRow> which, std::span<const std::int64_t> target,
             MatrixView<T> out) {
    CANDOR_REQUIRE(target.size() == which.size(), std::to_string(target.size()));
    for (const std::int64_t row : target)
        CANDOR_REQUIRE(row >= 0 && row < out.rows, std::to_string(row) + ", " + std::to_string(out.rows));
    read_slabs(
        array, which, [&](std::int64_t i) { return target[static_cast<std::size_t>(i)]; }, out);
}

template <class T>
void read_in_order(const Array& array, std::span<const FeatureRow> which, MatrixView<T> out) {
    CANDOR_REQUIRE(out.rows == static_cast<std::int64_t>(which.size()), std::to_string(out.rows));
    read_slabs(
        array, which, [](std::int64_t i) { return i; }, out);
}

template <class T>
void visit(const Array& array, std::span<const FeatureRow> which, const TakeRow<T>& take) {
    const Wanted wanted(array, which);
    SlabBuffer buffer(array);
    std::vector<T> row(static_cast<std::size_t>(array.cols));
    wanted.for_each_slab([&](const Slab& slab) {
        buffer.read(slab);
        for (const std::int64_t i : wanted.positions(slab)) {
            decode(array.type, buffer.row(wanted.row(i)), std::span(row));
            take(i, row);
        }
    });
}

void check_fits_float(const Array& array) {
    CANDOR_REQUIRE(array.type != ElementType::float64, "float64 does not fit a float");
}

}  // namespace

void read_rows(const Array& array, std::span<const FeatureRow> which, std::span<const std::int64_t> target,
               MatrixView<float> out) {
    check_fits_float(array);
    read_to(array, which, target, out);
}

void read_rows(const Array& array, std::span<const FeatureRow> which, std::span<const std::int64_t> target,
               MatrixView<double> out) {
    read_to(array, which, target, out);
}

void read_rows(const Array& array, std::span<const FeatureRow> which, MatrixView<float> out) {
    check_fits_float(array);
    read_in_order(array, which, out);
}

void read_rows(const Array& array, std::span<const FeatureRow> which, MatrixView<double> out) {
    read_in_order(array, which, out);
}

void visit_rows(const Array& array, std::span<const FeatureRow> which, const TakeRow<float>& take) {
    check_fits_float(array);
    visit(array, which, take);
}

void visit_rows(const Array& array, std::span<const FeatureRow> which, const TakeRow<double>& take) {
    visit(array, which, take);
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
