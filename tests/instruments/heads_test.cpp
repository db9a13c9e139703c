#include "candor/instruments/heads.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "candor/base/error.hpp"
#include "candor/base/random.hpp"
#include "candor/base/sum.hpp"
#include "candor/instruments/logistic_loss.hpp"
#include "candor/linalg/gemm.hpp"

using namespace candor;
using namespace candor::instruments;

namespace {

constexpr HeadKind kinds[] = {HeadKind::linear, HeadKind::hidden};
constexpr std::int64_t dimension = 20;

/// Rows of length one, and labels that depend on them; a tenth of the labels is missing.
struct Made {
    Matrix<float> features;
    Matrix<std::int8_t> labels;

    Made(std::int64_t rows, std::int64_t findings) : features(rows, dimension), labels(findings, rows) {
        const Stream stream(8, "heads test", 0);
        std::uint64_t next = 0;
        for (std::int64_t i = 0; i < rows; ++i) {
            for (float& value : features.row(i)) value = static_cast<float>(stream.uniform(next++) - 0.5);
            const double length = norm(std::as_const(features).row(i));
            for (float& value : features.row(i)) value = static_cast<float>(value / length);
            for (std::int64_t f = 0; f < findings; ++f) {
                const double signal = features.row(i)[static_cast<std::size_t>(f) % dimension];
                const bool positive = signal + 0.1 * (stream.uniform(next++) - 0.5) > 0.1;
                labels.row(f)[static_cast<std::size_t>(i)] =
                    stream.uniform(next++) < 0.1 ? missing_label : static_cast<std::int8_t>(positive);
            }
        }
    }

    LabelledRows rows() const { return {features.view(), labels.view()}; }
    LabelledRows rows(std::int64_t finding) const {
        return {features.view(), labels.view().block(finding, 1)};
    }
};

HeadTask task(HeadKind kind, std::int64_t findings, std::uint64_t seed = 42) {
    HeadTask out{kind, dimension, "site", {}, seed};
    for (std::int64_t f = 0; f < findings; ++f) out.findings.push_back("finding " + std::to_string(f));
    return out;
}

Heads trained(const HeadTask& of, const LabelledRows& rows, std::int64_t epochs) {
    linalg::open_blas();
    Heads heads(of);
    for (std::int64_t e = 0; e < epochs; ++e) heads.train_epoch(rows);
    return heads;
}

std::vector<float> values(const Heads& heads, std::int64_t finding) {
    const std::span<const float> row = heads.parameters(finding);
    return {row.begin(), row.end()};
}

auto says(const std::string& text) {
    return [text](const InternalError& error) {
        return std::string(error.what()).find(text) != std::string::npos;
    };
}

double distance(std::span<const float> a, std::span<const float> b) {
    double square = 0;
    for (std::size_t i = 0; i < a.size(); ++i) square += std::pow(static_cast<double>(a[i]) - b[i], 2);
    return std::sqrt(square);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(instruments_heads)

BOOST_AUTO_TEST_CASE(initial_values_are_uniform_within_the_bound_of_their_unit) {
    const Heads linear(task(HeadKind::linear, 2)), hidden(task(HeadKind::hidden, 2));
    BOOST_REQUIRE_EQUAL(linear.parameters(0).size(), 21U);
    BOOST_REQUIRE_EQUAL(hidden.parameters(0).size(), 256U * 22 + 1);
    const auto check = [](std::span<const float> part, double bound) {
        double sum = 0, largest = 0;
        for (const double value : part) {
            sum += value;
            largest = std::max(largest, std::abs(value));
        }
        const auto n = static_cast<double>(part.size());
        BOOST_TEST(largest <= bound);
        BOOST_TEST(largest > 0.7 * bound);
        BOOST_TEST(std::abs(sum / n) <= 5 * bound / std::sqrt(3 * n));  // 5 standard deviations
    };
    check(linear.parameters(1), 1 / std::sqrt(20.0));
    check(hidden.parameters(1).first(256 * 21), 1 / std::sqrt(20.0));  // W and c
    check(hidden.parameters(1).subspan(256 * 21), 1 / 16.0);           // v and b
}

BOOST_AUTO_TEST_CASE(initial_values_are_keyed_by_seed_dataset_finding_and_kind_not_by_position) {
    const HeadTask usual = task(HeadKind::linear, 3);
    const std::vector<float> mine = values(Heads(usual), 2);
    HeadTask alone = usual, member = usual, elsewhere = usual;
    alone.findings = {"finding 2"};
    member.seed += 1;
    elsewhere.dataset = "other";
    BOOST_TEST((values(Heads(alone), 0) == mine));
    BOOST_TEST((values(Heads(usual), 1) != mine));
    BOOST_TEST((values(Heads(member), 2) != mine));
    BOOST_TEST((values(Heads(elsewhere), 2) != mine));
}

BOOST_AUTO_TEST_CASE(training_lowers_the_loss_of_every_finding) {
    const Made made(600, 3);
    for (const HeadKind kind : kinds) {
        const Heads before(task(kind, 3)), after = trained(task(kind, 3), made.rows(), 30);
        BOOST_TEST(after.epochs() == 30);
        const Matrix<double> z0 = before.logits(made.features.view()),
                             z1 = after.logits(made.features.view());
        for (std::int64_t f = 0; f < 3; ++f) {
            BOOST_TEST(after.steps(f) == 90);  // 600 rows are three batches
            BOOST_TEST(mean_loss(z1.row(f), made.labels.row(f)) <
                       0.99 * mean_loss(z0.row(f), made.labels.row(f)));
        }
    }
}

// Rows without a label enter products as factors of an exact 0.
BOOST_AUTO_TEST_CASE(rows_without_a_label_teach_nothing) {
    Made made(600, 3);
    const std::vector<std::int64_t> silent = {0, 17, 299, 599};
    for (const std::int64_t i : silent) {
        for (std::int64_t f = 0; f < 3; ++f) made.labels.row(f)[static_cast<std::size_t>(i)] = missing_label;
    }
    for (const HeadKind kind : kinds) {
        const Heads one = trained(task(kind, 3), made.rows(), 2);
        for (const std::int64_t i : silent)
            std::ranges::fill(made.features.row(i), static_cast<float>(i) / 600);
        const Heads other = trained(task(kind, 3), made.rows(), 2);
        BOOST_TEST((one.state() == other.state()));
    }
    // And those that have one do.
    const Heads one = trained(task(HeadKind::linear, 3), made.rows(), 1);
    made.labels.row(1)[0] = 1;
    const Heads other = trained(task(HeadKind::linear, 3), made.rows(), 1);
    BOOST_TEST((values(one, 0) == values(other, 0)));
    BOOST_TEST((values(one, 1) != values(other, 1)));
}

BOOST_AUTO_TEST_CASE(a_batch_without_labels_of_a_finding_leaves_it_as_it_is) {
    Made made(600, 3);
    // Finding 1 is labelled in one row alone, finding 2 nowhere.
    for (std::int64_t f = 1; f < 3; ++f) std::ranges::fill(made.labels.row(f), missing_label);
    made.labels.row(1)[123] = 1;
    for (const HeadKind kind : kinds) {
        const Heads start(task(kind, 3)), heads = trained(task(kind, 3), made.rows(), 4);
        BOOST_TEST(heads.steps(0) == 12);
        BOOST_TEST(heads.steps(1) == 4);
        BOOST_TEST(heads.steps(2) == 0);
        BOOST_TEST((values(heads, 2) == values(start, 2)));  // nor has weight decay touched it
        // Four steps of about the rate: with the steps of other batches counted, moments would have faded.
        const std::size_t b = heads.parameters(1).size() - 1;
        BOOST_CHECK_CLOSE(static_cast<double>(heads.parameters(1)[b]) - start.parameters(1)[b], 4 * 0.001, 2);
    }
}

// Exactly for hidden heads, whose products are a head's own; for linear ones within the rounding of a step.
BOOST_AUTO_TEST_CASE(a_head_trained_alone_is_the_head_trained_among_twelve) {
    const Made made(256, 17);
    for (const std::int64_t findings : {12, 17}) {
        for (const HeadKind kind : kinds) {
            const HeadTask all = task(kind, findings);
            const Heads together =
                trained(all,
                        made.rows().labels.rows == findings
                            ? made.rows()
                            : LabelledRows{made.features.view(), made.labels.view().block(0, findings)},
                        1);
            for (std::int64_t f = 0; f < findings; ++f) {
                HeadTask one = all;
                one.findings = {all.findings[static_cast<std::size_t>(f)]};
                const Heads alone = trained(one, made.rows(f), 1);
                if (kind == HeadKind::hidden) {
                    BOOST_TEST((values(alone, 0) == values(together, f)));
                    continue;
                }
                for (std::size_t i = 0; i < alone.parameters(0).size(); ++i)
                    BOOST_REQUIRE_SMALL(alone.parameters(0)[i] - together.parameters(f)[i], 1e-6F);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(going_on_from_any_epoch_gives_the_same_bits) {
    const Made made(300, 2);
    constexpr std::int64_t epochs = 5;
    for (const HeadKind kind : kinds) {
        const HeadTask of = task(kind, 2);
        const std::string whole = trained(of, made.rows(), epochs).state();
        for (std::int64_t stop = 0; stop <= epochs; ++stop) {
            const std::string kept = trained(of, made.rows(), stop).state();
            Heads resumed(of, kept);
            BOOST_TEST(resumed.epochs() == stop);
            BOOST_TEST((resumed.state() == kept));
            while (resumed.epochs() < epochs) resumed.train_epoch(made.rows());
            BOOST_TEST((resumed.state() == whole), stop);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_state_of_other_heads_or_not_whole_is_refused) {
    for (const HeadKind kind : kinds) {
        const HeadTask of = task(kind, 2);
        const std::string state = Heads(of).state();
        std::vector<HeadTask> others(5, of);
        others[0].kind = kind == HeadKind::linear ? HeadKind::hidden : HeadKind::linear;
        others[1].dimension = 21;
        others[2].dataset = "other";
        others[3].findings[1] = "other";
        others[4].seed = 43;
        for (const HeadTask& other : others) BOOST_CHECK_THROW(Heads(other, state), InternalError);
        for (const std::size_t size : {std::size_t{0}, std::size_t{3}, state.size() / 2, state.size() - 1})
            BOOST_CHECK_THROW(Heads(of, std::string_view(state).substr(0, size)), InternalError);
        BOOST_CHECK_THROW(Heads(of, state + "x"), InternalError);
    }
}

BOOST_AUTO_TEST_CASE(threads_change_no_bit) {
    const Made made(300, 3);
    linalg::open_blas();
    for (const HeadKind kind : kinds) {
        std::vector<std::string> states;
        for (const int threads : {1, 2, 3}) {
            std::vector<Heads> members;
            for (std::uint64_t m = 0; m < 5; ++m) members.emplace_back(task(kind, 3, 42 + m));
            train(members, made.rows(), 3, threads);
            std::string all;
            for (const Heads& member : members) {
                BOOST_TEST(member.epochs() == 3);
                all += member.state();
            }
            states.push_back(all);
        }
        BOOST_TEST((states[0] == states[1]));
        BOOST_TEST((states[0] == states[2]));
    }
}

BOOST_AUTO_TEST_CASE(equal_rows_have_equal_logits_wherever_they_stand) {
    Made made(777, 2);
    for (const std::int64_t i : {1, 255, 256, 400, 776})
        std::ranges::copy(made.features.row(0), made.features.row(i).begin());
    for (const HeadKind kind : kinds) {
        const Heads heads = trained(task(kind, 2), made.rows(), 1);
        const Matrix<double> z = heads.logits(made.features.view());
        const Matrix<double> alone = heads.logits(made.features.view().block(0, 1));
        for (std::int64_t f = 0; f < 2; ++f) {
            for (const std::size_t i : {0UL, 1UL, 255UL, 256UL, 400UL, 776UL})
                BOOST_TEST(z.row(f)[i] == alone.row(f)[0]);
            BOOST_TEST(z.row(f)[2] != alone.row(f)[0]);
        }
    }
}

// The functions themselves, in double.
BOOST_AUTO_TEST_CASE(logits_are_what_the_parameters_say) {
    const Made made(300, 2);
    const Heads linear = trained(task(HeadKind::linear, 2), made.rows(), 2);
    const Heads hidden = trained(task(HeadKind::hidden, 2), made.rows(), 2);
    const Matrix<double> of_linear = linear.logits(made.features.view()),
                         of_hidden = hidden.logits(made.features.view());
    for (std::int64_t f = 0; f < 2; ++f) {
        const std::span<const float> w = linear.parameters(f), p = hidden.parameters(f);
        for (std::int64_t i = 0; i < 300; ++i) {
            const std::span<const float> x = made.features.row(i);
            BOOST_REQUIRE_SMALL(of_linear.row(f)[i] - (dot(w.first(20), x) + w[20]), 1e-14);
            double z = p.back();
            for (std::size_t u = 0; u < 256; ++u)
                z += p[256 * 21 + u] * std::max(0.0, dot(p.subspan(u * 20, 20), x) + p[256 * 20 + u]);
            BOOST_REQUIRE_SMALL(of_hidden.row(f)[i] - z, 1e-13);
        }
    }
}

BOOST_AUTO_TEST_CASE(the_lipschitz_bound_holds_and_is_tight_for_linear_heads) {
    const Made made(400, 2);
    for (const HeadKind kind : kinds) {
        const Heads heads = trained(task(kind, 2), made.rows(), 20);
        const Matrix<double> z = heads.logits(made.features.view());
        for (std::int64_t f = 0; f < 2; ++f) {
            const double bound = heads.lipschitz(f);
            double steepest = 0;
            for (std::int64_t i = 0; i < 400; ++i) {
                for (std::int64_t j = 0; j < i; ++j) {
                    const double apart = distance(made.features.row(i), made.features.row(j));
                    steepest = std::max(steepest, std::abs(z.row(f)[i] - z.row(f)[j]) / apart);
                }
            }
            BOOST_TEST(steepest <= bound);
            BOOST_TEST(steepest > bound / (kind == HeadKind::linear ? 2 : 20));
        }
    }
    const Heads linear(task(HeadKind::linear, 1));
    Matrix<float> along(2, dimension);
    std::ranges::copy(linear.parameters(0).first(20), along.row(0).begin());
    std::ranges::fill(along.row(1), 0.0F);
    const Matrix<double> z = linear.logits(along.view());
    BOOST_CHECK_CLOSE((z.row(0)[0] - z.row(0)[1]) / distance(along.row(0), along.row(1)), linear.lipschitz(0),
                      1e-10);
}

BOOST_AUTO_TEST_CASE(a_NaN_or_Inf_never_becomes_a_number) {
    for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                            -std::numeric_limits<float>::infinity()}) {
        for (const HeadKind kind : kinds) {
            Made made(300, 2);
            made.features.row(290)[7] = bad;
            Heads heads(task(kind, 2));
            BOOST_CHECK_EXCEPTION(heads.train_epoch(made.rows()), InternalError,
                                  says("(head of finding 0 after epoch 1)"));
            BOOST_CHECK_EXCEPTION(Heads(task(kind, 2)).logits(made.features.view()), InternalError,
                                  says("(row 290, head of finding 0)"));
        }
    }
}

BOOST_AUTO_TEST_CASE(labels_shapes_and_positions_that_do_not_exist) {
    Made made(30, 2);
    const Made more(30, 3);
    Heads heads(task(HeadKind::linear, 2));
    BOOST_CHECK_THROW(heads.train_epoch(more.rows()), InternalError);
    BOOST_CHECK_THROW(heads.train_epoch({made.features.view().block(0, 29), made.labels.view()}),
                      InternalError);
    BOOST_CHECK_THROW(heads.train_epoch({made.features.view().block(0, 0),
                                         MatrixView<const std::int8_t>{nullptr, 2, 0, 0}}),
                      InternalError);
    MatrixView<float> narrow = made.features.view();
    narrow.cols = 19;
    BOOST_CHECK_THROW(heads.train_epoch({narrow, made.labels.view()}), InternalError);
    BOOST_CHECK_THROW(heads.logits(narrow), InternalError);
    for (const std::int64_t wrong : {-1, 2}) {
        BOOST_CHECK_THROW(heads.parameters(wrong), InternalError);
        BOOST_CHECK_THROW(heads.steps(wrong), InternalError);
        BOOST_CHECK_THROW(heads.lipschitz(wrong), InternalError);
    }
    BOOST_CHECK_THROW(Heads(task(HeadKind::linear, 0)), InternalError);
    HeadTask flat = task(HeadKind::linear, 1);
    flat.dimension = 0;
    BOOST_CHECK_THROW(Heads{flat}, InternalError);
    BOOST_TEST(heads.epochs() == 0);
    made.labels.row(1)[4] = 2;
    BOOST_CHECK_EXCEPTION(heads.train_epoch(made.rows()), InternalError, says("(label 2 of finding 1)"));
    BOOST_TEST(heads.logits(made.features.view().block(0, 0)).cols() == 0);
}

BOOST_AUTO_TEST_SUITE_END()
