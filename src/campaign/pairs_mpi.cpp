#include "candor/campaign/pairs_mpi.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "candor/base/bytes.hpp"
#include "candor/base/error.hpp"
#include "candor/base/text.hpp"
#include "candor/campaign/encoder_features.hpp"
#include "candor/campaign/lines.hpp"
#include "candor/campaign/reopen_mpi.hpp"
#include "candor/linalg/gemm.hpp"
#include "candor/parallel/schedule.hpp"

namespace candor::campaign {

namespace {

// ---- what is asked for ----

bool contains(const std::vector<std::string>& names, const std::string& name) {
    return std::ranges::find(names, name) != names.end();
}

UsageError unknown(const std::string& option, const std::string& name, const std::string& what,
                   const std::vector<std::string>& known) {
    const std::string near = nearest_name(name, known);
    return {option + " " + name,
            "no such " + what + "; " +
                (near.empty() ? "there are " + join_text(known, ", ") : "did you mean \"" + near + "\"?")};
}

template <class Items>
std::vector<std::string> ids_of(const Items& items) {
    std::vector<std::string> ids;
    for (const auto& item : items) ids.push_back(item.id);
    return ids;
}

std::vector<std::string> encoders_of(const study::Study& study, const study::Task& task) {
    std::vector<std::string> ids;
    for (const std::size_t e : task.encoders) ids.push_back(study.encoders[e].id);
    return ids;
}

/// Whether each task of the study takes part.
std::vector<bool> tasks_asked(const study::Study& study, const PairsQuestion& question) {
    std::vector<bool> asked;
    for (const study::Task& task : study.tasks) {
        const std::vector<std::string> encoders = encoders_of(study, task);
        asked.push_back((question.task.empty() || task.id == question.task) &&
                        contains(encoders, question.close) && contains(encoders, question.far));
    }
    return asked;
}

std::size_t position_of(const study::Study& study, const std::string& encoder) {
    return static_cast<std::size_t>(std::ranges::find(study.encoders, encoder, &study::Encoder::id) -
                                    study.encoders.begin());
}

// ---- what there is to do ----

/// One (finding, context) with its labelled rows in key order.
struct Unit {
    std::size_t work = 0, cell = 0;
    std::vector<ContextRow> positives, negatives;

    double cost() const {
        return static_cast<double>(positives.size()) * static_cast<double>(negatives.size());
    }
};

Unit make_unit(const TaskWork& work, std::size_t position, std::size_t cell) {
    Unit unit{position, cell, {}, {}};
    const auto& labels = work.pool.labels[static_cast<std::size_t>(work.cells[cell].finding)];
    const auto& rows = work.contexts[static_cast<std::size_t>(work.cells[cell].context)].rows;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        // An image of a dataset and of its reference is one image.
        if (work.pool.identity[static_cast<std::size_t>(rows[i].value)] != rows[i]) continue;
        const std::int8_t label = labels[static_cast<std::size_t>(rows[i].value)];
        if (label == 1) unit.positives.emplace_back(static_cast<std::int64_t>(i));
        if (label == 0) unit.negatives.emplace_back(static_cast<std::int64_t>(i));
    }
    return unit;
}

/// All units asked for, by task, finding, context.
std::vector<Unit> units_of(const study::Study& study, const std::vector<TaskWork>& work,
                           const PairsQuestion& question) {
    const std::vector<bool> asked = tasks_asked(study, question);
    std::vector<std::string> known;
    std::vector<Unit> units;
    for (std::size_t w = 0; w < work.size(); ++w) {
        if (!asked[work[w].task]) continue;
        const study::Task& task = study.tasks[work[w].task];
        for (std::size_t c = 0; c < work[w].cells.size(); ++c) {
            const study::Cell& cell = work[w].cells[c];
            // A whole reference holds rows that are in other contexts already.
            if (cell.pooled_reference) continue;
            const std::string& context = work[w].contexts[static_cast<std::size_t>(cell.context)].name;
            if (!contains(known, context)) known.push_back(context);
            const std::string& finding = task.findings[static_cast<std::size_t>(cell.finding)];
            if (!question.findings.empty() && !contains(question.findings, finding)) continue;
            if (!question.contexts.empty() && !contains(question.contexts, context)) continue;
            units.push_back(make_unit(work[w], w, c));
        }
    }
    for (const std::string& context : question.contexts) {
        if (!contains(known, context)) throw unknown("--context", context, "context", known);
    }
    return units;
}

// ---- who does it ----

/// Why a unit has no pairs.
enum class Lack : std::int8_t { nothing, label, close_spread, far_spread };

/// A pair of one unit, as it travels between ranks.
struct ListedPair {
    std::size_t unit;
    neighbors::OppositePair pair;
};

/// What one rank, or all, found.
struct PairList {
    std::vector<ListedPair> pairs;
    std::vector<std::pair<std::size_t, Lack>> lacks;  ///< units without pairs

    /// Sorts the pairs and drops all beyond the first `top`; 0: none.
    void keep_best(std::int64_t top) {
        const auto place = [](const ListedPair& one) {
            return std::tuple(-one.pair.score, one.unit, one.pair.positive, one.pair.negative);
        };
        std::ranges::sort(pairs, {}, place);
        if (top > 0 && std::ssize(pairs) > top) pairs.resize(static_cast<std::size_t>(top));
    }
};

/// Searches one unit and adds what it finds to `list`.
void search_unit(const Unit& unit, std::size_t position, const neighbors::RowSet& close,
                 const neighbors::RowSet& far, const neighbors::PairOptions& options, PairList& list) {
    const neighbors::Spread close_spread =
        neighbors::spread_of(close, unit.positives, unit.negatives, options.threads);
    const neighbors::Spread far_spread =
        neighbors::spread_of(far, unit.positives, unit.negatives, options.threads);
    if (!close_spread.varies) list.lacks.emplace_back(position, Lack::close_spread);
    if (!far_spread.varies) list.lacks.emplace_back(position, Lack::far_spread);
    if (!close_spread.varies || !far_spread.varies) return;
    const auto found = neighbors::opposite_pairs({close, close_spread}, {far, far_spread}, unit.positives,
                                                 unit.negatives, options);
    for (const neighbors::OppositePair& pair : found) list.pairs.push_back({position, pair});
    if (options.top > 0) list.keep_best(options.top);  // no longer than it need be
}

/// This rank's units, those of one context after each other so that they share its rows.
std::vector<std::size_t> my_units(const std::vector<Unit>& units, const std::vector<TaskWork>& work,
                                  const parallel::Communicator& world) {
    std::vector<double> costs;
    for (const Unit& unit : units) costs.push_back(unit.cost());
    const std::vector<int> placed = parallel::place_longest_first(costs, world.size());
    std::vector<std::size_t> mine;
    for (std::size_t u = 0; u < units.size(); ++u) {
        if (placed[u] == world.rank()) mine.push_back(u);
    }
    std::ranges::stable_sort(mine, {}, [&](std::size_t u) {
        return std::pair(units[u].work, work[units[u].work].cells[units[u].cell].context);
    });
    return mine;
}

PairList search_mine(const parallel::Communicator& world, const Inputs& inputs,
                     const std::vector<TaskWork>& work, const std::vector<Unit>& units,
                     const PairsQuestion& question, const Log& log) {
    const std::vector<std::size_t> mine = my_units(units, work, world);
    double total = 0;
    for (const std::size_t u : mine) total += units[u].cost();
    Progress progress(log, "comparing pairs", total);

    EncoderFeatures close_features(inputs, position_of(inputs.study, question.close));
    EncoderFeatures far_features(inputs, position_of(inputs.study, question.far));
    std::optional<neighbors::RowSet> close, far;
    std::pair<std::size_t, std::int32_t> loaded;
    PairList list;
    for (const std::size_t u : mine) {
        const Unit& unit = units[u];
        if (unit.positives.empty() || unit.negatives.empty()) {
            list.lacks.emplace_back(u, Lack::label);
            continue;
        }
        const TaskWork& here = work[unit.work];
        const std::pair wanted(unit.work, here.cells[unit.cell].context);
        if (!close || loaded != wanted) {
            const auto& rows = here.contexts[static_cast<std::size_t>(wanted.second)].rows;
            close.reset();
            far.reset();
            close.emplace(close_features.rows(here.pool, rows));
            far.emplace(far_features.rows(here.pool, rows));
            loaded = wanted;
        }
        search_unit(unit, u, *close, *far, question.search, list);
        progress.advance(unit.cost());
    }
    return list;
}

/// All ranks' lists as one, on rank 0.
PairList gather_lists(const parallel::Communicator& world, const PairList& mine, std::int64_t top) {
    ByteWriter out;
    out.put(std::span<const ListedPair>(mine.pairs));
    for (const auto& [unit, lack] : mine.lacks) {
        out.put(unit);
        out.put(lack);
    }
    PairList all;
    for (const std::string& bytes : world.gather(out.take())) {
        ByteReader in(bytes);
        const auto pairs = in.get_many<ListedPair>();
        all.pairs.insert(all.pairs.end(), pairs.begin(), pairs.end());
        while (!in.done()) {
            const auto unit = in.get<std::size_t>();
            all.lacks.emplace_back(unit, in.get<Lack>());
        }
    }
    all.keep_best(top);
    std::ranges::sort(all.lacks);
    return all;
}

// ---- what is told ----

/// Names and ids of one unit.
struct UnitText {
    UnitText(const study::Study& study, const TaskWork& work, std::size_t cell_position) {
        const study::Cell& cell = work.cells[cell_position];
        task = study.tasks[work.task].id;
        finding = study.tasks[work.task].findings[static_cast<std::size_t>(cell.finding)];
        context = work.contexts[static_cast<std::size_t>(cell.context)].name;
    }

    std::string task, finding, context;
};

void tell_lacks(const Inputs& inputs, const std::vector<TaskWork>& work, const std::vector<Unit>& units,
                const PairList& list, const PairsQuestion& question, const Log& log) {
    const std::pair<Lack, std::string> reasons[] = {
        {Lack::label, "no row with one of the labels"},
        {Lack::close_spread, "all pairs have one cosine under encoder \"" + question.close + "\""},
        {Lack::far_spread, "all pairs have one cosine under encoder \"" + question.far + "\""}};
    for (const auto& [lack, reason] : reasons) {
        std::vector<std::string> names;
        for (const auto& [unit, why] : list.lacks) {
            if (why != lack) continue;
            const UnitText text(inputs.study, work[units[unit].work], units[unit].cell);
            names.push_back(text.task + ", " + text.finding + ", " + text.context);
        }
        if (!names.empty()) log.info("no pairs of " + first_names(names) + ": " + reason);
    }
    if (list.pairs.empty()) {
        log.info("no pair is closer than usual under \"" + question.close + "\" and farther under \"" +
                 question.far + "\"");
    }
}

struct Image {
    std::string image, dataset, patient;
};

struct Line {
    std::int64_t rank = 0;
    std::string task, finding, context;
    Image positive, negative;
    bool same_patient = false;
    neighbors::OppositePair pair{};
};

void put_line(Rows& rows, const Line& line) {
    const auto put_image = [&](const std::string& label, const Image& image) {
        rows.put(label + "_image", image.image);
        rows.put(label + "_dataset", image.dataset);
        rows.put(label + "_patient", image.patient);
    };
    rows.put("rank", line.rank);
    rows.put("task", line.task);
    rows.put("finding", line.finding);
    rows.put("context", line.context);
    put_image("positive", line.positive);
    put_image("negative", line.negative);
    rows.put("same_patient", line.same_patient);
    rows.put("cosine_close", line.pair.cosine_close);
    rows.put("cosine_far", line.pair.cosine_far);
    rows.put("z_close", line.pair.z_close);
    rows.put("z_far", line.pair.z_far);
    rows.put("score", line.pair.score);
}

std::vector<Line> lines_of(const Inputs& inputs, const std::vector<TaskWork>& work,
                           const std::vector<Unit>& units, const std::vector<ListedPair>& pairs) {
    std::vector<Line> lines;
    for (const auto& [u, pair] : pairs) {
        const Unit& unit = units[u];
        const TaskWork& here = work[unit.work];
        const UnitText text(inputs.study, here, unit.cell);
        const auto& rows = here.contexts[static_cast<std::size_t>(here.cells[unit.cell].context)].rows;
        const auto pool_row = [&](ContextRow row) {
            return static_cast<std::size_t>(rows[static_cast<std::size_t>(row.value)].value);
        };
        const auto image_at = [&](std::size_t row) {
            const auto of = static_cast<std::size_t>(here.pool.dataset[row]);
            return Image{here.pool.image[row], inputs.study.datasets[of].id,
                         inputs.tables[of].patient[static_cast<std::size_t>(here.pool.table_row[row].value)]};
        };
        const std::size_t x = pool_row(unit.positives[static_cast<std::size_t>(pair.positive)]);
        const std::size_t y = pool_row(unit.negatives[static_cast<std::size_t>(pair.negative)]);
        lines.push_back({std::ssize(lines) + 1, text.task, text.finding, text.context, image_at(x),
                         image_at(y), here.pool.patient[x] == here.pool.patient[y], pair});
    }
    return lines;
}

}  // namespace

void require_known(const study::Study& study, const PairsQuestion& question) {
    const std::pair<std::string, std::string> encoders[] = {{"--close", question.close},
                                                            {"--far", question.far}};
    for (const auto& [option, id] : encoders) {
        const std::vector<std::string> known = ids_of(study.encoders);
        if (!contains(known, id)) throw unknown(option, id, "encoder", known);
    }
    if (question.close == question.far)
        throw UsageError("--far " + question.far, "is the encoder of --close too; name another one");
    if (!question.task.empty()) {
        const auto task = std::ranges::find(study.tasks, question.task, &study::Task::id);
        if (task == study.tasks.end()) throw unknown("--task", question.task, "task", ids_of(study.tasks));
        for (const auto& [option, id] : encoders) {
            const std::vector<std::string> known = encoders_of(study, *task);
            if (contains(known, id)) continue;
            throw UsageError(option + " " + id, "is no encoder of task \"" + task->id + "\", which has " +
                                                    join_text(known, ", "));
        }
    }
    std::vector<std::string> findings;
    const std::vector<bool> asked = tasks_asked(study, question);
    for (std::size_t t = 0; t < study.tasks.size(); ++t) {
        if (!asked[t]) continue;
        for (const std::string& finding : study.tasks[t].findings) {
            if (!contains(findings, finding)) findings.push_back(finding);
        }
    }
    if (std::ranges::find(asked, true) == asked.end()) {
        throw UsageError("--close " + question.close + " --far " + question.far,
                         "no task of the study has both encoders");
    }
    for (const std::string& finding : question.findings) {
        if (!contains(findings, finding)) throw unknown("--finding", finding, "finding", findings);
    }
}

store::ResultTable list_pairs_mpi(const parallel::Communicator& world, const Inputs& inputs,
                                  const std::vector<TaskWork>& work, const PairsQuestion& question,
                                  const Log& log) {
    require_known(inputs.study, question);
    const std::vector<Unit> units = units_of(inputs.study, work, question);
    const PairList mine = search_mine(world, inputs, work, units, question, log);
    const PairList all = gather_lists(world, mine, question.search.top);
    if (world.rank() == 0) tell_lacks(inputs, work, units, all, question, log);
    return table_of("pairs", lines_of(inputs, work, units, all.pairs), put_line);
}

store::ResultTable pairs_mpi(const parallel::Communicator& world, const std::string& results,
                             const std::string& study_file, const PairsQuestion& question, const Log& log) {
    const RecordedStudy recorded = read_record_mpi(world, results, study_file);
    require_known(recorded.study, question);
    linalg::open_blas(question.search.threads);
    const Prepared prepared = reopen_mpi(world, recorded, log);
    return list_pairs_mpi(world, prepared.inputs, prepared.work, question, log);
}

}  // namespace candor::campaign
