#include "candor/campaign/retention_mpi.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "candor/base/random.hpp"
#include "candor/campaign/inference_mpi.hpp"
#include "candor/instruments/retention.hpp"
#include "candor/parallel/communicator.hpp"
#include "candor/stats/bootstrap_p.hpp"
#include "candor/stats/fdr.hpp"
#include "candor/stats/interval.hpp"
#include "candor/stats/spearman.hpp"
#include "candor/store/feature_file.hpp"
#include "definition.hpp"
#include "made_study.hpp"
#include "store/temporary.hpp"

using namespace candor;
using namespace candor::testing;
using campaign::ErasedAudit;
using campaign::Found;
using campaign::TaskWork;

namespace {

constexpr double undefined = std::numeric_limits<double>::quiet_NaN();

parallel::Communicator world() {
    return parallel::Communicator::world();
}

const Log silent(Verbosity::quiet, false);
parallel::StopRequest never;

const std::vector<std::string> region_names{"edema", "mass", "lesion", "a scar"};

/// Whether image `i` of dataset a was erased: edema in every second, mass in every third, lesions in every
/// fifth, one scar.
bool has_region(int i, const std::string& region) {
    return region == "edema"    ? i % 2 == 0
           : region == "mass"   ? i % 3 == 0
           : region == "lesion" ? i % 5 == 0
                                : i == 4;
}

/// Erased features: the image's own, moved by an amount of their own; the scar moves nothing.
std::vector<float> made_erased(std::size_t encoder, const std::string& image, const std::string& region) {
    std::vector<float> row = made_features(encoder, image);
    const Stream stream(15, "erased/" + region + "/" + image, encoder);
    const double size = region == "a scar" ? 0 : 1.5 * stream.uniform(1000);
    for (std::size_t j = 0; j < row.size(); ++j)
        row[j] += static_cast<float>(size * (stream.uniform(j) - 0.5));
    return row;
}

/// A made study on disk, dataset a erased under every encoder. Each rank has files of its own.
struct OnDisk {
    explicit OnDisk(
        const std::vector<std::string>& overrides = {},
        const std::function<void(std::size_t, store::FeatureTable&)>& change = [](std::size_t,
                                                                                  store::FeatureTable&) {}) {
        inputs = made_inputs(directory.file("made.toml"), overrides);
        inputs.study.datasets[0].erased = directory.file("erased-{encoder}.h5");
        for (std::size_t e = 0; e < 3; ++e) {
            for (std::size_t d = 0; d < 2; ++d) {
                store::FeatureTable table;
                table.ids = inputs.tables[d].image;
                std::ranges::reverse(table.ids);
                table.values = Matrix<double>(std::ssize(table.ids), made_dimensions[e]);
                for (std::size_t i = 0; i < table.ids.size(); ++i) {
                    std::ranges::copy(made_features(e, table.ids[i]),
                                      table.values.row(static_cast<std::int64_t>(i)).begin());
                }
                store::write_feature_file(inputs.study.datasets[d].features_of(inputs.study.encoders[e].id),
                                          table, false);
            }
            store::FeatureTable table;
            if (e == 2) table.type = store::ElementType::float64;
            for (int i = 69; i >= 0; --i) {
                for (const std::string& region : region_names) {
                    if (!has_region(i, region)) continue;
                    table.ids.push_back("a" + std::to_string(i));
                    table.findings.push_back(region);
                }
            }
            table.ids.push_back("unknown");
            table.findings.push_back("edema");
            table.values = Matrix<double>(std::ssize(table.ids), made_dimensions[e]);
            for (std::size_t i = 0; i < table.ids.size(); ++i) {
                std::ranges::copy(made_erased(e, table.ids[i], table.findings[i]),
                                  table.values.row(static_cast<std::int64_t>(i)).begin());
            }
            change(e, table);
            store::write_feature_file(inputs.study.datasets[0].erased_of(inputs.study.encoders[e].id), table,
                                      false);
        }
    }

    void add_boxes(const std::string& rows) {
        inputs.study.datasets[0].boxes = directory.file(
            "boxes.csv", "image_id,finding,x,y,width,height,image_width,image_height\n" + rows);
    }

    ErasedAudit audit() {
        std::vector<study::Pool> drafts;
        for (const study::Task& task : inputs.study.tasks)
            drafts.push_back(study::draft_pool(inputs.study, task, inputs.tables));
        return campaign::audit_erased_mpi(world(), inputs, drafts, never);
    }

    TemporaryDirectory directory;
    campaign::Inputs inputs;
};

std::int64_t excluded(const campaign::TaskErased& task, const std::string& what, const std::string& region) {
    return std::ranges::count_if(task.left_out, [&](const campaign::LeftOut& one) {
        return one.dataset == 0 && one.what == what && one.region == region;
    });
}

/// Images of the task that region `region` is used of, by the words of METHODS 7 alone.
std::set<std::string> expected_images(const campaign::Inputs& inputs, const TaskWork& work,
                                      const std::string& region) {
    const study::Task& task = inputs.study.tasks[work.task];
    const auto finding = std::ranges::find(task.findings, region) - task.findings.begin();
    std::set<std::string> images;
    for (std::size_t i = 0; i < work.pool.image.size(); ++i) {
        const std::string& image = work.pool.image[i];
        if (image[0] != 'a' || !has_region(std::stoi(image.substr(1)), region)) continue;
        if (finding < std::ssize(task.findings) &&
            work.pool.labels[static_cast<std::size_t>(finding)][i] != 1)
            continue;
        images.insert(image);
    }
    return images;
}

/// DM of each image that is a positive query of a scored cell of the finding.
std::map<std::string, double> margins_of(const std::vector<TaskWork>& work, const std::vector<Found>& found,
                                         std::size_t w, std::size_t encoder, std::size_t finding) {
    std::map<std::string, double> margins;
    for (const Found& one : found) {
        if (one.work != w || one.encoder != encoder) continue;
        const study::Cell& cell = work[w].cells[one.cell];
        if (static_cast<std::size_t>(cell.finding) != finding) continue;
        for (std::int64_t q = 0; q < cell.positive_queries; ++q) {
            const auto row =
                work[w]
                    .contexts[static_cast<std::size_t>(cell.context)]
                    .rows[static_cast<std::size_t>(cell.queries[static_cast<std::size_t>(q)].value)];
            margins[work[w].pool.image[static_cast<std::size_t>(row.value)]] =
                one.primary[static_cast<std::size_t>(q)].margin();
        }
    }
    return margins;
}

/// How often each patient was drawn, by the stream of METHODS 4.
std::vector<std::vector<std::size_t>> draws_of(const study::Study& study, const TaskWork& work) {
    std::vector<std::vector<std::size_t>> times;
    const auto patients = static_cast<std::size_t>(work.pool.clusters);
    for (std::int64_t b = 0; b < study.bootstrap.resamples; ++b) {
        times.emplace_back(work.pool.patients.size());
        const Stream stream(study.seed, "bootstrap/" + study.tasks[work.task].id,
                            static_cast<std::uint64_t>(b));
        for (std::uint64_t i = 0; i < patients; ++i) ++times.back()[stream.below(i, patients)];
    }
    return times;
}

/// One row of the table, to be held against what is expected.
class Row {
  public:
    Row(const store::ResultTable& table, std::size_t at) : table_(table), at_(at) {}
    double real(const char* name) const { return std::get<std::vector<double>>(values(name)).at(at_); }
    std::int64_t integer(const char* name) const {
        return std::get<std::vector<std::int64_t>>(values(name)).at(at_);
    }
    std::string text(const char* name) const {
        return std::get<std::vector<std::string>>(values(name)).at(at_);
    }

  private:
    const store::ColumnValues& values(const char* name) const {
        const store::Column* column = table_.find(name);
        BOOST_REQUIRE_MESSAGE(column != nullptr, name);
        return column->values;
    }
    const store::ResultTable& table_;
    std::size_t at_;
};

// Sums of fewer than 100 terms below 1 in another order: their roundings stay below 100 eps.
constexpr double rounding = 100 * std::numeric_limits<double>::epsilon();

void check_near(double value, double expected, const std::string& what) {
    BOOST_CHECK_MESSAGE((std::isnan(value) && std::isnan(expected)) || std::abs(value - expected) <= rounding,
                        what << ": " << value << " where " << expected << " was expected");
}

struct Mean {
    double sum = 0, rows = 0;
    double value() const { return rows == 0 ? undefined : sum / rows; }
};

/// Everything the table says of one (task, encoder), by definition; rows in their order.
void check_encoder(const campaign::Inputs& inputs, const std::vector<TaskWork>& work,
                   const std::vector<Found>& found, std::size_t w, std::size_t e,
                   const std::map<std::pair<std::string, std::string>, double>& areas,
                   const store::ResultTable& table, std::size_t& at, std::vector<double>& p) {
    const TaskWork& here = work[w];
    const study::Task& task = inputs.study.tasks[here.task];
    const std::size_t encoder = task.encoders[e];
    const auto draws = draws_of(inputs.study, here);
    std::map<std::string, std::size_t> patient_of;
    for (std::size_t i = 0; i < here.pool.image.size(); ++i)
        patient_of[here.pool.image[i]] = static_cast<std::size_t>(here.pool.patient[i]);

    std::vector<std::string> names = task.findings;
    for (const char* other : {"a scar", "edema", "lesion", "mass"}) {
        if (std::ranges::find(names, other) == names.end()) names.emplace_back(other);
    }
    Mean all;
    std::vector<Mean> all_resampled(draws.size());
    std::vector<double> means;
    std::vector<std::vector<double>> means_resampled;
    for (const std::string& name : names) {
        const std::set<std::string> images = expected_images(inputs, here, name);
        if (images.empty()) continue;
        const Row row(table, at++);
        const std::string what = task.id + "/" + inputs.study.encoders[encoder].id + "/" + name;
        BOOST_CHECK_EQUAL(row.text("task"), task.id);
        BOOST_CHECK_EQUAL(row.text("encoder"), inputs.study.encoders[encoder].id);
        BOOST_CHECK_EQUAL(row.text("level"), "region");
        BOOST_REQUIRE_EQUAL(row.text("region"), name);
        BOOST_CHECK_EQUAL(row.integer("images"), std::ssize(images));

        std::map<std::string, double> rho;
        std::set<std::size_t> patients;
        Mean mean, area;
        std::vector<Mean> resampled(draws.size());
        for (const std::string& image : images) {
            const std::vector<float> a = made_features(encoder, image), b = made_erased(encoder, image, name);
            rho[image] = instruments::retention(std::vector<double>(a.begin(), a.end()),
                                                std::vector<double>(b.begin(), b.end()));
            patients.insert(patient_of.at(image));
            if (areas.contains({image, name})) area = {area.sum + areas.at({image, name}), area.rows + 1};
            for (Mean* one : {&mean, &all}) *one = {one->sum + rho[image], one->rows + 1};
            for (std::size_t b2 = 0; b2 < draws.size(); ++b2) {
                const auto times = static_cast<double>(draws[b2][patient_of.at(image)]);
                for (Mean* one : {&resampled[b2], &all_resampled[b2]})
                    *one = {one->sum + times * rho[image], one->rows + times};
            }
        }
        BOOST_CHECK_EQUAL(row.integer("patients"), std::ssize(patients));
        BOOST_CHECK_EQUAL(row.integer("few_patients"), patients.size() < 10);
        BOOST_CHECK_EQUAL(row.integer("boxes"), static_cast<std::int64_t>(area.rows));
        check_near(row.real("area"), area.value(), what + " area");
        check_near(row.real("retention"), mean.value(), what + " retention");
        means.push_back(mean.value());
        means_resampled.emplace_back();
        for (const Mean& one : resampled) means_resampled.back().push_back(one.value());
        const stats::Interval interval = stats::percentile_interval(means_resampled.back(), 0.95);
        check_near(row.real("low"), interval.low, what + " low");
        check_near(row.real("high"), interval.high, what + " high");
        BOOST_CHECK_EQUAL(row.integer("n_boot_valid"), interval.valid);

        const auto finding = std::ranges::find(task.findings, name) - task.findings.begin();
        std::vector<double> x, y;
        std::vector<std::size_t> who;
        if (finding < std::ssize(task.findings)) {
            for (const auto& [image, dm] : margins_of(work, found, w, e, static_cast<std::size_t>(finding))) {
                if (!rho.contains(image)) continue;
                x.push_back(rho.at(image));
                y.push_back(dm);
                who.push_back(patient_of.at(image));
            }
        }
        BOOST_CHECK_EQUAL(row.integer("cases"), std::ssize(x));
        const double observed = stats::spearman(x, y).rho;
        std::vector<double> correlations;
        for (const auto& times : draws) {
            std::vector<double> xs, ys;
            for (std::size_t i = 0; i < x.size(); ++i) {
                xs.insert(xs.end(), times[who[i]], x[i]);
                ys.insert(ys.end(), times[who[i]], y[i]);
            }
            correlations.push_back(stats::spearman(xs, ys).rho);
        }
        const bool tested = finding < std::ssize(task.findings);
        const bool defined = !std::isnan(observed);
        check_near(row.real("correlation"), observed, what + " correlation");
        BOOST_CHECK_EQUAL(row.text("undefined"), defined  ? ""
                                                 : tested ? "fewer than 3 cases"
                                                          : "the region is no finding of the task");
        const stats::Interval of_rho = stats::percentile_interval(correlations, 0.95);
        BOOST_CHECK_EQUAL(row.integer("correlation_n_boot_valid"), defined ? of_rho.valid : 0);
        check_near(row.real("correlation_low"), defined ? of_rho.low : undefined, what + " correlation_low");
        check_near(row.real("correlation_high"), defined ? of_rho.high : undefined,
                   what + " correlation_high");
        check_near(row.real("p"), defined ? stats::bootstrap_p(correlations, 0) : undefined, what + " p");
        if (tested) p.push_back(row.real("p"));
    }

    const Row micro(table, at++), macro(table, at++);
    std::vector<double> micro_resampled, macro_resampled;
    for (const Mean& one : all_resampled) micro_resampled.push_back(one.value());
    for (std::size_t b = 0; b < draws.size(); ++b) {
        macro_resampled.push_back(0);
        for (const auto& one : means_resampled)
            macro_resampled.back() += one[b] / static_cast<double>(means.size());
    }
    double macro_mean = 0;
    for (const double one : means) macro_mean += one / static_cast<double>(means.size());
    for (const auto& [row, value, replicates, level] :
         {std::tuple(&micro, all.value(), &micro_resampled, "micro"),
          std::tuple(&macro, macro_mean, &macro_resampled, "macro")}) {
        const stats::Interval interval = stats::percentile_interval(*replicates, 0.95);
        BOOST_CHECK_EQUAL(row->text("level"), level);
        BOOST_CHECK_EQUAL(row->text("region"), "");
        BOOST_CHECK_EQUAL(row->integer("images"), static_cast<std::int64_t>(all.rows));
        BOOST_CHECK_EQUAL(row->integer("n_boot_valid"), interval.valid);
        BOOST_CHECK_EQUAL(row->text("undefined"), "within regions only");
        check_near(row->real("retention"), value, std::string(level) + " retention");
        check_near(row->real("low"), interval.low, std::string(level) + " low");
        check_near(row->real("high"), interval.high, std::string(level) + " high");
        check_near(row->real("p"), undefined, level);
    }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(campaign_retention)

BOOST_AUTO_TEST_CASE(the_table_is_that_of_the_definition) {
    OnDisk disk;
    std::string boxes;
    std::map<std::pair<std::string, std::string>, double> areas;
    for (int i = 0; i < 70; i += 4) {
        boxes += "a" + std::to_string(i) + ",edema,0,0," + std::to_string(i + 1) + ",10,100,100\n";
        areas[{"a" + std::to_string(i), "edema"}] = (i + 1) / 1000.0;
    }
    disk.add_boxes(boxes);
    const ErasedAudit audit = disk.audit();
    BOOST_CHECK(audit.problems(disk.inputs.study).empty());
    const std::vector<TaskWork> work = made_work(disk.inputs);
    const std::vector<Found> found =
        all_by_definition(disk.inputs.study, work, open_made(disk.inputs.study, work));
    std::vector<Found> owned;
    const auto owner = campaign::counting_owners(disk.inputs.study, work, world().size());
    for (const Found& one : found) {
        const auto finding = static_cast<std::size_t>(work[one.work].cells[one.cell].finding);
        if (owner(one.work, one.encoder, finding) == world().rank()) owned.push_back(one);
    }
    const int threads = world().size() == 1 ? 2 : 1;
    const campaign::RetentionResults results =
        campaign::retention_mpi(world(), disk.inputs, work, audit, owned, threads, never, silent);
    if (world().rank() != 0) {
        BOOST_CHECK(results.table.columns.empty() && results.families.empty() && results.micro.empty());
        return;
    }
    std::size_t at = 0;
    BOOST_REQUIRE_EQUAL(results.families.size(), work.size());
    BOOST_REQUIRE_EQUAL(results.micro.size(), work.size());
    for (std::size_t w = 0; w < work.size(); ++w) {
        std::vector<double> p;
        const std::size_t first = at;
        for (std::size_t e = 0; e < disk.inputs.study.tasks[w].encoders.size(); ++e) {
            check_encoder(disk.inputs, work, found, w, e, areas, results.table, at, p);
            BOOST_CHECK_EQUAL(results.micro[w][e], Row(results.table, at - 2).real("retention"));
        }
        BOOST_CHECK_EQUAL(results.families[w].name, "retention-margin correlation");
        BOOST_CHECK_EQUAL(results.families[w].task, disk.inputs.study.tasks[w].id);
        BOOST_CHECK_EQUAL(results.families[w].test, "bootstrap");
        BOOST_TEST(results.families[w].p == p, boost::test_tools::per_element());
        const std::vector<double> q = stats::benjamini_hochberg(p);
        std::size_t next = 0;
        for (std::size_t row = first; row < at; ++row) {
            const Row here(results.table, row);
            const std::vector<std::string>& findings = disk.inputs.study.tasks[w].findings;
            const bool tested = std::ranges::find(findings, here.text("region")) != findings.end();
            check_near(here.real("q"), tested ? q[next] : undefined, "q");
            BOOST_CHECK_EQUAL(here.integer("reject"), tested && q[next] <= 0.05);
            next += tested;
        }
        BOOST_CHECK_GE(std::ranges::count_if(p, [](double v) { return v > 0; }), 2);  // not all undefined
    }
    BOOST_CHECK_EQUAL(results.table.rows(), static_cast<std::int64_t>(at));
    const std::vector<double> area =
        campaign::evidence_areas(work[0], disk.inputs.study.tasks[0], audit.boxes);
    BOOST_CHECK_EQUAL(area.size(), 2);
    check_near(area[0], Row(results.table, 0).real("area"), "area of edema");
    BOOST_CHECK(std::isnan(area[1]));
}

BOOST_AUTO_TEST_CASE(what_is_left_out_is_counted) {
    OnDisk disk;
    disk.add_boxes("a1,edema,,,,,,\n" + std::string("elsewhere,edema,0,0,1,1,9,9\n") +
                   "a0,lesion,0,0,1,1,9,9\na1,lesion,0,0,1,1,9,9\na2,lesion,0,0,1,1,9,9\n");
    const ErasedAudit audit = disk.audit();
    const std::vector<TaskWork> work = made_work(disk.inputs);
    BOOST_REQUIRE_EQUAL(audit.tasks.size(), 2);
    for (const TaskWork& here : work) {
        const campaign::TaskErased& task = audit.tasks[here.task];
        const auto findings = disk.inputs.study.tasks[here.task].findings;
        for (const std::string& region : region_names) {
            const std::int64_t used = std::ranges::count_if(task.rows, [&](const campaign::ErasedRow& row) {
                return task.regions[row.region] == region;
            });
            BOOST_CHECK_EQUAL(used, std::ssize(expected_images(disk.inputs, here, region)));
            std::int64_t all = 0;
            for (int i = 0; i < 70; ++i) all += has_region(i, region);
            const bool is_finding = std::ranges::find(findings, region) != findings.end();
            BOOST_CHECK_EQUAL(excluded(task, "erased features of an image that is not positive", region),
                              is_finding ? all - used : 0);
        }
    }
    study::Pool pool = work[0].pool;  // counts what it holds
    for (const bool whole : {true, false}) {
        const std::size_t before = pool.exclusions.size();
        audit.count_exclusions(disk.inputs.study, work[0].task, pool);
        std::int64_t counted = 0;
        for (std::size_t i = before; i < pool.exclusions.size(); ++i) {
            BOOST_CHECK_EQUAL(pool.exclusions[i].dataset, "a");
            BOOST_CHECK_EQUAL(pool.exclusions[i].what, "erased features of an image that is not positive");
            counted += pool.exclusions[i].rows;
        }
        BOOST_CHECK_EQUAL(counted, whole ? std::ssize(audit.tasks[work[0].task].left_out) : 0);
        pool.table_row.clear();
    }
    BOOST_TEST(audit.tasks[0].regions == (std::vector<std::string>{"edema", "mass", "a scar", "lesion"}),
               boost::test_tools::per_element());
    BOOST_TEST(audit.tasks[1].regions == (std::vector<std::string>{"mass", "a scar", "edema", "lesion"}),
               boost::test_tools::per_element());
    BOOST_REQUIRE_EQUAL(audit.reports.size(), 3);
    BOOST_CHECK_EQUAL(audit.reports[1].encoder, "coarse");
    BOOST_CHECK_EQUAL(audit.reports[1].dimension, 3);
    BOOST_REQUIRE_EQUAL(audit.files.size(), 4);  // three erased files, the boxes
    BOOST_CHECK_EQUAL(audit.files[2].digest.size(), 32);
    BOOST_CHECK(audit.files[3].path.ends_with("boxes.csv"));
    std::string notes;
    for (const std::string& note : audit.notes) notes += note.substr(note.find_last_of('/') + 1) + '\n';
    BOOST_CHECK_EQUAL(notes,
                      "erased-wide.h5: its table does not know the images of 1 of its 75 rows\n"
                      "erased-coarse.h5: its table does not know the images of 1 of its 75 rows\n"
                      "erased-anchor.h5: its table does not know the images of 1 of its 75 rows\n"
                      "boxes.csv: 1 rows say that there is no box\n"
                      "boxes.csv: its table does not know the images \"elsewhere\"\n"
                      "task \"both\": 2 evidence boxes of dataset \"a\" (lesion) have no erased features\n"
                      "task \"both\": 37 of 38 erased regions of dataset \"a\" have no evidence box\n"
                      "task \"alone\": 2 evidence boxes of dataset \"a\" (lesion) have no erased features\n"
                      "task \"alone\": 61 of 62 erased regions of dataset \"a\" have no evidence box\n");
}

// The last encoder lacks the lesion of a5 and has that of a10 spoilt: both leave all encoders of both tasks,
// or are told by file, image and region.
BOOST_AUTO_TEST_CASE(a_row_that_one_encoder_lacks_leaves_all) {
    const auto spoil = [](std::size_t e, store::FeatureTable& table) {
        for (std::size_t i = 0; e == 2 && i < table.ids.size(); ++i) {
            if (table.findings[i] != "lesion") continue;
            if (table.ids[i] == "a5") table.ids[i] = "unknown too";
            if (table.ids[i] == "a10") table.values.row(static_cast<std::int64_t>(i))[7] = undefined;
        }
    };
    OnDisk strict({}, spoil);
    const std::vector<DataError> problems = strict.audit().problems(strict.inputs.study);
    BOOST_REQUIRE_EQUAL(problems.size(), 2);
    BOOST_CHECK(problems[0].place().file.ends_with("erased-anchor.h5"));
    BOOST_CHECK_EQUAL(problems[0].place().id, "a5");
    BOOST_CHECK_EQUAL(
        problems[0].fault(),
        "lacks region \"lesion\" of this image, which another encoder of the task has; it lacks 1 "
        "in all");
    BOOST_CHECK_EQUAL(problems[1].place().id, "a10");
    BOOST_CHECK_EQUAL(problems[1].fault(),
                      "the row of region \"lesion\" holds NaN or Inf or is all zero, one of 1");

    OnDisk lenient({"pool.on_missing=intersect", "pool.on_bad_row=drop"}, spoil);
    const ErasedAudit audit = lenient.audit();
    BOOST_CHECK(audit.problems(lenient.inputs.study).empty());
    for (const campaign::TaskErased& task : audit.tasks) {
        BOOST_CHECK_EQUAL(excluded(task, "missing erased features", "lesion"), 1);
        BOOST_CHECK_EQUAL(excluded(task, "bad erased features", "lesion"), 1);
        BOOST_CHECK_EQUAL(std::ranges::count_if(task.rows,
                                                [&](const campaign::ErasedRow& row) {
                                                    return task.regions[row.region] == "lesion";
                                                }),
                          12);  // of 14
    }
}

BOOST_AUTO_TEST_CASE(without_erased_features_there_are_no_rows) {
    OnDisk disk;
    disk.inputs.study.datasets[0].erased.clear();
    const ErasedAudit audit = disk.audit();
    BOOST_CHECK(audit.reports.empty() && audit.files.empty() && audit.notes.empty());
    const std::vector<TaskWork> work = made_work(disk.inputs);
    const campaign::RetentionResults results =
        campaign::retention_mpi(world(), disk.inputs, work, audit, {}, 1, never, silent);
    if (world().rank() != 0) return;
    BOOST_CHECK_EQUAL(results.table.name, "retention");
    BOOST_CHECK_EQUAL(results.table.columns.size(), 22);
    BOOST_CHECK_EQUAL(results.table.rows(), 0);
    BOOST_CHECK(results.families.empty());
    BOOST_CHECK(std::isnan(results.micro.at(0).at(2)));
}

// One rank alone: of several, one would fail and the others wait.
BOOST_AUTO_TEST_CASE(a_file_that_cannot_be_used_is_named) {
    if (world().size() > 1) return;
    const auto fails = [](const std::function<void(std::size_t, store::FeatureTable&)>& change,
                          const std::string& fault) {
        OnDisk disk({}, change);
        BOOST_CHECK_EXCEPTION(disk.audit(), DataError, [&](const DataError& error) {
            BOOST_CHECK_EQUAL(error.fault(), fault);
            return error.place().file.ends_with("erased-coarse.h5");
        });
    };
    fails(
        [](std::size_t e, store::FeatureTable& table) {
            if (e != 1) return;
            table.findings.clear();
            for (std::size_t i = 0; i < table.ids.size(); ++i) table.ids[i] += "#" + std::to_string(i);
        },
        "has no /finding");
    fails(
        [](std::size_t e, store::FeatureTable& table) {
            if (e == 1) table.findings[3] = " ";
        },
        "the region is blank");
    OnDisk disk({}, [](std::size_t e, store::FeatureTable& table) {
        if (e == 1) table.values = Matrix<double>(std::ssize(table.ids), 2);
        for (std::int64_t i = 0; e == 1 && i < table.values.rows(); ++i)
            std::ranges::fill(table.values.row(i), 1);
    });
    BOOST_CHECK_EXCEPTION(disk.audit(), DataError, [](const DataError& error) {
        return error.fault().starts_with("has 2 columns where ") &&
               error.fault().ends_with("coarse-a.h5 has 3");
    });
}

BOOST_AUTO_TEST_SUITE_END()
