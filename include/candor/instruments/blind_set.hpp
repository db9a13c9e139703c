#pragma once

/// Blind sets (METHODS 6): the positives of a finding that an encoder is blind to, how far the sets of two
/// encoders overlap beside what chance gives, and what most encoders are blind to.

#include <cstdint>
#include <span>
#include <vector>

namespace candor::instruments {

/// Positives of one context, those that encoder a and encoder b are blind to, and those that both are.
struct ContextOverlap {
    std::int64_t population = 0, blind_a = 0, blind_b = 0, overlap = 0;
};

/// Of two sets among `population` positives, a bit each.
ContextOverlap overlap_of(std::int64_t population, const std::uint64_t* a, const std::uint64_t* b);

/// The blind sets of E encoders over the positives of one finding, context by context, as bits: a matrix of
/// encoder x 64-bit words in which every context starts a word, so that sizes are counts of bits in whole
/// words. Bits beyond a context's last positive stay 0.
class BlindSets {
  public:
    BlindSets() = default;
    /// Empty sets. @param populations positives of each context; 0 is allowed.
    BlindSets(std::int64_t encoders, std::span<const std::int64_t> populations);

    std::int64_t encoders() const { return encoders_; }
    std::int64_t contexts() const { return static_cast<std::int64_t>(populations_.size()); }
    std::int64_t population(std::int64_t context) const;
    std::int64_t population() const;  ///< of all contexts

    /// Adds positive `position` of `context` to the set of `encoder`.
    /// @throws InternalError where one of them does not exist.
    void add(std::int64_t encoder, std::int64_t context, std::int64_t position);

    std::int64_t size(std::int64_t encoder, std::int64_t context) const;
    /// One entry a context.
    std::vector<ContextOverlap> overlaps(std::int64_t a, std::int64_t b) const;
    /// How many encoders are blind to each positive: those of context 0 first, without gaps.
    std::vector<std::int64_t> blind_encoders() const;

    /// All words, encoder by encoder, to send and to fill.
    std::span<std::uint64_t> words() { return words_; }

  private:
    std::span<const std::uint64_t> words_of(std::int64_t encoder, std::int64_t context) const;

    std::int64_t encoders_ = 0;
    std::vector<std::int64_t> populations_;
    std::vector<std::int64_t> first_word_{0};  // of each context in the row of an encoder, then the row's end
    std::vector<std::uint64_t> words_;
};

/// What chance gives, and how far the overlap is from it.
struct OverlapNull {
    double log10_p = 0;  ///< of P(X >= overlap)
    double p = 0;        ///< 10^log10_p: 0 where that underflows
    double expected_jaccard = 0;
    double delta_jaccard = 0;  ///< jaccard - expected_jaccard
};

/// Nothing is known: all NaN.
OverlapNull undefined_null();

/// The blind sets of a pair of encoders over several contexts, under two nulls: `pooled` takes all positives
/// for one population, `stratified` lets each context have its own sizes. Plain numbers only: it travels
/// between ranks as bytes.
struct PairOverlap {
    std::int64_t contexts = 0;  ///< that have positives
    std::int64_t population = 0, blind_a = 0, blind_b = 0, overlap = 0;
    double jaccard = 0;  ///< overlap / (a + b - overlap)
    OverlapNull pooled, stratified;
    OverlapNull relabel = undefined_null();  ///< relabel_null, where labels were permuted
};

/// The figures of a pair from its contexts: those of one finding or, for a task, those of all findings. Where
/// both sets are empty jaccard and both nulls are undefined (NaN: outside families and shares); where one is,
/// p is 1.
PairOverlap pair_overlap(std::span<const ContextOverlap> contexts);

/// The null in which one label permutation at a time is shared by both encoders (METHODS 6). It contains that
/// they share geometry, which the hypergeometric ones do not. Sets of permuted labels are of other sizes than
/// those observed, so what is compared is the overlap in standard deviations of the stratified
/// hypergeometric (of the observed sets, which may be of few, on the normal scale of its exact tail): p is
/// the upper tail of Student's t with R - 1 degrees of freedom of its distance from the mean of the
/// permutations, in their standard deviations; `expected_jaccard` is that of sets of the observed sizes at
/// that mean.
/// @param permuted R times as many entries as `observed`, permutation after permutation.
/// Undefined where a set or its complement is empty in every context, or fewer than two permutations are
/// defined.
OverlapNull relabel_null(std::span<const ContextOverlap> observed, std::span<const ContextOverlap> permuted);

/// Blind by consensus: more than half of the panel is blind.
constexpr bool most_are_blind(std::int64_t blind, std::int64_t encoders) {
    return 2 * blind > encoders;
}

/// How many positives most encoders would be blind to if, within each context, every encoder failed on its
/// own share of the positives independently of the others: the sum over contexts of the population times the
/// tail of a Poisson-binomial distribution, exact by dynamic programming over the encoders.
double independent_consensus(const BlindSets& sets);

}  // namespace candor::instruments
