#include "candor/report/head_answers.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

#include "candor/base/text.hpp"
#include "candor/report/cell_text.hpp"
#include "candor/report/head_exhibits.hpp"
#include "candor/report/head_sentences.hpp"
#include "candor/report/table_columns.hpp"

namespace candor::report {

namespace {

std::string auroc_at(const store::ResultTable& table, std::size_t row) {
    return with_interval(reals(table, "auroc")[row], reals(table, "auroc_low")[row],
                         reals(table, "auroc_high")[row]);
}

std::string words_of(std::string_view score) {
    const auto at = std::ranges::find(shown_scores(), score, &ShownScore::score);
    std::string words(at->words);
    if (score != "mahalanobis") words[0] = static_cast<char>(words[0] - 'A' + 'a');
    return words;
}

/// The encoders under which confidence flags errors best and worst, and how many intervals lie above chance.
std::string by_encoder(const ReportData& data, const store::ResultTable& table, const std::string& task) {
    std::optional<std::size_t> best, worst;
    std::int64_t encoders = 0, above = 0;
    const auto& auroc = reals(table, "auroc");
    for (const std::size_t i : rows_of(table, task)) {
        if (texts(table, "level")[i] != "encoder" || texts(table, "score")[i] != "msp" ||
            std::isnan(auroc[i]))
            continue;
        ++encoders;
        above += reals(table, "auroc_low")[i] > 0.5;
        if (!best || auroc[i] > auroc[*best]) best = i;
        if (!worst || auroc[i] < auroc[*worst]) worst = i;
    }
    if (!best || encoders < 2) return {};
    return "By encoder, confidence flags errors best under " + data.encoder(texts(table, "encoder")[*best]) +
           " (" + auroc_at(table, *best) + ") and worst under " +
           data.encoder(texts(table, "encoder")[*worst]) + " (" + auroc_at(table, *worst) +
           "); its interval lies above 50 under " + std::to_string(above) + " of " +
           counted(encoders, "encoder", "encoders") + ", which is no test.";
}

/// How many cells' gaps were rejected.
std::string by_cell(const ReportData& data, const store::ResultTable& table, const std::string& task) {
    std::int64_t tested = 0, above = 0, below = 0;
    for (const std::size_t i : rows_of(table, task)) {
        if (texts(table, "level")[i] != "cell" || texts(table, "score")[i] != "msp" ||
            std::isnan(reals(table, "q")[i]))
            continue;
        ++tested;
        if (integers(table, "reject")[i] != 0) ++(reals(table, "gap")[i] > 0 ? above : below);
    }
    if (tested == 0) return {};
    return "Neighborhood impurity, by the labels of the nearest training images, is significantly below "
           "confidence in " +
           std::to_string(below) + " of " + counted(tested, "tested cell", "tested cells") +
           " (encoder, data set, finding) and significantly above it in " + std::to_string(above) +
           " (q at most " + significant(data.alpha, 3) +
           ", test: bootstrap, which rejects a true null more often than its level says).";
}

/// What is left of the errors when a fifth of the rows is given up by the score that leaves least.
std::string given_up(const ReportData& data, const std::string& task) {
    const store::ResultTable* const table = data.table("risk_coverage");
    std::optional<std::size_t> best, oracle;
    double all = NAN;
    for (const std::size_t i : table ? rows_of(*table, task) : std::vector<std::size_t>()) {
        if (texts(*table, "level")[i] != "task") continue;
        const double coverage = reals(*table, "coverage")[i], risk = reals(*table, "risk")[i];
        const std::string& score = texts(*table, "score")[i];
        if (score == "oracle" && coverage > 0.999) all = risk;
        if (std::fabs(coverage - 0.8) > 1e-9 || std::isnan(risk)) continue;
        if (score == "oracle") {
            oracle = i;
        } else if (std::ranges::find(shown_scores(), score, &ShownScore::score) != shown_scores().end() &&
                   (!best || risk < reals(*table, "risk")[*best])) {
            best = i;
        }
    }
    if (!best || !oracle || std::isnan(all)) return {};
    return "Where the fifth of the rows that " + words_of(texts(*table, "score")[*best]) +
           " finds least certain is given up, the share of errors goes from " + percent(all) + " to " +
           percent(reals(*table, "risk")[*best]) +
           " (the least that any score leaves; giving up errors first leaves " +
           percent(reals(*table, "risk")[*oracle]) + "); means over " +
           counted(integers(*table, "cells")[*best], "cell", "cells") + ", without intervals.";
}

}  // namespace

std::vector<std::string> reading_answers(const ReportData& data, const std::string& task) {
    const store::ResultTable* const table = data.table("heads");
    if (!table || data.overview.heads.heads.columns.empty()) return {};
    std::vector<std::string> out{heads_sentence(data.overview.heads.heads, task)};
    if (out[0].empty()) return {};
    std::int64_t separated = 0, cases = 0, violations = 0;
    for (const std::size_t i : rows_of(*table, task)) {
        if (texts(*table, "level")[i] != "task") continue;
        cases += integers(*table, "cases")[i];
        separated += integers(*table, "separated")[i];
        violations += integers(*table, "violations")[i];
    }
    if (separated > 0) {
        out.push_back(
            "Of " + counted(cases, "discordant case", "discordant cases") + " of a head, " +
            std::to_string(separated) + " are separated from their nearest negative all the same, " +
            (violations == 0 ? "each with a margin within the cap of Corollary 1."
                             : std::to_string(violations) +
                                   " of them with a margin above the cap of Corollary 1, which cannot be: "
                                   "please report it."));
    }
    return out;
}

std::vector<std::string> detection_answers(const ReportData& data, const std::string& task) {
    const store::ResultTable* const table = data.table("detection");
    const auto whole = table ? find_row(*table, {{"task", task}, {"level", "task"}, {"score", "impurity"}})
                             : std::optional<std::size_t>();
    if (!whole) return {};
    const std::int64_t errors = integers(*table, "errors")[*whole], rows = integers(*table, "rows")[*whole];
    if (rows == 0)
        return {"No test row has a head and enough training rows in its context, so nothing is known."};
    std::string text = "At their thresholds the linear heads err in " + std::to_string(errors) + " of " +
                       counted(rows, "answer", "answers") + " (" +
                       percent(static_cast<double>(errors) / static_cast<double>(rows)) + " percent)";
    std::vector<std::string> scores;
    for (const auto& [score, words] : shown_scores()) {
        const auto at = find_row(*table, {{"task", task}, {"level", "task"}, {"score", std::string(score)}});
        if (!at || std::isnan(reals(*table, "auroc")[*at])) continue;
        scores.push_back(words_of(score) + ' ' + auroc_at(*table, *at));
    }
    if (scores.empty()) return {text + "; no context has both an error and a right answer to tell apart."};
    std::vector<std::string> out{text +
                                 ". AUROC of each score against these errors, within context, chance 50: " +
                                 join_text(scores, "; ") + "."};
    for (const std::string& more :
         {by_encoder(data, *table, task), by_cell(data, *table, task), given_up(data, task)}) {
        if (!more.empty()) out.push_back(more);
    }
    out.emplace_back(
        "Confidence is measured from an output of 0 while a head decides at its threshold: where that is "
        "far from 0, confidence mostly tells answers of yes from answers of no. Read threshold distance "
        "beside it.");
    return out;
}

std::vector<std::string> selection_answers(const ReportData& data, const std::string& task) {
    const store::ResultTable* const table = data.table("selection");
    if (!table) return {};
    const auto row = [&](const char* policy) {
        return find_row(*table, {{"task", task}, {"level", "macro"}, {"policy", policy}});
    };
    const auto single = row("single"), oracle = row("oracle"), independent = row("independent");
    if (!single || !oracle || !independent) return {};
    const auto miss = [&](std::size_t i) { return missed(*table, i).text(); };
    const std::int64_t encoders = integers(*table, "encoders")[*single];
    std::vector<std::string> out;
    if (std::isnan(reals(*table, "miss")[*single]))
        return {"There is no positive that the heads of all encoders scored, so nothing is known."};
    out.push_back("Over " + counted(integers(*table, "positives")[*single], "positive", "positives") +
                  " that the heads of all " + std::to_string(encoders) +
                  " encoders scored, one head misses " + miss(*single) +
                  " percent and a selector that is shown the label " + miss(*oracle) +
                  " (means of the findings).");
    const auto [of_oracle, low, high] = missed(*table, *oracle);
    const auto [of_independent, other_low, other_high] = missed(*table, *independent);
    std::string text =
        "That alone shows no information in the panel: if the heads erred independently, all would miss " +
        miss(*independent) + " together, ";
    text += !(low < high) ? "but the interval of what they do has no width, so the two cannot be compared."
            : low > other_high ? "less than they do, so they err together more than independent heads."
            : high < other_low ? "more than they do."
                               : "which the intervals do not tell from what they do.";
    out.push_back(text);
    const auto& closed = reals(*table, "gap_closed");
    std::optional<std::size_t> best;
    for (const char* rule : {"most_confident", "lowest_d", "lowest_impurity", "mean_probability"}) {
        const auto i = row(rule);
        if (i && !std::isnan(closed[*i]) && (!best || closed[*i] > closed[*best])) best = i;
    }
    if (best) {
        std::string rule = texts(*table, "policy")[*best];
        std::ranges::replace(rule, '_', ' ');
        const double from = reals(*table, "gap_closed_low")[*best],
                     to = reals(*table, "gap_closed_high")[*best];
        out.push_back("Without labels, the best of four rules (" + rule + ") closes " +
                      with_interval(closed[*best], from, to) +
                      " percent of the gap between one head and the oracle in balanced error; " +
                      (std::isnan(from) ? "it has no interval."
                       : from > 0       ? "its interval lies above 0."
                       : to < 0         ? "its interval lies below 0: it is worse than an encoder at random."
                                : "its interval holds 0, so it is not told from an encoder at random.") +
                      " That it is the best was seen on these very cases, which flatters it.");
    } else {
        const auto first = row("most_confident");
        out.push_back("No rule without labels could be judged over the findings" +
                      (first ? ": " + texts(*table, "undefined")[*first] : std::string()) + ".");
    }
    std::int64_t fewest = -1, most = -1;
    for (const std::size_t i : rows_of(*table, task)) {
        if (texts(*table, "level")[i] != "finding" || texts(*table, "policy")[i] != "single") continue;
        const std::int64_t positives = integers(*table, "positives")[i];
        fewest = fewest < 0 ? positives : std::min(fewest, positives);
        most = std::max(most, positives);
    }
    if (fewest >= 0 && fewest < 50)
        out.push_back(
            "By finding these are " +
            (fewest == most ? std::to_string(most) : std::to_string(fewest) + " to " + std::to_string(most)) +
            " positives: rates of a finding with few are indicative only.");
    return out;
}

}  // namespace candor::report
