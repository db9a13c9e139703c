#include "candor/neighbors/pair_search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <tuple>
#include <utility>

#include "candor/base/error.hpp"
#include "candor/base/threads.hpp"
#include "candor/linalg/gemm.hpp"
#include "candor/neighbors/sink.hpp"

namespace candor::neighbors {

namespace {

/// Some rows of one encoder side by side, ready for a product.
struct Panel {
    Panel(const RowSet& rows, std::span<const ContextRow> which)
        : centred(static_cast<std::int64_t>(which.size()), rows.dimension()) {
        for (std::size_t i = 0; i < which.size(); ++i) {
            std::ranges::copy(rows.centred().row(which[i].value),
                              centred.row(static_cast<std::int64_t>(i)).begin());
            offsets.push_back(rows.offset(which[i]));
        }
    }

    Matrix<float> centred;
    std::vector<double> offsets;
};

/// The same rows under both encoders.
struct PanelPair {
    PanelPair(const PairSide& a, const PairSide& b, std::span<const ContextRow> which)
        : close(a.rows, which), far(b.rows, which) {}

    Panel close, far;
};

double largest_radius(const RowSet& rows, std::span<const ContextRow> which) {
    double largest = 0;
    for (const ContextRow row : which) largest = std::max(largest, rows.radius(row));
    return largest;
}

/// How far the proposals of one positive may be off.
struct Bounds {
    double close = 0, far = 0;  ///< of a cosine
    double score = 0;
};

/// Everything about one call that does not change while it runs.
class Search {
  public:
    Search(const PairSide& close, const PairSide& far, std::span<const ContextRow> positives,
           std::span<const ContextRow> negatives, const PairOptions& options)
        : close_(close),
          far_(far),
          positives_(positives),
          negatives_(negatives),
          options_(options),
          radius_close_(largest_radius(close.rows, negatives)),
          radius_far_(largest_radius(far.rows, negatives)) {}

    /// Most pairs of one positive that the answer can hold.
    std::int64_t most_of_one() const {
        std::int64_t most = std::ssize(negatives_);
        if (options_.per_positive > 0) most = std::min(most, options_.per_positive);
        if (options_.top > 0) most = std::min(most, options_.top);
        return std::min<std::int64_t>(most, std::numeric_limits<int>::max());
    }

    Bounds bounds_of(ContextRow positive) const {
        Bounds bounds;
        bounds.close = close_.rows.error(close_.rows.radius(positive), radius_close_);
        bounds.far = far_.rows.error(far_.rows.radius(positive), radius_far_);
        // A difference from the mean is at most about 2; its rounding and the quotient's, once in the
        // proposal and once in the decision, are four of 2^-53 of that: 2^-49 leaves room.
        bounds.score =
            std::max((bounds.close + 0x1p-49) / close_.spread.sd, (bounds.far + 0x1p-49) / far_.spread.sd);
        return bounds;
    }

    OppositePair decide(std::int64_t positive, std::int64_t negative) const {
        const ContextRow x = positives_[static_cast<std::size_t>(positive)];
        const ContextRow y = negatives_[static_cast<std::size_t>(negative)];
        OppositePair pair;
        pair.positive = positive;
        pair.negative = negative;
        pair.cosine_close = close_.rows.cosine(x, y);
        pair.cosine_far = far_.rows.cosine(x, y);
        pair.z_close = close_.spread.standardise(pair.cosine_close);
        pair.z_far = far_.spread.standardise(pair.cosine_far);
        pair.score = std::min(pair.z_close, -pair.z_far);
        return pair;
    }

    bool admits(const OppositePair& pair) const {
        return pair.score > 0 && pair.cosine_close >= options_.close_above &&
               pair.cosine_far <= options_.far_below;
    }

    /// Offers one positive's pairs with the negatives first, first + 1 and so on to its sink.
    /// @param least a pair whose score is below it is not wanted.
    void scan(std::int64_t positive, std::int64_t first, std::span<const float> close_products,
              std::span<const float> far_products, const PanelPair& candidates, double least,
              Sink& sink) const {
        const ContextRow x = positives_[static_cast<std::size_t>(positive)];
        const Bounds bounds = bounds_of(x);
        const double close_offset = close_.rows.offset(x), far_offset = far_.rows.offset(x);
        const double floor = least - bounds.score;
        for (std::size_t j = 0; j < close_products.size(); ++j) {
            const double cosine_close =
                static_cast<double>(close_products[j]) + candidates.close.offsets[j] + close_offset;
            const double cosine_far =
                static_cast<double>(far_products[j]) + candidates.far.offsets[j] + far_offset;
            const double score =
                std::min(close_.spread.standardise(cosine_close), -far_.spread.standardise(cosine_far));
            if (score < floor || score < sink.cut()) continue;
            const double above = cosine_close - options_.close_above;
            const double below = options_.far_below - cosine_far;
            if (above < -bounds.close || below < -bounds.far) continue;
            // A pair that fails a condition must not raise the sink's cut, so what is too near to tell is
            // decided at once.
            const std::int64_t negative = first + static_cast<std::int64_t>(j);
            const bool surely = score > bounds.score && above > bounds.close && below > bounds.far;
            if (!surely && !admits(decide(positive, negative))) continue;
            sink.offer(score, negative);
        }
    }

    /// The best pairs of one positive, from what its sink kept.
    std::vector<OppositePair> best_of(std::int64_t positive, Sink& sink) const {
        std::vector<OppositePair> pairs;
        for (const Sink::Proposal& one : sink.kept()) pairs.push_back(decide(positive, one.position));
        keep_best(pairs, most_of_one());
        return pairs;
    }

    /// Sorts `pairs` and drops all beyond the first `most`.
    static void keep_best(std::vector<OppositePair>& pairs, std::int64_t most) {
        std::ranges::sort(pairs, comes_before);
        if (std::ssize(pairs) > most) pairs.resize(static_cast<std::size_t>(most));
    }

    /// The best pairs of the positives first .. first + count-1.
    std::vector<OppositePair> search_panel(std::int64_t first, std::int64_t count, double least) const {
        const std::int64_t block = options_.block_rows;
        std::vector<Sink> sinks;
        for (std::int64_t q = 0; q < count; ++q) {
            const Bounds bounds = bounds_of(positives_[static_cast<std::size_t>(first + q)]);
            sinks.emplace_back(static_cast<int>(most_of_one()), 2 * bounds.score);
        }
        const PanelPair queries(close_, far_, part(positives_, first, count));
        for (std::int64_t at = 0; at < std::ssize(negatives_); at += block) {
            const std::int64_t some = std::min(block, std::ssize(negatives_) - at);
            const PanelPair candidates(close_, far_, part(negatives_, at, some));
            for_each_on_threads(options_.threads, (count + block - 1) / block, [&](std::int64_t b) {
                const std::int64_t rows = std::min(block, count - b * block);
                Matrix<float> close_tile(rows, some), far_tile(rows, some);
                linalg::product(queries.close.centred.view().block(b * block, rows),
                                candidates.close.centred.view(), close_tile.view());
                linalg::product(queries.far.centred.view().block(b * block, rows),
                                candidates.far.centred.view(), far_tile.view());
                for (std::int64_t i = 0; i < rows; ++i) {
                    const std::int64_t q = b * block + i;
                    scan(first + q, at, std::as_const(close_tile).row(i), std::as_const(far_tile).row(i),
                         candidates, least, sinks[static_cast<std::size_t>(q)]);
                }
            });
        }
        std::vector<std::vector<OppositePair>> found(sinks.size());
        for_each_on_threads(options_.threads, count, [&](std::int64_t q) {
            found[static_cast<std::size_t>(q)] = best_of(first + q, sinks[static_cast<std::size_t>(q)]);
        });
        std::vector<OppositePair> pairs;
        for (const auto& of_one : found) pairs.insert(pairs.end(), of_one.begin(), of_one.end());
        return pairs;
    }

  private:
    static std::span<const ContextRow> part(std::span<const ContextRow> list, std::int64_t first,
                                            std::int64_t count) {
        return list.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
    }

    PairSide close_, far_;
    std::span<const ContextRow> positives_, negatives_;
    PairOptions options_;
    double radius_close_, radius_far_;
};

}  // namespace

Spread spread_of(const RowSet& rows, std::span<const ContextRow> positives,
                 std::span<const ContextRow> negatives, int threads) {
    positives = positives.first(std::min<std::size_t>(positives.size(), spread_rows));
    negatives = negatives.first(std::min<std::size_t>(negatives.size(), spread_rows));
    Spread spread;
    if (positives.empty() || negatives.empty()) return spread;

    std::vector<double> cosines(positives.size() * negatives.size());
    for_each_on_threads(threads, std::ssize(positives), [&](std::int64_t p) {
        const auto at = static_cast<std::size_t>(p);
        for (std::size_t n = 0; n < negatives.size(); ++n)
            cosines[at * negatives.size() + n] = rows.cosine(positives[at], negatives[n]);
    });
    // Counted from the first cosine, so that equal cosines have a deviation of exactly 0.
    const double origin = cosines.front();
    const auto count = static_cast<double>(cosines.size());
    double sum = 0, squares = 0;
    for (const double cosine : cosines) sum += cosine - origin;
    spread.mean = origin + sum / count;
    for (const double cosine : cosines) squares += (cosine - spread.mean) * (cosine - spread.mean);
    spread.sd = std::sqrt(squares / count);
    spread.varies = spread.sd > rows.error(0, 0);
    return spread;
}

bool comes_before(const OppositePair& a, const OppositePair& b) {
    return std::tuple(-a.score, a.positive, a.negative) < std::tuple(-b.score, b.positive, b.negative);
}

std::vector<OppositePair> opposite_pairs(const PairSide& close, const PairSide& far,
                                         std::span<const ContextRow> positives,
                                         std::span<const ContextRow> negatives, const PairOptions& options) {
    CANDOR_REQUIRE(close.spread.varies && far.spread.varies, "cosines that do not vary");
    CANDOR_REQUIRE(close.rows.rows() == far.rows.rows(),
                   std::to_string(close.rows.rows()) + " rows and " + std::to_string(far.rows.rows()));
    CANDOR_REQUIRE(options.block_rows > 0, std::to_string(options.block_rows) + " rows a block");
    const Search search(close, far, positives, negatives, options);
    const std::int64_t most = options.top > 0 ? options.top : std::numeric_limits<std::int64_t>::max();
    const std::int64_t panel = options.block_rows * options.threads;
    std::vector<OppositePair> best;
    for (std::int64_t first = 0; first < std::ssize(positives); first += panel) {
        // Once the list is full, only what may yet enter it is kept.
        const double least = std::ssize(best) == most ? best.back().score : 0;
        const auto found = search.search_panel(first, std::min(panel, std::ssize(positives) - first), least);
        best.insert(best.end(), found.begin(), found.end());
        if (options.top > 0) Search::keep_best(best, most);
    }
    Search::keep_best(best, most);
    return best;
}

}  // namespace candor::neighbors
