#pragma once

/// The nearest candidates of many queries among the same rows, all candidate lists in one pass: each tile of
/// the Gram matrix is computed once and serves its rows and its columns (DESIGN 7). The bits are those of
/// `nearest`.

#include <cstdint>
#include <span>
#include <vector>

#include "candor/base/index.hpp"
#include "candor/base/reach.hpp"
#include "candor/neighbors/row_set.hpp"
#include "candor/neighbors/search.hpp"

namespace candor::neighbors {

/// One candidate list and those who are asked it: a side of a cell under one rule and draw.
struct Question {
    std::span<const ContextRow> list;     ///< candidates in key order, each row at most once
    std::span<const ContextRow> queries;  ///< each row at most once
    std::span<const Reach> reach;         ///< of each query in `list`
};

/// The k nearest entries of each question's list within each query's reach, in the order of `questions`.
/// @pre every reach has at least k entries, end <= list.size(); a query that is on the list skips itself or
/// lies
///      beyond its reach.
/// @returns the same bits as nearest() of each question, for any block size and thread count.
std::vector<NeighborSets> census(const RowSet& rows, std::span<const Question> questions, int k,
                                 const SearchOptions& options);

/// Products of two rows that a census of these questions takes, about: every pair of candidates once, and
/// every candidate with every query that is no candidate.
double products_of(std::int64_t rows, std::span<const Question> questions);

}  // namespace candor::neighbors
