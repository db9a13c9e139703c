#pragma once

/// Where the scores of one query go: keeps every candidate that may yet be among its k nearest.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

namespace candor::neighbors {

/// Keeps each proposed entry whose score is at least the running k-th largest minus `band`, twice the error
/// of a score: an entry among the true k nearest scores at least its cosine minus the error, and the k-th
/// largest score is at most the k-th largest cosine plus the error, so no such entry is ever dropped.
class Sink {
  public:
    struct Proposal {
        double score;
        std::int64_t position;
    };

    Sink(int k, double band) : k_(static_cast<std::size_t>(k)), band_(band) { best_.reserve(k_); }

    /// Scores below this can be passed over without a call of `offer`.
    double cut() const { return cut_; }

    void offer(double score, std::int64_t position) {
        if (score < cut_) return;
        kept_.push_back({score, position});
        if (best_.size() < k_) {
            best_.push_back(score);
            std::push_heap(best_.begin(), best_.end(), std::greater<>());
        } else if (score > best_.front()) {
            std::pop_heap(best_.begin(), best_.end(), std::greater<>());
            best_.back() = score;
            std::push_heap(best_.begin(), best_.end(), std::greater<>());
        }
        if (best_.size() == k_) cut_ = best_.front() - band_;
        if (kept_.size() >= compact_at_) compact();
    }

    /// The entries to decide, in no particular order.
    const std::vector<Proposal>& kept() {
        compact();
        return kept_;
    }

  private:
    void compact() {
        std::erase_if(kept_, [&](const Proposal& p) { return p.score < cut_; });
        compact_at_ = std::max(4 * k_ + 64, 2 * kept_.size());
    }

    std::size_t k_;
    double band_;
    double cut_ = -std::numeric_limits<double>::infinity();
    std::size_t compact_at_ = 4 * k_ + 64;
    std::vector<double> best_;  // the k largest scores so far, smallest first
    std::vector<Proposal> kept_;
};

}  // namespace candor::neighbors
