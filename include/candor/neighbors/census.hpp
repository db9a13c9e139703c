#pragma once

/// The nearest candidates of many queries among the same rows, all candidate lists in one pass: each tile of
/// the Gram matrix is computed once and serves its rows and its columns (DESIGN 7). The bits are those of
/// `nearest`.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "candor/base/index.hpp"
#include "candor/base/reach.hpp"
#include "candor/neighbors/row_source.hpp"
#include "candor/neighbors/search.hpp"

namespace candor::neighbors {

/// One candidate list and those who are asked it: a side of a cell under one rule and draw.
struct Question {
    std::span<const ContextRow> list;     ///< candidates in key order, each row at most once
    std::span<const ContextRow> queries;  ///< each row at most once
    std::span<const Reach> reach;         ///< of each query in `list`
    int k = 0;                            ///< neighbours wanted; 0: as many as the census is asked for
};

/// How a census went; none of it changes a bit of what it finds.
struct CensusCost {
    double products = 0;          ///< pairs of rows whose tile was multiplied out
    double bounded = 0;           ///< pairs whose tile was multiplied along the leading directions only
    double survivors = 0;         ///< of those, pairs that the directions did not rule out
    double multiplied = 0;        ///< of those, pairs that bytes did not rule out either, multiplied in full
    std::int64_t directions = 0;  ///< leading directions; 0: none were of use
    std::int64_t loads = 0;       ///< panels read, again and again
};

/// The answers to one question of those of its queries that are in one panel.
struct Decided {
    std::vector<std::int64_t> query;  ///< positions in Question::queries, ascending
    NeighborSets nearest;             ///< of each, within its reach
};

/// A census that can be done in parts: any two panels meet once, in any order, on any rank; then what all
/// have kept of a panel is brought together and decided.
class Census {
  public:
    /// @param k neighbours of each query, where its question does not say.
    /// @pre every reach has at least as many entries, end <= list.size(); a query that is on the list skips
    /// itself
    ///      or lies beyond its reach. The rows and what the questions look at must outlive this.
    /// @param place where each row is read from, e.g. its row of a file: rows near each other are read
    ///              together; empty: their own order.
    Census(const RowSource& rows, std::span<const Question> questions, int k, const SearchOptions& options,
           std::span<const std::int64_t> place = {});
    ~Census();
    Census(Census&&) noexcept;

    std::int64_t panels() const;
    /// Shows the rows of two panels to each other. `next`: the panel that the caller will ask for next, to be
    /// read ahead; -1: none.
    void meet(std::int64_t i, std::int64_t j, std::int64_t next = -1);
    /// What the rows of a panel have kept here, for the rank that decides them; empty where they met no one.
    std::string kept(std::int64_t panel);
    /// The same, and they go on having it.
    std::string copy_of_kept(std::int64_t panel) const;
    /// Adds what another rank has kept of a panel. No two ranks may have shown it the same rows.
    void add(std::int64_t panel, std::string_view kept);
    /// Decides in double what the rows of a panel keep. @returns a Decided a question.
    std::vector<Decided> decide(std::int64_t panel);
    CensusCost cost() const;

  private:
    class Work;
    std::unique_ptr<Work> work_;
};

/// All of a census at once. @returns the same bits as nearest() of each question, in the order of
/// `questions`, for any options.
std::vector<NeighborSets> census(const RowSource& rows, std::span<const Question> questions, int k,
                                 const SearchOptions& options);

/// Two panels of a census that have something to show each other, i <= j.
struct Encounter {
    std::int64_t i = 0, j = 0;
    double products = 0;  ///< of two rows, about
};

/// All encounters of a census of these questions about `rows` rows, by i, then j.
std::vector<Encounter> encounters_of(std::int64_t rows, std::span<const Question> questions,
                                     const SearchOptions& options, std::span<const std::int64_t> place = {});

/// Bytes of memory that a census of these questions needs at least, about: with fewer in
/// SearchOptions::memory it takes this many all the same.
std::int64_t least_memory(std::int64_t rows, std::int64_t dimension, bool doubles,
                          std::span<const Question> questions, int k, const SearchOptions& options);

/// Bytes that it takes where SearchOptions::memory sets no bound, about: all of its rows are then in memory.
std::int64_t full_memory(std::int64_t rows, std::int64_t dimension, bool doubles,
                         std::span<const Question> questions, int k, const SearchOptions& options);

/// Bytes of what the rows of a census keep, packed (Census::kept of all panels), at most about: where each
/// has many neighbours at as good as one distance.
std::int64_t kept_memory(std::int64_t rows, std::span<const Question> questions, int k);

/// Rows that a census about `rows` rows looks at before any are met, for their centre and their directions.
std::int64_t rows_looked_at(std::int64_t rows);

/// Directions that a census tries to find in them where SearchOptions::directions leaves it to itself.
std::int64_t directions_tried(std::int64_t dimension);

/// Products of two rows that a census of these questions takes, about: every pair of candidates once, and
/// every candidate with every query that is no candidate.
double products_of(std::int64_t rows, std::span<const Question> questions);

}  // namespace candor::neighbors
