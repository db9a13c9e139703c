#include "stats/weight_kernels.hpp"

#include <cstring>

// Vectors whose size only the machine knows cannot be members: where there are such, the fixed ones serve.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
// The rest of this file is compiled once for each instruction set that Highway knows.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "stats/weight_kernels.cpp"
#include <hwy/foreach_target.h>
// In this order: Highway's own header needs the one above before it.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace candor::stats::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Weights = MatrixView<const Weight>;

#if HWY_TARGET == HWY_SCALAR

// Without vectors: what the others are held against.

void transpose(const Weights& counts, const MatrixView<Weight>& out) {
    for (std::int64_t p = 0; p < out.rows; ++p)
        for (std::int64_t k = 0; k < out.cols; ++k)
            out.data[p * out.stride + k] = counts.data[k * counts.stride + p];
}

void add_row(const Weights& weights, std::int32_t patient, BlockSums& sums) {
    const Weight* const row = weights.data + patient * weights.stride;
    for (std::int64_t b = 0; b < weights.cols; ++b) sums[b] += row[b];
}

void value_groups(const Weights& weights, std::span<const ValueGroup> groups, const std::int32_t* next,
                  BlockSums& sums) {
    for (const ValueGroup& group : groups) {
        BlockSums here{};
        for (std::int64_t i = 0; i < group.patients; ++i) add_row(weights, *next++, here);
        for (std::int64_t b = 0; b < weights.cols; ++b) sums[b] += group.value * here[b];
    }
}

void pairs(const Weights& weights, std::span<const PairStep> steps, const std::int32_t* next,
           PairSums& sums) {
    for (const PairStep& step : steps) {
        BlockSums positives{}, negatives{};
        for (std::int64_t i = 0; i < step.positives; ++i) add_row(weights, *next++, positives);
        for (std::int64_t i = 0; i < step.negatives; ++i) add_row(weights, *next++, negatives);
        for (std::int64_t b = 0; b < weights.cols; ++b) {
            sums.twice_wins[b] += positives[b] * (2 * sums.negatives[b] + negatives[b]);
            sums.positives[b] += positives[b];
            sums.negatives[b] += negatives[b];
        }
    }
}

#else

constexpr hn::CappedTag<Weight, resample_block> d8;
constexpr hn::Repartition<std::uint16_t, decltype(d8)> d16;
constexpr hn::Repartition<std::uint32_t, decltype(d8)> d32;
using Vec16 = hn::Vec<decltype(d16)>;
using Vec32 = hn::Vec<decltype(d32)>;

constexpr auto width = static_cast<std::int64_t>(hn::MaxLanes(d8));

/// Interleaves row i with row i + 8 of the sixteen.
template <class RowOf>
void interleave_rows(RowOf row_of, Weight (*to)[resample_block]) {
    for (int i = 0; i < 8; ++i) {
        const auto a = hn::LoadU(d8, row_of(i)), b = hn::LoadU(d8, row_of(i + 8));
        hn::Store(hn::InterleaveLower(d8, a, b), d8, to[2 * i]);
        hn::Store(hn::InterleaveUpper(d8, a, b), d8, to[2 * i + 1]);
    }
}

void transpose(const Weights& counts, const MatrixView<Weight>& out) {
    HWY_ALIGN Weight a[drawn_together][resample_block], b[drawn_together][resample_block];
    for (std::int64_t first = 0; first < out.rows; first += width) {
        // Interleaved four times, sixteen rows of sixteen are columns; vectors do it for each of their
        // blocks.
        interleave_rows([&](int i) { return counts.data + i * counts.stride + first; }, a);
        interleave_rows([&](int i) { return a[i]; }, b);
        interleave_rows([&](int i) { return b[i]; }, a);
        interleave_rows([&](int i) { return a[i]; }, b);
        const std::int64_t patients = HWY_MIN(width, out.rows - first);
        Weight* to = out.data + first * out.stride;
        for (std::int64_t p = 0; p < patients; ++p, to += out.stride) {
            const Weight* const from = b[p % drawn_together] + p / drawn_together * drawn_together;
            if (out.cols == drawn_together) {
                std::memcpy(to, from, drawn_together);
            } else {
                std::memcpy(to, from, static_cast<std::size_t>(out.cols));
            }
        }
    }
}

/// 16-bit sums of `width` columns, those of even and of odd number: widening that way moves no lane.
struct Sums16 {
    Vec16 even, odd;

    Sums16() : even(hn::Zero(d16)), odd(hn::Zero(d16)) {}

    void add_row(hn::Vec<decltype(d8)> weights) {
        const Vec16 pairs = hn::BitCast(d16, weights);
        even = hn::Add(even, hn::And(pairs, hn::Set(d16, 0xff)));
        odd = hn::Add(odd, hn::ShiftRight<8>(pairs));
    }

    void add(const Sums16& other) {
        even = hn::Add(even, other.even);
        odd = hn::Add(odd, other.odd);
    }
};

/// Rows whose weights always fit one 16-bit sum: 256 x 255 < 2^16.
constexpr std::int64_t most_summed = 256;

Sums16 sum_rows(const Weights& weights, std::int64_t column, const std::int32_t* patients,
                std::int64_t count) {
    Sums16 sums;
    for (std::int64_t i = 0; i < count; ++i)
        sums.add_row(hn::LoadU(d8, weights.data + patients[i] * weights.stride + column));
    return sums;
}

/// The same for many rows: weights are small, so that the sums of some rows nearly always fit 8 bits, and
/// where one may not, it shows.
Sums16 sum_many_rows(const Weights& weights, std::int64_t column, const std::int32_t* patients,
                     std::int64_t count) {
    constexpr std::int64_t some = 64;
    const auto full = hn::Set(d8, 255);
    Sums16 sums;
    for (std::int64_t first = 0; first < count; first += some) {
        const std::int64_t last = HWY_MIN(first + some, count);
        auto here = hn::Zero(d8);
        for (std::int64_t i = first; i < last; ++i) {
            const auto row = hn::LoadU(d8, weights.data + patients[i] * weights.stride + column);
            here = hn::SaturatedAdd(here, row);
        }
        if (HWY_LIKELY(hn::AllFalse(d8, hn::Eq(here, full)))) {
            sums.add_row(here);
        } else {
            sums.add(sum_rows(weights, column, patients + first, last - first));
        }
    }
    return sums;
}

/// 32-bit values of `width` columns by quarters: quarter q has columns q, q + 4, q + 8, ...
struct Quarters {
    Vec32 q0, q1, q2, q3;

    Quarters() : q0(hn::Zero(d32)), q1(q0), q2(q0), q3(q0) {}
    explicit Quarters(const Sums16& sums) {
        const Vec32 low = hn::Set(d32, 0xffff);
        const Vec32 even = hn::BitCast(d32, sums.even), odd = hn::BitCast(d32, sums.odd);
        q0 = hn::And(even, low);
        q1 = hn::And(odd, low);
        q2 = hn::ShiftRight<16>(even);
        q3 = hn::ShiftRight<16>(odd);
    }

    void add_product(const Quarters& a, const Quarters& b) {
        q0 = hn::Add(q0, hn::Mul(a.q0, b.q0));
        q1 = hn::Add(q1, hn::Mul(a.q1, b.q1));
        q2 = hn::Add(q2, hn::Mul(a.q2, b.q2));
        q3 = hn::Add(q3, hn::Mul(a.q3, b.q3));
    }

    void store(std::uint32_t* to) const {
        hn::Store(q0, d32, to);
        hn::Store(q1, d32, to + width / 4);
        hn::Store(q2, d32, to + width / 2);
        hn::Store(q3, d32, to + width / 4 * 3);
    }
};

/// Adds sums kept by quarters to the columns from `column` on.
void add_in_order(const std::uint64_t* by_quarters, std::int64_t column, BlockSums& sums) {
    for (std::int64_t i = 0; i < width; ++i)
        sums[static_cast<std::size_t>(column + i % (width / 4) * 4 + i / (width / 4))] += by_quarters[i];
}

/// Adds value x the sums of the rows to sums kept by quarters.
void add_rows(const Weights& weights, std::int64_t column, const std::int32_t* patients, std::int64_t count,
              std::uint64_t value, std::uint64_t* by_quarters) {
    HWY_ALIGN std::uint32_t part[resample_block];
    for (std::int64_t i = 0; i < count; i += most_summed) {
        Quarters(sum_many_rows(weights, column, patients + i, HWY_MIN(most_summed, count - i))).store(part);
        for (std::int64_t j = 0; j < width; ++j) by_quarters[j] += value * part[j];
    }
}

void value_groups(const Weights& weights, std::span<const ValueGroup> groups, const std::int32_t* patients,
                  BlockSums& sums) {
    for (std::int64_t column = 0; column < weights.cols; column += width) {
        HWY_ALIGN std::uint64_t by_quarters[resample_block] = {};
        const std::int32_t* next = patients;
        for (const ValueGroup& group : groups) {
            add_rows(weights, column, next, group.patients, static_cast<std::uint64_t>(group.value),
                     by_quarters);
            next += group.patients;
        }
        add_in_order(by_quarters, column, sums);
    }
}

/// The pairs of `width` columns.
class PairPass {
  public:
    PairPass(const Weights& weights, std::int64_t column) : weights_(weights), column_(column) {}

    void run(std::span<const PairStep> steps, const std::int32_t* next) {
        for (const PairStep& step : steps) {
            const std::int64_t rows = step.positives + step.negatives;
            if (rows > most_at_once - rows_) close();
            if (rows > most_at_once) {
                add_large(step, next);
            } else {
                rows_ += rows;
                add(step, next);
            }
            next += rows;
        }
        close();
    }

    void put(PairSums& sums) const {
        add_in_order(twice_wins_, column_, sums.twice_wins);
        add_in_order(positives_, column_, sums.positives);
        add_in_order(negatives_, column_, sums.negatives);
    }

  private:
    /// So many rows that twice their weights fit 16 bits, and then what their pairs add up to fits 32.
    static constexpr std::int64_t most_at_once = 128;

    void add(const PairStep& step, const std::int32_t* next) {
        const Sums16 negatives = sum_rows(weights_, column_, next + step.positives, step.negatives);
        if (step.positives > 0) {
            const Sums16 positives = sum_rows(weights_, column_, next, step.positives);
            Sums16 twice_below = negatives;  // those of the step count half
            twice_below.add(here_negatives_);
            twice_below.add(here_negatives_);
            here_wins_.add_product(Quarters(positives), Quarters(twice_below));
            here_positives_.add(positives);
        }
        here_negatives_.add(negatives);
    }

    /// Adds the sums of the rows since the last time to those of all before.
    void close() {
        HWY_ALIGN std::uint32_t wins[resample_block], positives[resample_block], negatives[resample_block];
        here_wins_.store(wins);
        Quarters(here_positives_).store(positives);
        Quarters(here_negatives_).store(negatives);
        for (std::int64_t i = 0; i < width; ++i) {
            twice_wins_[i] += wins[i] + 2 * negatives_[i] * positives[i];
            positives_[i] += positives[i];
            negatives_[i] += negatives[i];
        }
        here_wins_ = Quarters();
        here_positives_ = Sums16();
        here_negatives_ = Sums16();
        rows_ = 0;
    }

    void add_large(const PairStep& step, const std::int32_t* next) {
        HWY_ALIGN std::uint64_t positives[resample_block] = {}, negatives[resample_block] = {};
        add_rows(weights_, column_, next, step.positives, 1, positives);
        add_rows(weights_, column_, next + step.positives, step.negatives, 1, negatives);
        for (std::int64_t i = 0; i < width; ++i) {
            twice_wins_[i] += positives[i] * (2 * negatives_[i] + negatives[i]);
            positives_[i] += positives[i];
            negatives_[i] += negatives[i];
        }
    }

    const Weights& weights_;
    const std::int64_t column_;
    std::int64_t rows_ = 0;
    Sums16 here_positives_, here_negatives_;
    Quarters here_wins_;
    // Of all rows before, by quarters.
    HWY_ALIGN std::uint64_t twice_wins_[resample_block] = {};
    HWY_ALIGN std::uint64_t positives_[resample_block] = {};
    HWY_ALIGN std::uint64_t negatives_[resample_block] = {};
};

void pairs(const Weights& weights, std::span<const PairStep> steps, const std::int32_t* patients,
           PairSums& sums) {
    for (std::int64_t column = 0; column < weights.cols; column += width) {
        PairPass pass(weights, column);
        pass.run(steps, patients);
        pass.put(sums);
    }
}

#endif

}  // namespace candor::stats::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace candor::stats {

HWY_EXPORT(transpose);
HWY_EXPORT(value_groups);
HWY_EXPORT(pairs);

void transpose_counts(MatrixView<const Weight> counts, MatrixView<Weight> out) {
    HWY_DYNAMIC_DISPATCH(transpose)(counts, out);
}

void add_value_groups(MatrixView<const Weight> weights, std::span<const ValueGroup> groups,
                      std::span<const std::int32_t> patients, BlockSums& sums) {
    HWY_DYNAMIC_DISPATCH(value_groups)(weights, groups, patients.data(), sums);
}

void add_pairs(MatrixView<const Weight> weights, std::span<const PairStep> steps,
               std::span<const std::int32_t> patients, PairSums& sums) {
    HWY_DYNAMIC_DISPATCH(pairs)(weights, steps, patients.data(), sums);
}

}  // namespace candor::stats
#endif
