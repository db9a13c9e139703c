#include "candor/instruments/class_distances.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "candor/base/error.hpp"
#include "candor/base/threads.hpp"
#include "candor/instruments/class_axes.hpp"
#include "candor/instruments/mahalanobis.hpp"
#include "candor/instruments/training_scatter.hpp"
#include "candor/instruments/unit_rows.hpp"

namespace candor::instruments {

namespace {

using Way = DistancePlan::Way;

constexpr double eigenvector_flops = 10;  // times d^3, as long as they take at the speed of products
constexpr double least_within = 0.1;      // share of the variance

bool labelled(std::int8_t label) {
    return label >= 0;
}

/// Positions of the rows that are labelled, or of those that are not.
std::vector<std::size_t> positions(std::span<const std::int8_t> labels, bool labelled_ones = true) {
    std::vector<std::size_t> out;
    for (std::size_t i = 0; i < labels.size(); ++i) {
        if (labelled(labels[i]) == labelled_ones) out.push_back(i);
    }
    return out;
}

template <class T>
std::vector<T> taken(std::span<const T> all, std::span<const std::size_t> which) {
    std::vector<T> out;
    for (const std::size_t i : which) out.push_back(all[i]);
    return out;
}

/// Distances of the findings `which`, each labelling all training rows. @returns false where it was stopped.
bool measure_on_axes(const UnitRows& rows, const TrainingScatter& shared, std::span<const ContextRow> test,
                     std::span<const FindingLabels> findings, std::span<const std::size_t> which, int threads,
                     const std::function<bool()>& stops, Matrix<double>& out) {
    const ClassAxes axes(shared, which);
    for (std::int64_t first = 0; first < unit_blocks(test); first += threads) {
        if (stops()) return false;
        const auto blocks = std::min<std::int64_t>(threads, unit_blocks(test) - first);
        for_each_on_threads(threads, blocks, [&](std::int64_t b) {
            const Matrix<double> found = axes.distances(rows.read(unit_block(test, first + b)));
            const auto from = static_cast<std::size_t>((first + b) * unit_block_rows);
            for (std::size_t w = 0; w < which.size(); ++w) {
                const std::span<const double> row = found.row(static_cast<std::int64_t>(w));
                for (std::size_t i = 0; i < row.size(); ++i) {
                    if (labelled(findings[which[w]].test[from + i]))
                        out.row(static_cast<std::int64_t>(which[w]))[from + i] = row[i];
                }
            }
        });
    }
    return true;
}

/// Distances of one finding by a scatter of its own, or by what is left of a shared one.
void measure_alone(const UnitRows& rows, std::span<const ContextRow> training,
                   std::span<const ContextRow> test, const FindingLabels& labels,
                   const TrainingScatter* shared, const TrainingScatter::Finding* finding,
                   std::span<double> out) {
    const std::vector<std::size_t> own = positions(labels.training), asked = positions(labels.test);
    const auto fitted =
        shared == nullptr
            ? Mahalanobis::fit(rows, taken(training, own), taken(labels.training, own))
            : Mahalanobis::fit(rows, *shared, *finding, taken(training, positions(labels.training, false)));
    if (!fitted) return;
    const std::vector<double> distances = fitted->distances(rows, taken(test, asked));
    for (std::size_t i = 0; i < asked.size(); ++i) out[asked[i]] = distances[i];
}

}  // namespace

DistancePlan plan_distances(std::span<const FindingLabels> findings, std::int64_t dimension) {
    DistancePlan plan;
    if (findings.empty()) return plan;
    const auto d = static_cast<double>(dimension),
               all = static_cast<double>(findings.front().training.size()),
               tests = static_cast<double>(findings.front().test.size());
    std::vector<Way> shared_ways;
    double own_flops = 0, shared_flops = all * d * d;  // without and with a scatter of all rows
    double complete = 0, solved_alone = 0;             // of the findings that label all of them
    for (const FindingLabels& finding : findings) {
        const auto positives = std::ranges::count(finding.training, std::int8_t{1});
        const auto rows = static_cast<double>(std::ranges::count_if(finding.training, labelled));
        const bool defined = positives > 0 && static_cast<double>(positives) < rows;
        plan.ways.push_back(defined ? Way::own : Way::none);
        shared_ways.push_back(plan.ways.back());
        if (!defined) continue;
        const double asked = static_cast<double>(std::ranges::count_if(finding.test, labelled)),
                     solved = d * d * d / 3 + asked * d * d, left = all - rows;
        own_flops += rows * d * d + solved;
        if (left == 0) {
            shared_ways.back() = Way::the_axes;
            ++complete;
            solved_alone += solved;
        } else {
            if (left < rows) shared_ways.back() = Way::shared;
            shared_flops += std::min(left, rows) * d * d + solved;
        }
    }
    const double on_axes = eigenvector_flops * d * d * d + tests * (2 * d * d + 4 * complete * d);
    if (on_axes >= solved_alone) std::ranges::replace(shared_ways, Way::the_axes, Way::shared);
    shared_flops += std::min(on_axes, solved_alone);
    if (shared_flops < own_flops) plan.ways = std::move(shared_ways);
    plan.flops = std::min(shared_flops, own_flops);
    return plan;
}

std::optional<Matrix<double>> class_distances(const neighbors::RowSource& rows,
                                              std::span<const ContextRow> training,
                                              std::span<const ContextRow> test,
                                              std::span<const FindingLabels> findings, int threads,
                                              const std::function<bool()>& stops) {
    Matrix<double> out(std::ssize(findings), std::ssize(test));
    std::vector<std::span<const std::int8_t>> labels;
    for (const FindingLabels& finding : findings) {
        CANDOR_REQUIRE(finding.training.size() == training.size() && finding.test.size() == test.size(),
                       std::to_string(training.size()) + " and " + std::to_string(test.size()) + " rows, " +
                           std::to_string(finding.training.size()) + " and " +
                           std::to_string(finding.test.size()) + " labels");
        std::ranges::fill(out.row(std::ssize(labels)), std::numeric_limits<double>::quiet_NaN());
        labels.push_back(finding.training);
    }
    const UnitRows unit(rows);
    std::vector<Way> ways = plan_distances(findings, rows.dimension()).ways;
    std::optional<TrainingScatter> shared;
    if (std::ranges::any_of(ways, [](Way way) { return way > Way::own; })) {
        shared = training_scatter(unit, training, labels, threads, stops);
        if (!shared) return std::nullopt;
    }
    const bool scattered =
        shared && scatters(shared->squares / static_cast<double>(shared->rows), shared->rows);
    std::vector<std::size_t> on_axes, alone;
    for (std::size_t f = 0; f < ways.size(); ++f) {
        if (ways[f] > Way::own &&
            !(scattered && shared->findings[f].within() > least_within * shared->squares))
            ways[f] = Way::own;
        if (ways[f] != Way::none) (ways[f] == Way::the_axes ? on_axes : alone).push_back(f);
    }
    if (!on_axes.empty() && !measure_on_axes(unit, *shared, test, findings, on_axes, threads, stops, out))
        return std::nullopt;
    for (std::int64_t first = 0; first < std::ssize(alone); first += threads) {
        if (stops()) return std::nullopt;
        const auto count = std::min<std::int64_t>(threads, std::ssize(alone) - first);
        for_each_on_threads(threads, count, [&](std::int64_t i) {
            const std::size_t f = alone[static_cast<std::size_t>(first + i)];
            const bool shares = ways[f] == Way::shared;
            measure_alone(unit, training, test, findings[f], shares ? &*shared : nullptr,
                          shares ? &shared->findings[f] : nullptr, out.row(static_cast<std::int64_t>(f)));
        });
    }
    return out;
}

}  // namespace candor::instruments
