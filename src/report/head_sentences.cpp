#include "candor/report/head_sentences.hpp"

#include <cmath>
#include <cstddef>
#include <map>
#include <optional>

#include "candor/report/cell_text.hpp"
#include "candor/report/escape.hpp"
#include "candor/report/table_columns.hpp"

namespace candor::report {

namespace {

std::string detection_sentence(const store::ResultTable& table, const std::string& task) {
    const auto& auroc = reals(table, "auroc");
    std::optional<std::size_t> impurity, best;
    for (const std::size_t i : rows_of(table, task)) {
        if (texts(table, "level")[i] != "task" || std::isnan(auroc[i])) continue;
        if (texts(table, "score")[i] == "impurity") {
            impurity = i;
        } else if (!best || auroc[i] > auroc[*best]) {
            best = i;
        }
    }
    if (!impurity || !best) return {};
    const auto of = [&](std::size_t i) {
        return texts(table, "score")[i] + " at " +
               with_interval(auroc[i], reals(table, "auroc_low")[i], reals(table, "auroc_high")[i]);
    };
    const std::int64_t won = integers(table, "won")[*best];
    const std::int64_t cells = won + integers(table, "lost")[*best] + integers(table, "even")[*best];
    return "Errors of linear heads, AUROC within context: " + of(*impurity) + ", the best other score " +
           of(*best) + "; impurity is above it in " + std::to_string(won) + " of " +
           counted(cells, "cell", "cells") + ".";
}

std::string selection_sentence(const store::ResultTable& table, const std::string& task) {
    std::map<std::string, std::size_t> row;  // of the macro level, by policy
    for (const std::size_t i : rows_of(table, task)) {
        if (texts(table, "level")[i] == "macro") row.emplace(texts(table, "policy")[i], i);
    }
    if (row.empty()) return {};
    const auto miss = [&](const char* policy) { return missed(table, row.at(policy)).text(); };
    const std::size_t single = row.at("single");
    std::string text =
        "Missed positives of " + counted(integers(table, "positives")[single], "case", "cases") +
        " that all " + std::to_string(integers(table, "encoders")[single]) +
        " encoders scored (macro): one encoder " + miss("single") + ", the majority " + miss("majority") +
        ", all of them " + miss("oracle") + ", as many independent ones " + miss("independent") + " percent";
    const auto& closed = reals(table, "gap_closed");
    std::optional<std::size_t> best;
    for (const char* rule : {"most_confident", "lowest_d", "lowest_impurity", "mean_probability"}) {
        const std::size_t i = row.at(rule);
        if (!std::isnan(closed[i]) && (!best || closed[i] > closed[*best])) best = i;
    }
    if (best) {
        text += "; of the gap in balanced error the best rule without labels, " +
                texts(table, "policy")[*best] + ", closes " +
                with_interval(closed[*best], reals(table, "gap_closed_low")[*best],
                              reals(table, "gap_closed_high")[*best]);
    }
    return text + ".";
}

}  // namespace

std::string heads_sentence(const store::ResultTable& table, const std::string& task) {
    const auto& auroc = reals(table, "auroc");
    std::optional<std::size_t> lowest, highest;
    std::int64_t violations = 0;
    for (const std::size_t i : rows_of(table, task)) {
        if (texts(table, "level")[i] != "task") continue;
        violations += integers(table, "violations")[i];
        if (texts(table, "kind")[i] != "linear" || std::isnan(auroc[i])) continue;
        if (!lowest || auroc[i] < auroc[*lowest]) lowest = i;
        if (!highest || auroc[i] > auroc[*highest]) highest = i;
    }
    if (!lowest) return {};
    const auto of = [&](std::size_t i) {
        return plain_text(texts(table, "encoder")[i]) + " at " +
               with_interval(auroc[i], reals(table, "auroc_low")[i], reals(table, "auroc_high")[i]);
    };
    std::string text = "Linear heads, AUROC over findings: ";
    text +=
        *lowest == *highest ? of(*lowest) : "lowest under " + of(*lowest) + ", highest under " + of(*highest);
    return text + "; " + counted(violations, "margin", "margins") + " above a cap.";
}

std::vector<std::string> head_sentences(const HeadTables& tables, const std::string& task) {
    std::vector<std::string> sentences{heads_sentence(tables.heads, task),
                                       detection_sentence(tables.detection, task),
                                       selection_sentence(tables.selection, task)};
    std::erase(sentences, "");
    return sentences;
}

}  // namespace candor::report
