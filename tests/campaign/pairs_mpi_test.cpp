#include "candor/campaign/pairs_mpi.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "candor/base/error.hpp"
#include "candor/campaign/encoder_features.hpp"
#include "candor/linalg/gemm.hpp"
#include "candor/parallel/communicator.hpp"
#include "candor/store/feature_file.hpp"
#include "made_study.hpp"
#include "store/temporary.hpp"

using namespace candor;
using namespace candor::testing;
using campaign::PairsQuestion;
using campaign::TaskWork;

namespace {

parallel::Communicator world() {
    return parallel::Communicator::world();
}

const Log silent(Verbosity::quiet, false);

/// The made study with its features on disk, under a folder of this rank alone. Encoder "anchor" gives all
/// images of dataset b one row, so that its contexts have no spread.
struct Made {
    Made() : inputs(made_inputs(directory.file("made.toml"))) {
        for (std::size_t e = 0; e < inputs.study.encoders.size(); ++e) {
            for (std::size_t d = 0; d < inputs.tables.size(); ++d) {
                store::FeatureTable table;
                table.type = store::ElementType::float32;
                table.ids = inputs.tables[d].image;
                table.values = Matrix<double>(std::ssize(table.ids), made_dimensions[e]);
                for (std::size_t i = 0; i < table.ids.size(); ++i) {
                    const bool alike = e == 2 && d == 1;
                    std::ranges::copy(made_features(e, alike ? "one" : table.ids[i]),
                                      table.values.row(static_cast<std::int64_t>(i)).begin());
                }
                const std::string name =
                    inputs.study.encoders[e].id + "-" + inputs.study.datasets[d].id + ".h5";
                store::write_feature_file(directory.file(name), table, false);
            }
        }
        work = made_work(inputs);
        linalg::open_blas();
    }

    TemporaryDirectory directory;
    campaign::Inputs inputs;
    std::vector<TaskWork> work;
};

/// A line of the table.
struct Line {
    std::string task, finding, context, positive, negative;
    std::vector<std::string> places;  // dataset and patient of both
    std::int64_t same_patient = 0;
    std::vector<double> numbers;  // cosines, z, score
    bool operator==(const Line&) const = default;
};

std::vector<Line> lines_of(const store::ResultTable& table) {
    const auto text = [&](const char* name, std::size_t row) {
        return std::get<std::vector<std::string>>(table.find(name)->values)[row];
    };
    const auto whole = [&](const char* name, std::size_t row) {
        return std::get<std::vector<std::int64_t>>(table.find(name)->values)[row];
    };
    std::vector<Line> lines;
    for (std::size_t i = 0; i < static_cast<std::size_t>(table.rows()); ++i) {
        Line line{text("task", i),           text("finding", i),
                  text("context", i),        text("positive_image", i),
                  text("negative_image", i), {},
                  whole("same_patient", i),  {}};
        for (const char* name :
             {"positive_dataset", "positive_patient", "negative_dataset", "negative_patient"})
            line.places.push_back(text(name, i));
        for (const char* name : {"cosine_close", "cosine_far", "z_close", "z_far", "score"})
            line.numbers.push_back(std::get<std::vector<double>>(table.find(name)->values)[i]);
        BOOST_TEST(whole("rank", i) == static_cast<std::int64_t>(i) + 1);
        lines.push_back(std::move(line));
    }
    return lines;
}

bool wanted(const std::vector<std::string>& asked, const std::string& name) {
    return asked.empty() || std::ranges::find(asked, name) != asked.end();
}

/// All pairs of one (finding, context), by definition, best first, cut a positive.
void add_unit(std::vector<Line>& lines, const Made& made, const TaskWork& work, const study::Cell& cell,
              const PairsQuestion& question) {
    const study::Study& study = made.inputs.study;
    const study::Task& task = study.tasks[work.task];
    const study::Context& context = work.contexts[static_cast<std::size_t>(cell.context)];
    const auto encoder = [&](const std::string& id) {
        return static_cast<std::size_t>(std::ranges::find(study.encoders, id, &study::Encoder::id) -
                                        study.encoders.begin());
    };
    campaign::EncoderFeatures close_features(made.inputs, encoder(question.close));
    campaign::EncoderFeatures far_features(made.inputs, encoder(question.far));
    const neighbors::RowSet close = close_features.rows(work.pool, context.rows);
    const neighbors::RowSet far = far_features.rows(work.pool, context.rows);

    std::vector<ContextRow> side[2];
    for (std::size_t i = 0; i < context.rows.size(); ++i) {
        const auto row = static_cast<std::size_t>(context.rows[i].value);
        const std::int8_t label = work.pool.labels[static_cast<std::size_t>(cell.finding)][row];
        if (label >= 0) side[label].emplace_back(static_cast<std::int64_t>(i));
    }
    const neighbors::Spread a = neighbors::spread_of(close, side[1], side[0], 1);
    const neighbors::Spread b = neighbors::spread_of(far, side[1], side[0], 1);
    if (!a.varies || !b.varies) return;
    for (const ContextRow x : side[1]) {
        std::vector<Line> of_one;
        for (const ContextRow y : side[0]) {
            const double cosines[] = {close.cosine(x, y), far.cosine(x, y)};
            const double z_a = (cosines[0] - a.mean) / a.sd, z_b = (cosines[1] - b.mean) / b.sd;
            const double score = std::min(z_a, -z_b);
            if (!(score > 0) || cosines[0] < question.search.close_above ||
                cosines[1] > question.search.far_below)
                continue;
            const auto row = [&](ContextRow at) {
                return static_cast<std::size_t>(context.rows[static_cast<std::size_t>(at.value)].value);
            };
            Line line{task.id,
                      task.findings[static_cast<std::size_t>(cell.finding)],
                      context.name,
                      work.pool.image[row(x)],
                      work.pool.image[row(y)],
                      {},
                      work.pool.patient[row(x)] == work.pool.patient[row(y)],
                      {cosines[0], cosines[1], z_a, z_b, score}};
            for (const std::size_t r : {row(x), row(y)}) {
                const auto d = static_cast<std::size_t>(work.pool.dataset[r]);
                line.places.push_back(study.datasets[d].id);
                line.places.push_back(
                    made.inputs.tables[d].patient[static_cast<std::size_t>(work.pool.table_row[r].value)]);
            }
            of_one.push_back(std::move(line));
        }
        std::ranges::stable_sort(of_one, std::greater<>(), [](const Line& l) { return l.numbers[4]; });
        const std::int64_t most = question.search.per_positive;
        if (most > 0 && std::ssize(of_one) > most) of_one.resize(static_cast<std::size_t>(most));
        std::ranges::move(of_one, std::back_inserter(lines));
    }
}

std::vector<Line> by_definition(const Made& made, const PairsQuestion& question) {
    std::vector<Line> lines;
    for (const TaskWork& work : made.work) {
        const study::Task& task = made.inputs.study.tasks[work.task];
        if (!question.task.empty() && task.id != question.task) continue;
        std::vector<std::string> encoders;
        for (const std::size_t e : task.encoders) encoders.push_back(made.inputs.study.encoders[e].id);
        if (!wanted(encoders, question.close) || !wanted(encoders, question.far)) continue;
        for (const study::Cell& cell : work.cells) {
            if (!wanted(question.findings, task.findings[static_cast<std::size_t>(cell.finding)])) continue;
            if (!wanted(question.contexts, work.contexts[static_cast<std::size_t>(cell.context)].name))
                continue;
            add_unit(lines, made, work, cell, question);
        }
    }
    // Stable: equal scores stay by task, finding, context, positive and negative.
    std::ranges::stable_sort(lines, std::greater<>(), [](const Line& l) { return l.numbers[4]; });
    if (question.search.top > 0 && std::ssize(lines) > question.search.top)
        lines.resize(static_cast<std::size_t>(question.search.top));
    return lines;
}

/// Holds the list against the definition. @returns how many pairs it has.
std::size_t check(const Made& made, const PairsQuestion& question, const std::string& what) {
    const store::ResultTable table =
        campaign::list_pairs_mpi(world(), made.inputs, made.work, question, silent);
    BOOST_TEST(table.columns.size() == 16);
    const std::vector<Line> expected =
        world().rank() == 0 ? by_definition(made, question) : std::vector<Line>();
    const std::vector<Line> found = lines_of(table);
    BOOST_TEST((found == expected), what << ": " << found.size() << " for " << expected.size());
    std::int64_t count[] = {std::ssize(found)};
    world().maximum(count);
    return static_cast<std::size_t>(count[0]);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(campaign_pairs)

BOOST_AUTO_TEST_CASE(every_list_is_what_the_definition_gives) {
    const Made made;
    for (const auto& [close, far] : {std::pair("wide", "anchor"), std::pair("anchor", "wide"),
                                     std::pair("coarse", "wide"), std::pair("wide", "coarse")}) {
        for (const std::int64_t per_positive : {1, 2, 0}) {
            for (const std::int64_t top : {0, 5, 60}) {
                PairsQuestion question{close, far, "", {}, {}, {}};
                question.search.per_positive = per_positive;
                question.search.top = top;
                question.search.block_rows = top == 5 ? 3 : 512;
                const std::string what = std::string(close) + " and " + far + ", " +
                                         std::to_string(per_positive) + " a positive, top " +
                                         std::to_string(top);
                const std::size_t count = check(made, question, what);
                BOOST_TEST((top == 0 ? count > 20 : count <= static_cast<std::size_t>(top)), what);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(a_part_of_the_study_can_be_asked_for) {
    const Made made;
    PairsQuestion question{"wide", "anchor", "both", {"mass"}, {}, {}};
    question.search.top = 0;
    const std::size_t of_task = check(made, question, "one finding of one task");
    question.contexts = {made.work[0].contexts[0].name, made.work[0].contexts[1].name};
    const std::size_t of_contexts = check(made, question, "two contexts");
    question.contexts.pop_back();
    const std::size_t of_context = check(made, question, "one context");
    BOOST_TEST(of_context > 0);
    BOOST_TEST(of_context < of_contexts);
    BOOST_TEST(of_contexts <= of_task);
    question.search.close_above = 0.1;
    question.search.far_below = -0.05;
    const std::size_t conditioned = check(made, question, "with plain cosines");
    BOOST_TEST(conditioned > 0);
    BOOST_TEST(conditioned < of_context);
}

BOOST_AUTO_TEST_CASE(cosines_that_do_not_vary_give_no_pairs) {
    const Made made;
    // All of dataset b is one row under "anchor".
    const std::string& context = made.work[0].contexts.back().name;
    BOOST_TEST(context == "b / ap");
    for (const auto& [close, far] : {std::pair("wide", "anchor"), std::pair("anchor", "wide")}) {
        PairsQuestion question{close, far, "both", {}, {context}, {}};
        BOOST_TEST(check(made, question, "no spread") == 0);
    }
    BOOST_TEST(check(made, {"wide", "coarse", "both", {}, {context}, {}}, "with spread") > 0);
}

BOOST_AUTO_TEST_CASE(what_the_study_does_not_know_is_named_with_the_nearest) {
    const Made made;
    const auto fails = [&](const PairsQuestion& question, const std::string& subject,
                           const std::string& rule) {
        BOOST_CHECK_EXCEPTION(campaign::list_pairs_mpi(world(), made.inputs, made.work, question, silent),
                              UsageError, [&](const UsageError& error) {
                                  BOOST_TEST(error.subject() == subject);
                                  BOOST_TEST(error.rule() == rule);
                                  return true;
                              });
    };
    fails({"wyde", "anchor", "", {}, {}, {}}, "--close wyde", "no such encoder; did you mean \"wide\"?");
    fails({"wide", "clip", "", {}, {}, {}}, "--far clip", "no such encoder; there are wide, coarse, anchor");
    fails({"wide", "wide", "", {}, {}, {}}, "--far wide", "is the encoder of --close too; name another one");
    fails({"wide", "anchor", "bath", {}, {}, {}}, "--task bath", "no such task; did you mean \"both\"?");
    fails({"wide", "coarse", "alone", {}, {}, {}}, "--far coarse",
          "is no encoder of task \"alone\", which has anchor, wide");
    fails({"wide", "anchor", "both", {"edma"}, {}, {}}, "--finding edma",
          "no such finding; did you mean \"edema\"?");
    // Known to another task, but not to the one that is asked for.
    fails({"wide", "anchor", "alone", {"edema"}, {}, {}}, "--finding edema",
          "no such finding; there are mass");
    fails({"wide", "anchor", "both", {}, {"a / ab"}, {}}, "--context a / ab",
          "no such context; did you mean \"a / ap\"?");
}

BOOST_AUTO_TEST_SUITE_END()
