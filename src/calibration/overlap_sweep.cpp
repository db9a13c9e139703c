// METHODS 12.5: two classes slide into each other; both heads' error climbs, and no pair of opposite labels
// is separated by more than the cap (Proposition 1) allows: m/L <= cap1. With L halved some are: the test of
// the test.

#include <algorithm>
#include <cmath>

#include "calibration/cohort.hpp"
#include "calibration/proofs.hpp"
#include "candor/base/sum.hpp"
#include "candor/instruments/head_margin.hpp"
#include "candor/instruments/heads.hpp"

namespace candor::calibration {

namespace {

constexpr std::int64_t steps = 6, pairs = 5000, dimension = 4;
constexpr std::size_t error = 0, violations = 1, violations_of_half = 2, a_head = 3;

/// Of the linear head, then of the hidden one: error, violations, violations with L halved.
Values slide(std::int64_t item, std::int64_t rows, std::int64_t epochs) {
    Draws draws("overlap sweep", item);
    const double distance = 6 * (1 - static_cast<double>(item) / static_cast<double>(steps - 1));
    Cohort cohort = make_cohort({rows / 2, rows / 2, 1, 0, distance, dimension, false}, draws);
    Matrix<std::int8_t> labels(1, rows);
    for (std::int64_t i = 0; i < rows; ++i) {
        const auto row = cohort.features.row(i);
        row[0] -= static_cast<float>(distance / 2);
        const auto length = static_cast<float>(norm(std::span<const float>(row)));
        for (float& value : row) value /= length;
        labels.row(0)[static_cast<std::size_t>(i)] = cohort.rows[static_cast<std::size_t>(i)].label;
    }
    std::vector<std::int64_t> side[2];
    for (std::int64_t i = 0; i < rows; ++i) side[cohort.rows[static_cast<std::size_t>(i)].label].push_back(i);
    Values values;
    for (const auto kind : {instruments::HeadKind::linear, instruments::HeadKind::hidden}) {
        instruments::HeadTask task;
        task.kind = kind;
        task.dimension = dimension;
        task.dataset = "made";
        task.findings = {"token"};
        instruments::Heads heads(task);
        for (std::int64_t e = 0; e < epochs; ++e) heads.train_epoch({cohort.features.view(), labels.view()});
        const Matrix<double> z = heads.logits(cohort.features.view());
        double wrong = 0;
        for (std::int64_t i = 0; i < rows; ++i)
            wrong += (z.row(0)[static_cast<std::size_t>(i)] >= 0) !=
                     (labels.row(0)[static_cast<std::size_t>(i)] == 1);
        std::vector<instruments::HeadCase> cases;
        for (std::int64_t p = 0; p < pairs; ++p) {
            const std::int64_t a = side[1][draws.below(side[1].size())],
                               b = side[0][draws.below(side[0].size())];
            const double cosine = dot(std::span<const float>(cohort.features.row(a)),
                                      std::span<const float>(cohort.features.row(b)));
            cases.push_back({z.row(0)[static_cast<std::size_t>(a)], z.row(0)[static_cast<std::size_t>(b)],
                             std::clamp(cosine, -1.0, 1.0)});
        }
        const double lipschitz = heads.lipschitz(0);
        values.push_back(wrong / static_cast<double>(rows));
        values.push_back(static_cast<double>(instruments::head_margins(cases, 0, lipschitz).violations));
        values.push_back(static_cast<double>(instruments::head_margins(cases, 0, lipschitz / 2).violations));
    }
    return values;
}

Verdict exactly(std::string what, double expected, double observed, double low, double high) {
    return {"", std::move(what), expected, observed, low, high, 0, {}};
}

}  // namespace

Proof overlap_sweep(const Scope& scope) {
    // Some 1,200 steps: with so few columns the heads learn slowly.
    const std::int64_t rows = scope.quick ? 2000 : 4000, epochs = scope.quick ? 150 : 300;
    return {"overlap sweep", steps, [rows, epochs](std::int64_t item) { return slide(item, rows, epochs); },
            [](std::span<const Values> items) {
                std::vector<Verdict> verdicts;
                const char* const names[] = {"linear head", "hidden head"};
                for (std::size_t h = 0; h < 2; ++h) {
                    double all = 0, half = 0;
                    for (const Values& one : items) {
                        all += one[h * a_head + violations];
                        half += one[h * a_head + violations_of_half];
                    }
                    const std::string name = names[h];
                    verdicts.push_back(exactly(name + ": pairs beyond the cap", 0, all, 0, 0));
                    // The hidden head's L is an upper bound, far above its slope: half of it is one too.
                    const Verdict halved = exactly(name + ": pairs beyond it with L halved", 1, half, 1, 1e9);
                    verdicts.push_back(h == 0 ? halved : shown(halved));
                    verdicts.push_back(exactly(name + ": error where classes are apart", 0,
                                               items.front()[h * a_head + error], 0, 0.02));
                    verdicts.push_back(exactly(name + ": error where they are one", 0.5,
                                               items.back()[h * a_head + error], 0.3, 0.6));
                }
                return verdicts;
            }};
}

}  // namespace candor::calibration
