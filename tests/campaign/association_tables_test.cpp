#include "candor/campaign/association_tables.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "candor/base/error.hpp"
#include "candor/stats/bootstrap_p.hpp"
#include "candor/stats/fdr.hpp"
#include "candor/stats/interval.hpp"
#include "candor/stats/spearman.hpp"
#include "candor/stats/student_t.hpp"

using namespace candor;
using campaign::AssociationTables;
using campaign::Counted;
using campaign::FindingResult;
using campaign::TaskWork;

namespace {

constexpr std::size_t resamples = 40;
constexpr std::int64_t queries = 16;  // a rate is a number of sixteenths: sums and halves of it are exact

study::Study made_study(bool with_anchor = true) {
    std::string text =
        "[study]\nname = \"made\"\n[bootstrap]\nresamples = " + std::to_string(resamples) + "\n";
    for (const char* id : {"one", "two", "three", "four"}) {
        text += std::string("[[encoder]]\nid = \"") + id + "\"\nyear = " + std::to_string(2019 + id[0] % 5) +
                "\n";
    }
    text +=
        std::string("[[encoder]]\nid = \"random\"\nanchor = ") + (with_anchor ? "true" : "false") +
        "\n[[dataset]]\nid = \"a\"\ntable = \"a.csv\"\nfeatures = \"{encoder}.h5\"\n"
        "[[task]]\nid = \"chest\"\ndatasets = [\"a\"]\nfindings = [\"edema\", \"mass\", \"rare\", \"scar\"]\n"
        "[[task]]\nid = \"empty\"\ndatasets = [\"a\"]\nfindings = [\"rare\"]\n"
        "[[contrast]]\nid = \"goals\"\ntask = \"chest\"\n"
        "arms = { image = [\"two\", \"one\"], text = [\"three\"], none = [\"four\"] }\n"
        "[[contrast]]\nid = \"nothing\"\ntask = \"empty\"\narms = { x = [\"one\"], y = [\"two\"] }\n";
    return study::parse_study("made.toml", text);
}

/// Discordant positives of 16, observed (b = 0) and in resample b - 1; encoder four is three less two
/// sixteenths.
std::int64_t discordant(std::size_t encoder, std::size_t finding, std::size_t b) {
    static const std::int64_t observed[5][4] = {
        {3, 9, 0, 5}, {5, 7, 0, 6}, {4, 8, 0, 11}, {2, 6, 0, 9}, {8, 9, 0, 7}};
    const std::int64_t moved =
        b == 0 ? 0 : static_cast<std::int64_t>((7 * b + 3 * encoder + 5 * finding) % 9) - 4;
    return std::clamp<std::int64_t>(observed[encoder][finding] + moved, 0, queries);
}

double rate(std::size_t encoder, std::size_t finding, std::size_t b) {
    return static_cast<double>(discordant(encoder, finding, b)) / queries;
}

const std::vector<std::size_t> scored{0, 1, 3};  // "rare" is not

/// The counts of task "chest"; another rule beside the primary one must not be seen.
Counted made_counted() {
    Counted counted;
    for (std::size_t e = 0; e < 5; ++e) {
        for (const std::size_t f : scored) {
            for (const std::size_t rule : {0, 1}) {
                FindingResult result;
                result.encoder = e;
                result.finding = f;
                result.rule = rule;
                const auto counts = [&](std::size_t b) {
                    instruments::Counts c;
                    c.queries = queries;
                    c.discordant = rule == 0 ? discordant(e, f, b) : queries;
                    return c;
                };
                result.tally.observed = counts(0);
                result.tally.discordant_by_draw = {counts(0).discordant};
                for (std::size_t b = 1; b <= resamples; ++b) result.tally.resampled.push_back(counts(b));
                counted.findings.push_back(result);
            }
        }
    }
    return counted;
}

/// Six images, all positive for edema; boxes of two of them, one of an image that does not ask.
std::vector<TaskWork> made_work() {
    std::vector<TaskWork> work(2);
    for (std::size_t t = 0; t < 2; ++t) {
        work[t].task = t;
        for (int i = 0; i < 6; ++i) {
            work[t].pool.dataset.push_back(0);
            work[t].pool.image.push_back("i" + std::to_string(i));
            work[t].pool.asks.push_back(i != 5);
        }
        const std::size_t findings = t == 0 ? 4 : 1;
        for (std::size_t f = 0; f < findings; ++f) {
            work[t].pool.labels.emplace_back(6, static_cast<std::int8_t>(f == 3 ? 0 : 1));
        }
    }
    return work;
}

std::vector<study::Boxes> made_boxes() {
    study::Boxes boxes;
    boxes.area = {{{"i0", "edema"}, 0.25}, {{"i1", "edema"}, 0.5},  {{"i5", "edema"}, 1},
                  {{"i2", "mass"}, 0.125}, {{"i3", "scar"}, 0.125}, {{"elsewhere", "mass"}, 1}};
    return {boxes};
}

const std::vector<std::vector<double>> made_retention{{0.9, 0.8, 0.7, 0.95, 0.99},
                                                      std::vector<double>(5, std::nan(""))};

/// Heads of task "chest" alone, the better the later the encoder; the second encoder's of "mass" are missing.
campaign::TaskAurocs made_aurocs() {
    campaign::TaskAurocs aurocs;
    for (const std::size_t findings : {std::size_t{4}, std::size_t{1}})
        aurocs.finding.emplace_back(5, std::vector<double>(findings, std::nan("")));
    aurocs.task.assign(2, std::vector<double>(5, std::nan("")));
    for (std::size_t e = 0; e < 5; ++e) {
        const double auroc = 0.71 + 0.06 * static_cast<double>(e);
        aurocs.finding[0][e].assign(4, auroc);
        aurocs.task[0][e] = auroc;
    }
    aurocs.finding[0][1][scored[1]] = std::nan("");
    return aurocs;
}

AssociationTables made_tables() {
    return campaign::association_tables(made_study(), made_work(), made_counted(), made_boxes(),
                                        made_retention, made_aurocs());
}

template <class T>
const std::vector<T>& column(const store::ResultTable& table, const char* name) {
    const store::Column* found = table.find(name);
    BOOST_REQUIRE_MESSAGE(found != nullptr, name);
    return std::get<std::vector<T>>(found->values);
}

const std::vector<std::string>& texts(const store::ResultTable& table, const char* name) {
    return column<std::string>(table, name);
}
double real(const store::ResultTable& table, const char* name, std::size_t row) {
    return column<double>(table, name).at(row);
}
std::int64_t integer(const store::ResultTable& table, const char* name, std::size_t row) {
    return column<std::int64_t>(table, name).at(row);
}

std::vector<std::string> names_of(const store::ResultTable& table) {
    std::vector<std::string> names;
    for (const store::Column& one : table.columns) names.push_back(one.name);
    return names;
}

/// A statistic in every resample.
template <class Statistic>
std::vector<double> replicates(Statistic statistic) {
    std::vector<double> out;
    for (std::size_t b = 1; b <= resamples; ++b) out.push_back(statistic(b));
    return out;
}

// Rates are sixteenths, so their sums are exact; a mean over three is one rounding here and another there.
// Some hundred eps are left for the t quantile.
constexpr double rounding = 1e-13;

void check_close(double value, double expected) {
    if (std::isnan(expected)) {
        BOOST_CHECK(std::isnan(value));
    } else {
        BOOST_CHECK_SMALL(value - expected, rounding * std::max(1.0, std::abs(expected)));
    }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(campaign_association_tables)

BOOST_AUTO_TEST_CASE(distances_are_paired_with_the_anchor) {
    const AssociationTables tables = made_tables();
    const store::ResultTable& table = tables.distances;
    BOOST_TEST(names_of(table) ==
                   (std::vector<std::string>{"task", "level", "finding", "encoder", "anchor", "distance",
                                             "low", "high", "n_boot_valid", "p", "q", "reject"}),
               boost::test_tools::per_element());
    BOOST_REQUIRE_EQUAL(table.rows(), 4 * (2 + 3));
    const study::Study study = made_study();
    std::vector<double> family_p[2];
    std::vector<std::size_t> family_rows[2];
    std::size_t row = 0;
    for (std::size_t level = 0; level < 5; ++level) {  // micro, macro, three findings
        for (std::size_t e = 0; e < 4; ++e, ++row) {
            const auto distance = [&](std::size_t b) {
                double sum = 0;
                for (const std::size_t f : scored) {
                    if (level < 2 || scored[level - 2] == f) sum += rate(4, f, b) - rate(e, f, b);
                }
                return level < 2 ? sum / 3 : sum;
            };
            BOOST_CHECK_EQUAL(texts(table, "level")[row], level == 0   ? "micro"
                                                          : level == 1 ? "macro"
                                                                       : "finding");
            BOOST_CHECK_EQUAL(texts(table, "finding")[row],
                              level < 2 ? "" : study.tasks[0].findings[scored[level - 2]]);
            BOOST_CHECK_EQUAL(texts(table, "encoder")[row], study.encoders[e].id);
            BOOST_CHECK_EQUAL(texts(table, "anchor")[row], "random");
            const std::vector<double> resampled = replicates(distance);
            const stats::Interval interval = stats::percentile_interval(resampled, 0.95);
            check_close(real(table, "distance", row), distance(0));
            check_close(real(table, "low", row), interval.low);
            check_close(real(table, "high", row), interval.high);
            BOOST_CHECK_EQUAL(integer(table, "n_boot_valid", row), resamples);
            // Distances of three findings' means may be 0 but for a rounding; no p may depend on it here.
            if (level != 1) check_close(real(table, "p", row), stats::bootstrap_p(resampled, 0));
            if (level == 1) {
                BOOST_CHECK(std::isnan(real(table, "q", row)));
                BOOST_CHECK_EQUAL(integer(table, "reject", row), 0);
                continue;
            }
            family_p[level > 1].push_back(real(table, "p", row));
            family_rows[level > 1].push_back(row);
        }
    }
    const char* names[] = {"distance from the anchor", "distance from the anchor, by finding"};
    for (std::size_t family = 0; family < 2; ++family) {
        BOOST_CHECK_EQUAL(tables.families.at(family).name, names[family]);
        BOOST_CHECK_EQUAL(tables.families[family].task, "chest");
        BOOST_CHECK_EQUAL(tables.families[family].test, "bootstrap");
        BOOST_TEST(tables.families[family].p == family_p[family], boost::test_tools::per_element());
        const std::vector<double> q = stats::benjamini_hochberg(family_p[family]);
        for (std::size_t i = 0; i < q.size(); ++i) {
            BOOST_CHECK_EQUAL(real(table, "q", family_rows[family][i]), q[i]);
            BOOST_CHECK_EQUAL(integer(table, "reject", family_rows[family][i]), q[i] <= 0.05);
        }
    }
}

BOOST_AUTO_TEST_CASE(heads_stand_beside_discordance) {
    const store::ResultTable table = made_tables().associations;
    std::map<std::string, std::pair<std::int64_t, double>> says;  // "kind group" of task_auroc with d
    std::int64_t without = 0;
    for (std::size_t row = 0; row < static_cast<std::size_t>(table.rows()); ++row) {
        if (texts(table, "x")[row] != "task_auroc" || texts(table, "y")[row] != "d") continue;
        if (texts(table, "task")[row] != "chest") {
            BOOST_CHECK_EQUAL(texts(table, "undefined")[row], "no linear head has an AUROC");
            ++without;
            continue;
        }
        says[texts(table, "kind")[row] + " " + texts(table, "group")[row]] = {integer(table, "n", row),
                                                                              real(table, "value", row)};
    }
    BOOST_CHECK_EQUAL(without, 3);
    // Spearman of the micro rates with 1 .. 5, by its definition on ranks.
    std::vector<double> d;
    for (std::size_t e = 0; e < 5; ++e) {
        double sum = 0;
        for (const std::size_t f : scored) sum += rate(e, f, 0);
        d.push_back(sum);
    }
    const std::vector<double> encoder{1, 2, 3, 4, 5};
    BOOST_CHECK_EQUAL(says.at("spearman panel").first, 5);
    check_close(says.at("spearman panel").second, stats::spearman(encoder, d).rho);
    // AUROCs 0.71, 0.77, 0.83, 0.89, 0.95 fall into five bins; one cell of the second encoder has none.
    BOOST_CHECK_EQUAL(says.at("bin [0.70, 0.75)").first, 3);
    BOOST_CHECK_EQUAL(says.at("bin [0.75, 0.80)").first, 2);
    check_close(says.at("bin [0.75, 0.80)").second, (rate(1, scored[0], 0) + rate(1, scored[2], 0)) / 2);
    double above = 0;
    for (std::size_t e = 1; e < 5; ++e) {
        for (const std::size_t f : scored) above += (e != 1 || f != scored[1]) && rate(e, f, 0) > 0.25;
    }
    BOOST_CHECK_EQUAL(says.at("share task_auroc > 0.75").first, 11);
    check_close(says.at("share task_auroc > 0.75").second, above / 11);
}

BOOST_AUTO_TEST_CASE(without_an_anchor_there_are_no_distances) {
    const AssociationTables tables = campaign::association_tables(
        made_study(false), made_work(), made_counted(), made_boxes(), made_retention, made_aurocs());
    BOOST_CHECK_EQUAL(tables.distances.rows(), 0);
    BOOST_CHECK_EQUAL(tables.distances.columns.size(), 12);
    BOOST_REQUIRE_EQUAL(tables.families.size(), 1);
    BOOST_CHECK_EQUAL(tables.families[0].name, "associations");
}

BOOST_AUTO_TEST_CASE(contrasts_are_arms_and_their_differences) {
    const AssociationTables tables = made_tables();
    const store::ResultTable& table = tables.contrasts;
    BOOST_TEST(
        names_of(table) == (std::vector<std::string>{"task", "contrast", "kind", "arm", "against", "encoders",
                                                     "cells", "value", "low", "high", "boot_low", "boot_high",
                                                     "n_boot_valid", "p", "q", "reject", "undefined"}),
        boost::test_tools::per_element());
    BOOST_REQUIRE_EQUAL(table.rows(), 6 + 3);
    const std::vector<std::vector<std::size_t>> arms{{0, 1}, {2}, {3}};
    const std::vector<std::string> names{"image", "text", "none"};
    struct Expected {
        std::size_t a, b;  // equal: the arm itself
    };
    const std::vector<Expected> rows{{0, 0}, {1, 1}, {2, 2}, {0, 1}, {0, 2}, {1, 2}};
    for (std::size_t row = 0; row < rows.size(); ++row) {
        const auto [a, b] = rows[row];
        const bool arm = a == b;
        const auto values = [&, a = a, b = b](std::size_t resample) {
            std::vector<double> out;
            if (a == b) {
                for (const std::size_t e : arms[a]) {
                    for (const std::size_t f : scored) out.push_back(rate(e, f, resample));
                }
                return out;
            }
            for (const std::size_t f : scored) {
                double value = 0;
                for (const std::size_t e : arms[a])
                    value += rate(e, f, resample) / static_cast<double>(arms[a].size());
                for (const std::size_t e : arms[b])
                    value -= rate(e, f, resample) / static_cast<double>(arms[b].size());
                out.push_back(value);
            }
            return out;
        };
        const auto mean = [&](std::size_t resample) {
            double sum = 0;
            for (const double v : values(resample)) sum += v;
            return sum / static_cast<double>(values(resample).size());
        };
        BOOST_CHECK_EQUAL(texts(table, "contrast")[row], "goals");
        BOOST_CHECK_EQUAL(texts(table, "kind")[row], arm ? "arm" : "difference");
        BOOST_CHECK_EQUAL(texts(table, "arm")[row], names[a]);
        BOOST_CHECK_EQUAL(texts(table, "against")[row], arm ? "" : names[b]);
        BOOST_CHECK_EQUAL(integer(table, "encoders", row),
                          std::ssize(arms[a]) + (arm ? 0 : std::ssize(arms[b])));
        BOOST_CHECK_EQUAL(integer(table, "cells", row), std::ssize(values(0)));
        check_close(real(table, "value", row), mean(0));
        const auto n = static_cast<double>(values(0).size());
        double squares = 0;
        for (const double v : values(0)) squares += (v - mean(0)) * (v - mean(0));
        const double error = std::sqrt(squares / (n - 1) / n);
        const double half = stats::t_quantile(0.95, n - 1) * error;
        check_close(real(table, "low", row), mean(0) - half);
        check_close(real(table, "high", row), mean(0) + half);
        const stats::Interval boot = stats::percentile_interval(replicates(mean), 0.95);
        check_close(real(table, "boot_low", row), boot.low);
        check_close(real(table, "boot_high", row), boot.high);
        BOOST_CHECK_EQUAL(integer(table, "n_boot_valid", row), resamples);
        const bool constant = a == 1 && b == 2;  // two sixteenths in every finding
        BOOST_CHECK_EQUAL(texts(table, "undefined")[row], constant ? "constant differences" : "");
        check_close(real(table, "p", row),
                    arm || constant ? std::nan("") : stats::two_sided_t(mean(0) / error, n - 1));
        if (constant) {
            BOOST_CHECK_EQUAL(real(table, "value", row), 0.125);
            BOOST_CHECK_EQUAL(real(table, "low", row), 0.125);
        }
        BOOST_CHECK_EQUAL(std::isnan(real(table, "q", row)), arm || constant);
    }
    for (std::size_t row = 6; row < 9; ++row) {
        BOOST_CHECK_EQUAL(texts(table, "task")[row], "empty");
        BOOST_CHECK_EQUAL(texts(table, "undefined")[row], "no cell is scored");
        BOOST_CHECK(std::isnan(real(table, "value", row)) && std::isnan(real(table, "p", row)));
        BOOST_CHECK_EQUAL(integer(table, "cells", row), 0);
    }
}

// One finding scored: an arm of two encoders has two cells and an interval, one of one encoder has a value
// alone, and no difference can be tested.
BOOST_AUTO_TEST_CASE(one_finding_is_too_few_for_a_test) {
    Counted counted = made_counted();
    std::erase_if(counted.findings, [](const FindingResult& result) { return result.finding != 1; });
    const store::ResultTable table = campaign::association_tables(made_study(), made_work(), counted,
                                                                  made_boxes(), made_retention, made_aurocs())
                                         .contrasts;
    BOOST_CHECK_EQUAL(texts(table, "undefined")[0], "");
    BOOST_CHECK_EQUAL(texts(table, "undefined")[1], "fewer than 2 cells");
    BOOST_CHECK_EQUAL(real(table, "value", 1), 0.5);
    BOOST_CHECK(std::isnan(real(table, "low", 1)) && !std::isnan(real(table, "boot_low", 1)));
    BOOST_CHECK_EQUAL(texts(table, "undefined")[3], "fewer than 2 findings");
    BOOST_CHECK_EQUAL(real(table, "value", 3), 0);
    BOOST_CHECK(std::isnan(real(table, "p", 3)));
}

BOOST_AUTO_TEST_CASE(associations_of_the_study_are_one_family) {
    const AssociationTables tables = made_tables();
    const store::ResultTable& table = tables.associations;
    BOOST_TEST(names_of(table) == (std::vector<std::string>{"task", "kind", "x", "y", "group", "n", "value",
                                                            "standard_error", "p", "exact_p", "q", "reject",
                                                            "method", "undefined"}),
               boost::test_tools::per_element());
    const auto row_of = [&](const std::string& task, const std::string& x, const std::string& group) {
        for (std::size_t r = 0; r < static_cast<std::size_t>(table.rows()); ++r) {
            if (texts(table, "task")[r] == task && texts(table, "x")[r] == x &&
                texts(table, "group")[r] == group && texts(table, "y")[r] == "d")
                return r;
        }
        BOOST_FAIL("no row of " << x);
        return std::size_t{0};
    };
    // Micro d in 48ths: 17, 18, 23, 17, 24: ranks 1.5, 3, 4, 1.5, 5; retention's 3, 2, 1, 4, 5.
    const std::size_t retention = row_of("chest", "retention", "panel");
    BOOST_CHECK_EQUAL(integer(table, "n", retention), 5);
    check_close(real(table, "value", retention), 0.5 / std::sqrt(10 * 9.5));
    BOOST_CHECK_EQUAL(texts(table, "method")[retention], "Spearman, Student t");
    BOOST_CHECK_EQUAL(texts(table, "undefined")[row_of("chest", "parameters", "without the anchor")],
                      "no encoder has parameters");
    BOOST_CHECK_EQUAL(texts(table, "undefined")[row_of("empty", "retention", "panel")],
                      "no retention was measured");
    // Areas: edema 3/8 of two images, mass 1/8 of one; of "rare" there are none, of "scar" no positive has
    // one.
    const std::size_t slope = row_of("chest", "area", "encoder x finding");
    BOOST_CHECK_EQUAL(integer(table, "n", slope), 10);
    check_close(real(table, "value", slope), (22.0 - 39.0) / 5 / 16 / 0.25);

    std::vector<double> p;
    for (std::size_t r = 0; r < static_cast<std::size_t>(table.rows()); ++r) {
        const std::string& kind = texts(table, "kind")[r];
        if (kind != "spearman" && kind != "slope") continue;
        const double exact = real(table, "exact_p", r);
        p.push_back(std::isnan(exact) ? real(table, "p", r) : exact);
    }
    for (std::size_t r = 0; r < static_cast<std::size_t>(tables.contrasts.rows()); ++r) {
        if (texts(tables.contrasts, "kind")[r] == "difference") p.push_back(real(tables.contrasts, "p", r));
    }
    const campaign::TestFamily& family = tables.families.back();
    BOOST_CHECK_EQUAL(family.name, "associations");
    BOOST_CHECK_EQUAL(family.task, "");
    BOOST_CHECK_EQUAL(family.test, "t or exact");
    BOOST_CHECK_EQUAL(family.smallest_p, 0);
    BOOST_TEST(family.p.size() == p.size());
    const std::vector<double> q = stats::benjamini_hochberg(p);
    std::size_t next = 0;
    const auto check = [&](const store::ResultTable& of, std::size_t r) {
        check_close(family.p[next], p[next]);
        check_close(real(of, "q", r), q[next]);
        BOOST_CHECK_EQUAL(integer(of, "reject", r), q[next] <= 0.05);
        ++next;
    };
    for (std::size_t r = 0; r < static_cast<std::size_t>(table.rows()); ++r) {
        const std::string& kind = texts(table, "kind")[r];
        if (kind == "spearman" || kind == "slope") check(table, r);
    }
    for (std::size_t r = 0; r < static_cast<std::size_t>(tables.contrasts.rows()); ++r) {
        if (texts(tables.contrasts, "kind")[r] == "difference") check(tables.contrasts, r);
    }
    BOOST_CHECK_GE(std::ranges::count_if(p, [](double v) { return !std::isnan(v); }), 5);
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_the_study_is_refused) {
    BOOST_CHECK_THROW(campaign::association_tables(made_study(), made_work(), made_counted(), {},
                                                   made_retention, made_aurocs()),
                      InternalError);
    BOOST_CHECK_THROW(campaign::association_tables(made_study(), made_work(), made_counted(), made_boxes(),
                                                   {}, made_aurocs()),
                      InternalError);
    BOOST_CHECK_THROW(campaign::association_tables(made_study(), made_work(), made_counted(), made_boxes(),
                                                   made_retention, {}),
                      InternalError);
}

BOOST_AUTO_TEST_SUITE_END()
