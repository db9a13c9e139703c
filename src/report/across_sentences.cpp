#include "candor/report/across_sentences.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>

#include "candor/report/cell_text.hpp"
#include "candor/report/escape.hpp"
#include "candor/report/table_columns.hpp"

namespace candor::report {

namespace {

/// How many overlaps are more than geometry that encoders share gives: the only null that contains it.
std::string beyond_geometry(const store::ResultTable& table, const std::string& task) {
    for (const std::size_t i : rows_of(table, task)) {
        if (texts(table, "null")[i] != "relabel" || integers(table, "tests")[i] == 0) continue;
        return "; " + std::to_string(integers(table, "rejected")[i]) + " of " +
               counted(integers(table, "tests")[i], "pair", "pairs") +
               " share more than their common geometry gives under permuted labels";
    }
    return {};
}

}  // namespace

std::string overlap_sentence(const store::ResultTable& table, const std::string& task) {
    for (const std::size_t i : rows_of(table, task)) {
        if (texts(table, "null")[i] != "stratified") continue;
        const std::int64_t tests = integers(table, "tests")[i];
        if (tests == 0) return {};
        const std::int64_t one_empty = integers(table, "one_empty")[i];
        return "Blind sets: " + std::to_string(integers(table, "above")[i]) + " of " +
               counted(tests - one_empty, "pair", "pairs") +
               " of encoders on a finding share more blind positives than their sizes and contexts let "
               "expect" +
               (one_empty > 0 ? " (of " + std::to_string(one_empty) + " more one is blind to none)" : "") +
               ", " + std::to_string(integers(table, "rejected")[i]) + " significantly; delta_J is " +
               percent(reals(table, "mean_delta_jaccard")[i]) + " on average" + beyond_geometry(table, task) +
               ".";
    }
    return {};
}

std::string consensus_sentence(const store::ResultTable& table, const std::string& task) {
    for (const std::size_t i : rows_of(table, task)) {
        if (texts(table, "level")[i] != "task" || integers(table, "encoders")[i] < 2) continue;
        return "Consensus: the majority of " + std::to_string(integers(table, "encoders")[i]) +
               " encoders is blind to " + std::to_string(integers(table, "blind")[i]) + " of " +
               counted(integers(table, "positives")[i], "positive", "positives") + ", " +
               read_share(table, i, "share", "low", "high").text() +
               " percent; independent encoders of the same rates would be to " +
               percent(reals(table, "independent_share")[i]) + ".";
    }
    return {};
}

std::string retention_sentence(const store::ResultTable& table, const store::ResultTable& associations,
                               const std::string& task) {
    std::optional<std::size_t> lowest, highest;
    const auto& retention = reals(table, "retention");
    for (const std::size_t i : rows_of(table, task)) {
        if (texts(table, "level")[i] != "micro" || std::isnan(retention[i])) continue;
        if (!lowest || retention[i] < retention[*lowest]) lowest = i;
        if (!highest || retention[i] > retention[*highest]) highest = i;
    }
    if (!lowest) return {};
    const auto of = [&](std::size_t i) {
        return plain_text(texts(table, "encoder")[i]) + " at " +
               with_interval(retention[i], reals(table, "low")[i], reals(table, "high")[i]);
    };
    std::string text = "Retention after erasing the evidence: ";
    text +=
        *lowest == *highest ? of(*lowest) : "lowest under " + of(*lowest) + ", highest under " + of(*highest);
    for (const std::size_t i : rows_of(associations, task)) {
        const double rho = reals(associations, "value")[i];
        if (texts(associations, "x")[i] != "retention" || texts(associations, "y")[i] != "d" ||
            texts(associations, "group")[i] != "panel" || std::isnan(rho))
            continue;
        const double exact = reals(associations, "exact_p")[i];
        text += "; Spearman with D over " + std::to_string(integers(associations, "n")[i]) + " encoders " +
                significant(rho, 3) +
                (std::isnan(exact) ? ", p " + significant(reals(associations, "p")[i], 3)
                                   : ", exact p " + significant(exact, 3));
    }
    return text + ".";
}

std::string distance_sentence(const store::ResultTable& table, const std::string& task) {
    std::int64_t encoders = 0, below = 0, above = 0;
    std::string anchor;
    for (const std::size_t i : rows_of(table, task)) {
        if (texts(table, "level")[i] != "micro") continue;
        ++encoders;
        anchor = texts(table, "anchor")[i];
        if (integers(table, "reject")[i] == 0) continue;
        ++(reals(table, "distance")[i] > 0 ? below : above);
    }
    if (encoders == 0) return {};
    return "Against the anchor " + plain_text(anchor) + ": " + std::to_string(below) + " of " +
           counted(encoders, "encoder", "encoders") + " significantly below it, " + std::to_string(above) +
           " above.";
}

std::vector<std::string> across_sentences(const AcrossTables& tables, const std::string& task) {
    std::vector<std::string> sentences{overlap_sentence(tables.overlap_summary, task),
                                       consensus_sentence(tables.consensus, task),
                                       retention_sentence(tables.retention, tables.associations, task),
                                       distance_sentence(tables.distances, task)};
    std::erase(sentences, "");
    return sentences;
}

}  // namespace candor::report
