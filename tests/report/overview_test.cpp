#include "candor/report/overview.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <sstream>

#include "candor/base/error.hpp"
#include "candor/report/escape.hpp"
#include "candor/report/rate.hpp"

using namespace candor;
using namespace candor::report;

BOOST_AUTO_TEST_SUITE(report_overview)

namespace {

/// Fills the tables of an overview row by row, with the columns that the overview reads.
struct Maker {
    Overview overview;

    Maker() {
        overview.file = "out.h5";
        overview.run = "Study toy";
        overview.rule = "equal";
        overview.k = 5;
        overview.resamples = 1000;
        overview.cells.name = "cells";
        overview.findings.name = "findings";
        overview.task_rows.name = "tasks";
        overview.panels.name = "panels";
        overview.rules.name = "rules";
        overview.families.name = "families";
        overview.skipped.name = "skipped";
        overview.exclusions.name = "exclusions";
        texts(overview.across.overlap_summary, {"task", "null"});
        integers(overview.across.overlap_summary, {"tests", "one_empty", "above", "rejected"});
        reals(overview.across.overlap_summary, {"mean_delta_jaccard"});
        texts(overview.across.consensus, {"task", "level"});
        integers(overview.across.consensus, {"encoders", "blind", "positives"});
        reals(overview.across.consensus,
              {"share", "low", "high", "independent_share", "bound_low", "bound_high"});
        texts(overview.across.retention, {"task", "level", "encoder"});
        reals(overview.across.retention, {"retention", "low", "high"});
        texts(overview.across.associations, {"task", "x", "y", "group"});
        integers(overview.across.associations, {"n"});
        reals(overview.across.associations, {"value", "p", "exact_p"});
        texts(overview.across.distances, {"task", "level", "anchor"});
        integers(overview.across.distances, {"reject"});
        reals(overview.across.distances, {"distance"});
        texts(overview.heads.heads, {"task", "level", "encoder", "kind"});
        integers(overview.heads.heads, {"violations"});
        reals(overview.heads.heads, {"auroc", "auroc_low", "auroc_high"});
        texts(overview.heads.detection, {"task", "level", "score"});
        integers(overview.heads.detection, {"won", "lost", "even"});
        reals(overview.heads.detection, {"auroc", "auroc_low", "auroc_high"});
        texts(overview.heads.selection, {"task", "level", "policy"});
        integers(overview.heads.selection, {"positives", "encoders"});
        reals(overview.heads.selection, {"miss", "miss_low", "miss_high", "gap_closed", "gap_closed_low",
                                         "gap_closed_high", "bound_low", "bound_high"});
        texts(overview.cells, {"task", "encoder", "finding", "context"});
        integers(overview.cells, {"few_patients", "all_equal", "pooled_reference"});
        texts(overview.findings, {"task", "encoder", "finding"});
        integers(overview.findings,
                 {"queries", "ties", "n_boot_valid", "few_patients", "all_equal", "excludes_half"});
        reals(overview.findings, {"d", "d_low", "d_high", "rate_mid", "bound_low", "bound_high"});
        texts(overview.task_rows, {"task", "encoder", "level"});
        integers(overview.task_rows, {"anchor", "excludes_half"});
        reals(overview.task_rows, {"d", "d_low", "d_high", "rate_mid", "bound_low", "bound_high"});
        texts(overview.panels, {"task", "level", "statistic", "encoder"});
        integers(overview.panels, {"encoders"});
        reals(overview.panels, {"value", "low", "high"});
        texts(overview.rules, {"task", "rule"});
        texts(overview.families, {"family", "task", "test"});
        integers(overview.families, {"m", "undefined", "at_floor", "needed", "rejected"});
        reals(overview.families, {"alpha", "smallest_p"});
        texts(overview.skipped, {"task", "reason"});
        integers(overview.skipped, {"primary"});
        texts(overview.exclusions, {"task", "what", "detail"});
        integers(overview.exclusions, {"rows"});
    }

    static void texts(store::ResultTable& table, std::initializer_list<const char*> names) {
        for (const char* name : names) table.texts(name);
    }
    static void integers(store::ResultTable& table, std::initializer_list<const char*> names) {
        for (const char* name : names) table.integers(name);
    }
    static void reals(store::ResultTable& table, std::initializer_list<const char*> names) {
        for (const char* name : names) table.reals(name);
    }

    /// Appends a row: its texts, whole numbers and reals in the order of the columns above.
    static void add(store::ResultTable& table, const std::vector<std::string>& texts,
                    const std::vector<std::int64_t>& wholes, const std::vector<double>& reals) {
        std::size_t t = 0, w = 0, r = 0;
        for (store::Column& column : table.columns) {
            if (auto* names = std::get_if<std::vector<std::string>>(&column.values)) {
                names->push_back(texts.at(t++));
            } else if (auto* counts = std::get_if<std::vector<std::int64_t>>(&column.values)) {
                counts->push_back(wholes.at(w++));
            } else {
                std::get<std::vector<double>>(column.values).push_back(reals.at(r++));
            }
        }
    }

    static std::int64_t excludes_half(double low, double high) { return low > 0.5 || high < 0.5; }

    void finding(const std::string& task, const std::string& encoder, const std::string& name, double d,
                 double low, double high) {
        add(overview.findings, {task, encoder, name}, {100, 0, 1000, 0, 0, excludes_half(low, high)},
            {d, low, high, d, NAN, NAN});
        add(overview.cells, {task, encoder, name, "site"}, {0, 0, 0}, {});
    }
    void encoder(const std::string& task, const std::string& name, bool anchor, double d, double low,
                 double high) {
        add(overview.task_rows, {task, name, "micro"}, {anchor, excludes_half(low, high)},
            {d, low, high, d, NAN, NAN});
        add(overview.task_rows, {task, name, "macro"}, {anchor, 0}, {0.9, 0.9, 0.9, 0.9, NAN, NAN});
    }
    void panel(const std::string& task, const std::string& statistic, const std::string& encoder,
               double value, double low, double high) {
        add(overview.panels, {task, "micro", statistic, encoder}, {4}, {value, low, high});
    }
};

/// Two findings, four encoders one of which is an anchor, given in no order.
Maker small_study() {
    Maker made;
    made.overview.tasks = {{"chest", "Chest films", 250, 250}};
    made.encoder("chest", "random", true, 0.1, 0.05, 0.15);
    made.encoder("chest", "clip", false, 0.498, 0.45, 0.54);
    made.encoder("chest", "rad-dino", false, 0.277, 0.251, 0.304);
    made.encoder("chest", "inverted", false, 0.72, 0.7, 0.74);
    for (const auto& [encoder, d] : {std::pair{"clip", 0.4}, {"rad-dino", 0.2}, {"inverted", 0.8}}) {
        made.finding("chest", encoder, "Edema", d, d - 0.05, d + 0.05);
        made.finding("chest", encoder, "Lung Opacity", d + 0.1, d, d + 0.2);
    }
    made.finding("chest", "random", "Edema", NAN, NAN, NAN);
    made.finding("chest", "random", "Lung Opacity", 0.1, NAN, NAN);
    made.panel("chest", "best", "rad-dino", 0.277, 0.251, 0.304);
    made.panel("chest", "median", "", 0.3875, 0.36, 0.41);
    made.panel("chest", "median_without_anchor", "", 0.498, 0.45, 0.54);
    made.panel("chest", "anchor", "random", 0.1, 0.05, 0.15);
    made.panel("chest", "highest", "inverted", 0.72, 0.7, 0.74);
    made.panel("chest", "range", "", 0.62, 0.6, 0.64);
    made.panel("chest", "above_0.40", "", 2, 2, 2);
    made.panel("chest", "best_below_half", "", 1, 1, 1);
    Maker::add(made.overview.families, {"discordance against chance", "chest", "bootstrap"}, {7, 1, 3, 1, 5},
               {0.05, 2.0 / 1001});
    return made;
}

std::vector<std::string> lines_with(const std::string& text, const std::string& part) {
    std::istringstream lines(text);
    std::vector<std::string> found;
    for (std::string line; std::getline(lines, line);) {
        if (line.find(part) != std::string::npos) found.push_back(line);
    }
    return found;
}

/// Width of the widest line of the encoders' grid.
std::int64_t widest(const std::string& text) {
    std::istringstream lines(text);
    std::int64_t width = 0;
    for (std::string line; std::getline(lines, line);) {
        if (line.find("   ") != std::string::npos) width = std::max(width, display_width(line));
    }
    return width;
}

}  // namespace

// Worth reading as a whole: what the first look at a study is.
BOOST_AUTO_TEST_CASE(a_small_study) {
    BOOST_TEST(
        format_overview(small_study().overview, 100) ==
        "Study toy\n"
        "\n"
        "Chest films (chest): 4 encoders, 2 findings, 1 context, 250 images queried of 250 patients\n"
        "candidates \"equal\", k = 5; D in percent [95 % interval over patients]\n"
        "\n"
        "                        all findings\n"
        "encoder                      (micro)                Edema           Lung Opacity\n"
        "rad-dino          27.7  [25.1, 30.4]   20.0* [15.0, 25.0]   30.0   [20.0, 40.0]\n"
        "clip              49.8= [45.0, 54.0]   40.0  [35.0, 45.0]   50.0=  [40.0, 60.0]\n"
        "inverted          72.0> [70.0, 74.0]   80.0> [75.0, 85.0]   90.0>  [80.0, 100.0]\n"
        "random (anchor)   10.0* [5.0, 15.0]       -                 10.0*?\n"
        "chance = 50.0; * lowest of its column; = interval holds 50.0; > interval above 50.0; ? no interval\n"
        "\n"
        "The best of 4 encoders is rad-dino at 27.7 [25.1, 30.4], below chance throughout the 95 % "
        "interval.\n"
        "The median is 38.8 [36.0, 41.0] (without the anchor 49.8 [45.0, 54.0]); the highest is inverted at\n"
        "72.0 [70.0, 74.0]; the anchor random is at 10.0 [5.0, 15.0]; the range is 62.0 [60.0, 64.0]; 2 of "
        "4\n"
        "lie above 40.0.\n"
        "discordance against chance: 5 of 7 rejected at q <= 0.05, bootstrap (3 at the smallest p it "
        "can give, 0.002; a rejection needs 1 there; 1 undefined)\n");
}

BOOST_AUTO_TEST_CASE(many_findings_stay_readable) {
    const std::vector<std::string> findings{"Atelectasis",
                                            "Cardiomegaly",
                                            "Consolidation",
                                            "Edema",
                                            "Enlarged Cardiomediastinum",
                                            "Fracture",
                                            "Lung Lesion",
                                            "Lung_Opacity",
                                            "Pleural Effusion",
                                            "Pleural Other",
                                            "Pneumonia",
                                            "Pneumothorax"};
    Maker made;
    made.overview.tasks = {{"chest", "", 10, 10}};
    for (int e = 0; e < 11; ++e) {
        const std::string encoder = e ? "encoder-" + std::to_string(e) : "txrv-densenet";
        made.encoder("chest", encoder, e == 10, 0.3 + 0.01 * e, 0.25, 0.45);
        for (const std::string& finding : findings) {
            made.finding("chest", encoder, finding, 0.3 + 0.01 * e, 0.25, 0.45);
        }
    }
    const std::string wide = format_overview(made.overview, 160);
    BOOST_TEST(widest(wide) <= 160);
    // One block: the intervals of the findings are left to their table.
    BOOST_TEST(lines_with(wide, "txrv-densenet").size() == 1u);
    BOOST_TEST(lines_with(wide, "[25.0, 45.0]").size() == 11u);
    BOOST_TEST(lines_with(wide, "candor show out.h5 findings --where task=chest").size() == 1u);
    BOOST_TEST(lines_with(wide, "megaly").size() == 1u);

    // Narrow terminals get the same columns in blocks, even one that fits nothing.
    for (const std::int64_t width : {120, 80, 60, 1}) {
        const std::string narrow = format_overview(made.overview, width);
        BOOST_TEST(lines_with(narrow, "txrv-densenet").size() > 1u);
        if (width > 1) BOOST_TEST(widest(narrow) <= width);
        std::size_t rates = 0;
        for (const std::string& line : lines_with(narrow, "txrv-densenet")) {
            rates += static_cast<std::size_t>(std::count(line.begin(), line.end(), '*'));
        }
        BOOST_TEST(rates == findings.size() + 1);
    }
}

BOOST_AUTO_TEST_CASE(a_task_of_one_finding_is_that_finding) {
    Maker made;
    made.overview.tasks = {{"breast", "", 10, 10}};
    made.encoder("breast", "all", false, 0.1, 0.05, 0.2);
    made.finding("breast", "all", "malignant", 0.1, 0.05, 0.2);
    const std::string shown = format_overview(made.overview, 160);
    BOOST_TEST(lines_with(shown, "encoder ").back() == "encoder           malignant");
    BOOST_TEST(lines_with(shown, "micro").empty());
    BOOST_TEST(lines_with(shown, "all  ").at(0) == "all       10.0* [5.0, 20.0]");
}

BOOST_AUTO_TEST_CASE(a_task_without_scored_cells) {
    Maker made;
    made.overview.tasks = {{"empty", "", 0, 0}};
    Maker::add(made.overview.skipped, {"empty", "no positives"}, {1}, {});
    const std::string shown = format_overview(made.overview, 160);
    BOOST_TEST(lines_with(shown, "empty: 0 encoders, 0 findings").size() == 1u);
    BOOST_TEST(lines_with(shown, "No encoder was scored.").size() == 1u);
    BOOST_TEST(
        lines_with(shown, "warning: 1 cell not scored: no positives 1 (candor show out.h5 skipped)").size() ==
        1u);
}

BOOST_AUTO_TEST_CASE(best_and_chance) {
    const auto sentence = [](double value, double low) {
        Maker made = small_study();
        auto& statistics = std::get<std::vector<std::string>>(made.overview.panels.columns[2].values);
        statistics.back() = "dropped";
        made.panel("chest", "best_below_half", "", value, low, 1);
        return lines_with(format_overview(made.overview, 400), "The best of").at(0);
    };
    BOOST_TEST(sentence(1, 1).find("30.4], below chance throughout the 95 % interval. The") !=
               std::string::npos);
    BOOST_TEST(sentence(1, 0).find("30.4], below chance but not throughout the 95 % interval.") !=
               std::string::npos);
    BOOST_TEST(sentence(1, NAN).find("30.4], below chance. The") != std::string::npos);
    BOOST_TEST(sentence(0, 0).find("30.4], not below chance. The") != std::string::npos);

    Maker alike = small_study();
    auto& columns = alike.overview.panels.columns;
    const auto& statistics = std::get<std::vector<std::string>>(columns[2].values);
    const auto best = static_cast<std::size_t>(std::ranges::find(statistics, "best") - statistics.begin());
    for (const std::size_t c : {5, 6, 7}) std::get<std::vector<double>>(columns[c].values)[best] = 0;
    BOOST_TEST(
        lines_with(format_overview(alike.overview, 400), "The best of")
            .at(0)
            .find("at 0.0 [0.0, 0.0], below chance, though its resamples are all alike and the interval says "
                  "nothing.") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_family_that_can_reject_nothing) {
    Maker made = small_study();
    Maker::add(made.overview.families, {"margin AUROC against chance", "chest", "bootstrap"},
               {8, 0, 0, -1, 0}, {0.05, 0.1});
    BOOST_TEST(lines_with(format_overview(made.overview, 160), "margin AUROC").at(0) ==
               "margin AUROC against chance: 0 of 8 rejected at q <= 0.05, bootstrap (0 at the smallest p it "
               "can give, 0.1; not even all 8 there would reject one)");
}

BOOST_AUTO_TEST_CASE(nothing_to_look_out_for) {
    BOOST_TEST(lines_with(format_overview(small_study().overview, 160), "warning").empty());
}

BOOST_AUTO_TEST_CASE(warnings) {
    Maker made = small_study();
    Overview& overview = made.overview;
    overview.tasks[0].patients = 200;
    Maker::add(overview.rules, {"chest", "distinct"}, {}, {});
    Maker::add(overview.skipped, {"chest", "fewer than k candidates a side (n = 3, k = 5)"}, {1}, {});
    Maker::add(overview.skipped, {"chest", "fewer than k candidates a side (n = 4, k = 5)"}, {1}, {});
    Maker::add(overview.skipped, {"chest", "no positives"}, {1}, {});
    Maker::add(overview.skipped, {"chest", "no positives"}, {0}, {});
    Maker::add(overview.skipped, {"other", "no positives"}, {1}, {});
    Maker::add(overview.exclusions, {"chest", "row cap", ""}, {40}, {});
    Maker::add(overview.exclusions, {"chest", "uncertain label excluded", "Edema"}, {3}, {});
    Maker::add(overview.exclusions, {"chest", "uncertain label excluded", "Lung Opacity"}, {4}, {});
    // Queries, ties, valid resamples, few patients, all equal, excludes half.
    Maker::add(overview.findings, {"chest", "clip", "Rare"}, {200, 3, 990, 1, 0, 1},
               {0.1, 0.1, 0.2, 0.1075, NAN, NAN});
    Maker::add(overview.findings, {"chest", "rad-dino", "Rare"}, {200, 6, 1000, 0, 1, 1},
               {0, 0, 0, 0.015, 0, 0.018});
    Maker::add(overview.findings, {"chest", "inverted", "Rare"}, {200, 2, 1000, 0, 0, 1},
               {0.1, 0.1, 0.2, 0.105, NAN, NAN});
    Maker::add(overview.cells, {"chest", "clip", "Rare", "site"}, {1, 0, 0}, {});
    const std::vector<std::string> expected{
        "warning: 3 cells not scored: fewer than k candidates a side 2, no positives 1; 1 cell not scored "
        "under "
        "other rules (candor show out.h5 skipped)",
        "warning: rows left out or counted by a rule: row cap 40, uncertain label excluded 7; summed over "
        "findings "
        "or encoders where a rule works on each (candor show out.h5 exclusions)",
        "warning: patients repeat: 250 images of 200 patients were queried; under rule \"equal\" chance is "
        "then "
        "not exactly 50.0, see candor show out.h5 rules --where rule=distinct",
        "warning: fewer than 10 patients: 1 of 11 rates of a finding, 1 of 9 cells",
        "warning: all resamples equal, read bound_low and bound_high: 1 of 11 rates of a finding, 0 of 9 "
        "cells",
        "warning: resamples left out as undefined in 1 rate of a finding: at least 990 of 1000 remain "
        "(n_boot_valid)",
        "warning: ties above 1 % in 2 rates of a finding, at most 3.0 % (rad-dino, Rare): rate_mid counts "
        "them half",
    };
    BOOST_TEST(lines_with(format_overview(overview, 160), "warning") == expected,
               boost::test_tools::per_element());

    overview.rule = "distinct";
    BOOST_TEST(lines_with(format_overview(overview, 160), "patients repeat").at(0) ==
               "warning: patients repeat: 250 images of 200 patients were queried");
}

BOOST_AUTO_TEST_CASE(a_missing_column_is_named) {
    Maker made = small_study();
    made.overview.panels = {"panels", {}};
    made.overview.panels.texts("task");
    made.overview.panels.texts("level");
    std::get<std::vector<std::string>>(made.overview.panels.columns[0].values) = {"chest"};
    std::get<std::vector<std::string>>(made.overview.panels.columns[1].values) = {"micro"};
    BOOST_CHECK_EXCEPTION(format_overview(made.overview, 80), DataError, [](const DataError& error) {
        BOOST_TEST(error.place().file == "table panels");
        BOOST_TEST(error.place().column == "statistic");
        return error.code() == ExitCode::data;
    });
}

BOOST_AUTO_TEST_CASE(heads_are_told_in_a_sentence_each) {
    Maker made = small_study();
    HeadTables& heads = made.overview.heads;
    Maker::add(heads.heads, {"chest", "finding", "clip", "linear"}, {9}, {0.1, 0.1, 0.1});
    Maker::add(heads.heads, {"chest", "task", "clip", "linear"}, {1}, {0.7, 0.65, 0.75});
    Maker::add(heads.heads, {"chest", "task", "clip", "hidden"}, {2}, {0.99, 0.9, 1});
    Maker::add(heads.heads, {"chest", "task", "rad-dino", "linear"}, {0}, {0.9, 0.8, 0.95});
    Maker::add(heads.heads, {"chest", "task", "random", "linear"}, {0}, {NAN, NAN, NAN});
    Maker::add(heads.detection, {"chest", "cell", "msp"}, {1, 0, 0}, {0.99, 0.9, 1});
    Maker::add(heads.detection, {"chest", "task", "impurity"}, {0, 0, 0}, {0.6, 0.55, 0.65});
    Maker::add(heads.detection, {"chest", "task", "msp"}, {3, 8, 1}, {0.8, 0.75, 0.85});
    Maker::add(heads.detection, {"chest", "task", "ensemble"}, {9, 0, 0}, {0.5, 0.4, 0.6});
    const char* policies[] = {"single",         "oracle",   "majority",        "independent",
                              "most_confident", "lowest_d", "lowest_impurity", "mean_probability"};
    for (std::size_t i = 0; i < 8; ++i) {
        const double miss = 0.01 * static_cast<double>(i),
                     closed = i == 7 ? NAN : 0.1 * static_cast<double>(i);
        Maker::add(heads.selection, {"chest", "micro", policies[i]}, {77, 4}, {1, 1, 1, 1, 1, 1, NAN, NAN});
        Maker::add(heads.selection, {"chest", "macro", policies[i]}, {55, 4},
                   {miss, miss, miss, closed, closed, closed, i == 0 ? 0 : NAN, i == 0 ? 0.048 : NAN});
    }
    const std::vector<std::string> expected{
        "Linear heads, AUROC over findings: lowest under clip at 70.0 [65.0, 75.0], highest under rad-dino "
        "at "
        "90.0 [80.0, 95.0]; 3 margins above a cap.",
        "Errors of linear heads, AUROC within context: impurity at 60.0 [55.0, 65.0], the best other score "
        "msp "
        "at 80.0 [75.0, 85.0]; impurity is above it in 3 of 12 cells.",
        "Missed positives of 55 cases that all 4 encoders scored (macro): one encoder 0.0 [0.0, 4.8], the "
        "majority 2.0 [2.0, 2.0], all of them 1.0 [1.0, 1.0], as many independent ones 3.0 [3.0, 3.0] "
        "percent; "
        "of the gap in balanced error the best rule without labels, lowest_impurity, closes 60.0 [60.0, "
        "60.0]."};
    BOOST_TEST(head_sentences(heads, "chest") == expected, boost::test_tools::per_element());
    BOOST_CHECK(head_sentences(heads, "another task").empty());
    const std::string wide = format_overview(made.overview, 1000);
    for (const std::string& sentence : expected) BOOST_CHECK(wide.find(sentence + '\n') != std::string::npos);
}

BOOST_AUTO_TEST_CASE(the_panel_together_is_told_in_a_sentence_each) {
    Maker made = small_study();
    AcrossTables& across = made.overview.across;
    Maker::add(across.overlap_summary, {"chest", "pooled"}, {12, 0, 11, 10}, {0.9});
    Maker::add(across.overlap_summary, {"chest", "stratified"}, {15, 3, 9, 4}, {0.061});
    Maker::add(across.overlap_summary, {"chest", "relabel"}, {12, 0, 5, 1}, {0.01});
    Maker::add(across.consensus, {"chest", "finding"}, {4, 99, 99}, {1, 1, 1, 1, NAN, NAN});
    Maker::add(across.consensus, {"chest", "task"}, {4, 25, 250}, {0.1, 0.07, 0.14, 0.052, NAN, NAN});
    Maker::add(across.retention, {"chest", "region", "clip"}, {}, {0.2, 0.1, 0.3});
    Maker::add(across.retention, {"chest", "micro", "clip"}, {}, {0.61, 0.6, 0.62});
    Maker::add(across.retention, {"chest", "micro", "rad-dino"}, {}, {0.987, 0.98, 0.99});
    Maker::add(across.retention, {"chest", "micro", "random"}, {}, {NAN, NAN, NAN});
    Maker::add(across.associations, {"chest", "year", "d", "panel"}, {4}, {0.1, 0.9, 0.9});
    Maker::add(across.associations, {"chest", "retention", "d", "panel"}, {4}, {-0.8, 0.2, 1.0 / 3});
    Maker::add(across.distances, {"chest", "micro", "random"}, {1}, {0.3});
    Maker::add(across.distances, {"chest", "micro", "random"}, {0}, {-0.3});
    Maker::add(across.distances, {"chest", "micro", "random"}, {1}, {-0.3});
    Maker::add(across.distances, {"chest", "finding", "random"}, {1}, {-0.3});
    const std::vector<std::string> said = across_sentences(across, "chest");
    const std::vector<std::string> expected{
        "Blind sets: 9 of 12 pairs of encoders on a finding share more blind positives than their sizes and "
        "contexts let expect (of 3 more one is blind to none), 4 significantly; delta_J is 6.1 on average; 1 "
        "of "
        "12 pairs share more than their common geometry gives under permuted labels.",
        "Consensus: the majority of 4 encoders is blind to 25 of 250 positives, 10.0 [7.0, 14.0] percent; "
        "independent encoders of the same rates would be to 5.2.",
        "Retention after erasing the evidence: lowest under clip at 61.0 [60.0, 62.0], highest under "
        "rad-dino "
        "at 98.7 [98.0, 99.0]; Spearman with D over 4 encoders -0.8, exact p 0.333.",
        "Against the anchor random: 1 of 3 encoders significantly below it, 1 above."};
    BOOST_TEST(said == expected, boost::test_tools::per_element());
    BOOST_CHECK(across_sentences(across, "another task").empty());
    const std::string wide = format_overview(made.overview, 1000);
    for (const std::string& sentence : expected) BOOST_CHECK(wide.find(sentence + '\n') != std::string::npos);
}

BOOST_AUTO_TEST_CASE(queries_of_the_whole_reference_are_told) {
    Maker made = small_study();
    BOOST_CHECK(format_overview(made.overview, 120).find("reference") == std::string::npos);
    Maker::add(made.overview.cells, {"chest", "clip", "Edema", "(pooled)"}, {0, 0, 1}, {});
    const auto lines = lines_with(format_overview(made.overview, 120), "reference");
    BOOST_REQUIRE_EQUAL(lines.size(), 1);
    BOOST_CHECK_EQUAL(lines[0],
                      "warning: 1 cell asks the whole reference, their own contexts not being scored; they "
                      "are in no rate of a finding (candor show out.h5 cells --where pooled_reference=1)");
}

// A family of the whole study belongs to no task; a test whose p can be as small as it likes has no floor.
BOOST_AUTO_TEST_CASE(families_without_a_task_or_a_floor) {
    Maker made = small_study();
    Maker::add(made.overview.families, {"associations", "", "t"}, {5, 2, 0, 1, 1}, {0.05, 0});
    Maker::add(made.overview.families, {"blind-set overlap, pooled", "chest", "hypergeometric"},
               {12, 0, 0, 1, 4}, {0.05, 0});
    const std::string text = format_overview(made.overview, 120);
    BOOST_CHECK(
        text.ends_with("\nThe whole study\n"
                       "associations: 1 of 5 rejected at q <= 0.05, t (2 undefined)\n"));
    BOOST_CHECK(text.find("blind-set overlap, pooled: 4 of 12 rejected at q <= 0.05, hypergeometric\n") !=
                std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_share_that_no_resample_moves_is_told_with_its_bound) {
    Maker made;
    Maker::add(made.overview.across.consensus, {"chest", "task"}, {4, 0, 100}, {0, 0, 0, 0.01, 0, 0.036});
    BOOST_TEST(
        across_sentences(made.overview.across, "chest").front() ==
        "Consensus: the majority of 4 encoders is blind to 0 of 100 positives, 0.0 [0.0, 3.6] percent; "
        "independent encoders of the same rates would be to 1.0.");
    Maker::add(made.overview.findings, {"chest", "clip", "Rare"}, {100, 0, 1000, 0, 1, 1},
               {1, 1, 1, 1, 0.964, 1});
    const Rate rate = rate_of(made.overview.findings, 0);
    BOOST_TEST(rate.low == 0.964);
    BOOST_TEST(rate.high == 1);
}

BOOST_AUTO_TEST_SUITE_END()
