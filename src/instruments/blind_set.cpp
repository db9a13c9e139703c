#include "candor/instruments/blind_set.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "candor/base/error.hpp"
#include "candor/stats/hypergeometric.hpp"
#include "candor/stats/normal.hpp"
#include "candor/stats/student_t.hpp"

namespace candor::instruments {

namespace {

constexpr std::int64_t word_bits = 64;
constexpr double undefined = std::numeric_limits<double>::quiet_NaN();

std::int64_t ones(std::span<const std::uint64_t> words) {
    std::int64_t count = 0;
    for (const std::uint64_t word : words) count += std::popcount(word);
    return count;
}

/// @param null one stats::Hypergeometric, or one a context.
template <class Null>
OverlapNull against(const Null& null, std::int64_t overlap, double jaccard) {
    OverlapNull result;
    result.log10_p = stats::log10_upper_tail(null, overlap);
    result.p = std::pow(10.0, result.log10_p);
    result.expected_jaccard = stats::mean_jaccard(null);
    result.delta_jaccard = jaccard - result.expected_jaccard;
    return result;
}

/// Probability that most of the encoders are blind at once, each with its own `rate`.
double most_at_once(std::span<const double> rate) {
    std::vector<double> probability{1.0};  // of each number of blind encoders among those looked at so far
    for (const double r : rate) {
        probability.push_back(0);
        for (std::size_t blind = probability.size(); blind-- > 0;) {
            const double one_fewer = blind == 0 ? 0 : probability[blind - 1];
            probability[blind] = probability[blind] * (1 - r) + one_fewer * r;
        }
    }
    double tail = 0;
    for (std::size_t blind = 0; blind < probability.size(); ++blind) {
        if (most_are_blind(static_cast<std::int64_t>(blind), std::ssize(rate))) tail += probability[blind];
    }
    return tail;
}

}  // namespace

BlindSets::BlindSets(std::int64_t encoders, std::span<const std::int64_t> populations)
    : encoders_(encoders), populations_(populations.begin(), populations.end()) {
    for (const std::int64_t population : populations) {
        first_word_.push_back(first_word_.back() + (population + word_bits - 1) / word_bits);
    }
    words_.resize(static_cast<std::size_t>(encoders * first_word_.back()));
}

std::int64_t BlindSets::population(std::int64_t context) const {
    return populations_[static_cast<std::size_t>(context)];
}

std::int64_t BlindSets::population() const {
    return std::accumulate(populations_.begin(), populations_.end(), std::int64_t{0});
}

void BlindSets::add(std::int64_t encoder, std::int64_t context, std::int64_t position) {
    CANDOR_REQUIRE(encoder >= 0 && encoder < encoders() && context >= 0 && context < contexts() &&
                       position >= 0 && position < population(context),
                   "encoder " + std::to_string(encoder) + " of " + std::to_string(encoders()) + ", context " +
                       std::to_string(context) + " of " + std::to_string(contexts()) + ", positive " +
                       std::to_string(position));
    const std::int64_t word =
        encoder * first_word_.back() + first_word_[static_cast<std::size_t>(context)] + position / word_bits;
    words_[static_cast<std::size_t>(word)] |= std::uint64_t{1} << (position % word_bits);
}

std::span<const std::uint64_t> BlindSets::words_of(std::int64_t encoder, std::int64_t context) const {
    const std::int64_t first = first_word_[static_cast<std::size_t>(context)];
    const std::int64_t end = first_word_[static_cast<std::size_t>(context) + 1];
    return std::span(words_).subspan(static_cast<std::size_t>(encoder * first_word_.back() + first),
                                     static_cast<std::size_t>(end - first));
}

std::int64_t BlindSets::size(std::int64_t encoder, std::int64_t context) const {
    return ones(words_of(encoder, context));
}

std::vector<ContextOverlap> BlindSets::overlaps(std::int64_t a, std::int64_t b) const {
    std::vector<ContextOverlap> contexts_of_pair;
    for (std::int64_t context = 0; context < contexts(); ++context) {
        const auto words_a = words_of(a, context), words_b = words_of(b, context);
        std::int64_t both = 0;
        for (std::size_t i = 0; i < words_a.size(); ++i) both += std::popcount(words_a[i] & words_b[i]);
        contexts_of_pair.push_back({population(context), ones(words_a), ones(words_b), both});
    }
    return contexts_of_pair;
}

std::vector<std::int64_t> BlindSets::blind_encoders() const {
    std::vector<std::int64_t> count(static_cast<std::size_t>(population()));
    for (std::int64_t encoder = 0; encoder < encoders(); ++encoder) {
        std::int64_t first = 0;
        for (std::int64_t context = 0; context < contexts(); first += population(context++)) {
            std::int64_t at = first;
            for (std::uint64_t word : words_of(encoder, context)) {
                for (; word != 0; word &= word - 1)  // the lowest bit leaves
                    ++count[static_cast<std::size_t>(at + std::countr_zero(word))];
                at += word_bits;
            }
        }
    }
    return count;
}

PairOverlap pair_overlap(std::span<const ContextOverlap> contexts) {
    PairOverlap pair;
    std::vector<stats::Hypergeometric> strata;
    for (const ContextOverlap& context : contexts) {
        pair.contexts += context.population > 0;
        pair.population += context.population;
        pair.blind_a += context.blind_a;
        pair.blind_b += context.blind_b;
        pair.overlap += context.overlap;
        strata.push_back({context.population, context.blind_a, context.blind_b});
    }
    if (pair.blind_a + pair.blind_b == 0) {
        pair.jaccard = undefined;
        pair.pooled = pair.stratified = {undefined, undefined, undefined, undefined};
        return pair;
    }
    pair.jaccard =
        static_cast<double>(pair.overlap) / static_cast<double>(pair.blind_a + pair.blind_b - pair.overlap);
    const stats::Hypergeometric whole{pair.population, pair.blind_a, pair.blind_b};
    pair.pooled = against(whole, pair.overlap, pair.jaccard);
    pair.stratified = against(std::span<const stats::Hypergeometric>(strata), pair.overlap, pair.jaccard);
    return pair;
}

double independent_consensus(const BlindSets& sets) {
    double expected = 0;
    for (std::int64_t context = 0; context < sets.contexts(); ++context) {
        const auto population = static_cast<double>(sets.population(context));
        if (population == 0) continue;
        std::vector<double> rate;
        for (std::int64_t encoder = 0; encoder < sets.encoders(); ++encoder) {
            rate.push_back(static_cast<double>(sets.size(encoder, context)) / population);
        }
        expected += population * most_at_once(rate);
    }
    return expected;
}

ContextOverlap overlap_of(std::int64_t population, const std::uint64_t* a, const std::uint64_t* b) {
    ContextOverlap overlap{population, 0, 0, 0};
    for (std::int64_t w = 0; w < (population + 63) / 64; ++w) {
        overlap.blind_a += std::popcount(a[w]);
        overlap.blind_b += std::popcount(b[w]);
        overlap.overlap += std::popcount(a[w] & b[w]);
    }
    return overlap;
}

OverlapNull undefined_null() {
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    return {nan, nan, nan, nan};
}

namespace {

/// Overlap that the stratified hypergeometric expects, its standard deviation, and what there is.
struct Expected {
    double mean = 0, sd = 0, overlap = 0, sizes = 0;
    double distance() const { return (overlap - mean) / sd; }
};

Expected expected_of(std::span<const ContextOverlap> contexts) {
    Expected expected;
    double variance = 0;
    for (const ContextOverlap& one : contexts) {
        const auto n = static_cast<double>(one.population), a = static_cast<double>(one.blind_a),
                   b = static_cast<double>(one.blind_b);
        if (one.population == 0) continue;
        expected.mean += a * b / n;
        expected.overlap += static_cast<double>(one.overlap);
        expected.sizes += a + b;
        if (one.population > 1) variance += a * (n - a) * b * (n - b) / (n * n * (n - 1));
    }
    expected.sd = std::sqrt(variance);
    return expected;
}

/// The observed overlap's distance on the scale of a normal, from the exact stratified tail, its own
/// probability counted half: sets of few are far from normal, where those of permuted labels, of half of the
/// positives, are near it.
double score_of(std::span<const ContextOverlap> observed) {
    const OverlapNull here = pair_overlap(observed).stratified;
    if (!(here.p > 1e-280)) return stats::normal_score(here.log10_p);
    std::vector<ContextOverlap> more(observed.begin(), observed.end());
    const auto room = std::ranges::find_if(
        more, [](const ContextOverlap& one) { return one.overlap < std::min(one.blind_a, one.blind_b); });
    double beyond = 0;
    if (room != more.end()) {
        ++room->overlap;
        beyond = pair_overlap(more).stratified.p;
    }
    return stats::normal_score(std::log10((here.p + beyond) / 2));
}

}  // namespace

OverlapNull relabel_null(std::span<const ContextOverlap> observed, std::span<const ContextOverlap> permuted) {
    const Expected here = expected_of(observed);
    if (!(here.sd > 0)) return undefined_null();
    std::vector<double> distances;
    for (std::size_t first = 0; first < permuted.size(); first += observed.size()) {
        const Expected one = expected_of(permuted.subspan(first, observed.size()));
        if (one.sd > 0) distances.push_back(one.distance());
    }
    if (distances.size() < 2) return undefined_null();
    double mean = 0, squares = 0;
    for (const double d : distances) mean += d / static_cast<double>(distances.size());
    for (const double d : distances) squares += (d - mean) * (d - mean);
    const double degrees = static_cast<double>(distances.size() - 1), sd = std::sqrt(squares / degrees);
    if (!(sd > 0)) return undefined_null();
    const double t = (score_of(observed) - mean) / sd;
    const double both = stats::two_sided_t(t, degrees);
    OverlapNull null;
    null.p = t > 0 ? both / 2 : 1 - both / 2;
    null.log10_p = std::log10(null.p);
    const double overlap = here.mean + mean * here.sd;
    null.expected_jaccard = overlap / (here.sizes - overlap);
    null.delta_jaccard = here.overlap / (here.sizes - here.overlap) - null.expected_jaccard;
    return null;
}

}  // namespace candor::instruments
