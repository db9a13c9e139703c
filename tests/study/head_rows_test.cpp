#include "candor/study/head_rows.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>

#include "candor/base/hash.hpp"
#include "study/sample.hpp"

BOOST_AUTO_TEST_SUITE(study_head_rows)

using namespace candor;
using namespace candor::study;
using Ids = std::set<std::string>;

namespace {

struct Made {
    Study study;
    std::vector<Table> tables;
    Pool pool;
    HeadRows draft, rows;
};

Made make(const std::string& csv, const std::string& heads = "", const std::string& task = "",
          const std::string& pool = "") {
    Made made{parse_study("f.toml", sample_text("", pool, task) + "[heads]\n" + heads), {}, {}, {}, {}};
    made.tables.push_back(sample_table(made.study, csv));
    const Task& only = made.study.tasks[0];
    made.pool = final_pool(made.study, only, draft_pool(made.study, only, made.tables), {});
    made.draft = draft_head_rows(made.study, only, made.tables).at(0);
    made.rows = final_head_rows(made.study, only, made.tables, made.draft, {}, {}, made.pool);
    return made;
}

Ids images(const Made& made, const HeadSide& side) {
    Ids ids;
    for (const TableRow row : side.rows)
        ids.insert(made.tables[0].image[static_cast<std::size_t>(row.value)]);
    return ids;
}

Ids tested(const Made& made) {
    Ids ids;
    for (const PoolRow row : made.rows.test) ids.insert(made.pool.image[static_cast<std::size_t>(row.value)]);
    return ids;
}

std::int64_t excluded(const HeadRows& rows, const std::string& what) {
    std::int64_t n = 0;
    for (const Exclusion& one : rows.exclusions) {
        if (one.what == "training: " + what) n += one.rows;
    }
    return n;
}

/// `n` rows, patient p<i / images>, split by `split(i)`, label i % 2.
template <class Split>
std::string table_of(int n, int images, Split split) {
    std::string csv = "image_id,patient_id,split,edema\n";
    for (int i = 0; i < n; ++i) {
        csv += "i" + std::to_string(i) + ",p" + std::to_string(i / images) + ',' + split(i) + ',' +
               std::to_string(i % 2) + '\n';
    }
    return csv;
}

bool in_key_order(const Made& made, const HeadSide& side) {
    return std::ranges::is_sorted(side.rows, {}, [&](TableRow row) {
        return image_key(made.tables[0].image[static_cast<std::size_t>(row.value)], made.study.seed);
    });
}

}  // namespace

BOOST_AUTO_TEST_CASE(splits_of_the_table) {
    const Made made = make(
        "image_id,patient_id,split,edema\na,1,train,1\nb,2,train,0\nc,3,val,1\nd,4,test,0\ne,5,test,1\nf,6,"
        "other,1\n"
        "g,7,train,-1\nh,8,train,\n",
        "", "labels = { uncertain = \"positive\" }\n");
    BOOST_CHECK(images(made, made.rows.training) == (Ids{"a", "b", "g", "h"}));
    BOOST_CHECK(images(made, made.rows.validation) == (Ids{"c"}));
    BOOST_CHECK(tested(made) == (Ids{"d", "e"}));
    BOOST_TEST(made.rows.why_none == "");
    std::map<std::string, int> label;
    for (std::size_t i = 0; i < made.rows.training.rows.size(); ++i) {
        const auto row = static_cast<std::size_t>(made.rows.training.rows[i].value);
        label[made.tables[0].image[row]] = made.rows.training.labels[0][i];
    }
    BOOST_CHECK(label == (std::map<std::string, int>{{"a", 1}, {"b", 0}, {"g", 1}, {"h", -1}}));
}

// Without a validation split one patient in ten is set aside, all his rows together.
BOOST_AUTO_TEST_CASE(validation_is_set_aside_by_patient) {
    const Made made = make(table_of(900, 3, [](int i) { return i < 600 ? "train" : "test"; }));
    Ids trained, validating;
    for (const auto& [side, patients] :
         {std::pair(&made.rows.training, &trained), std::pair(&made.rows.validation, &validating)}) {
        BOOST_TEST(in_key_order(made, *side));
        for (const TableRow row : side->rows)
            patients->insert(made.tables[0].patient[static_cast<std::size_t>(row.value)]);
    }
    BOOST_TEST(made.rows.training.rows.size() + made.rows.validation.rows.size() == 600u);
    BOOST_TEST(trained.size() + validating.size() == 200u);  // no patient on both sides
    for (const std::string& patient : validating) BOOST_TEST(image_key(patient, made.study.seed) % 10 == 0u);
    BOOST_TEST(validating.size() > 5u);
    BOOST_TEST(made.rows.test.size() == 300u);
}

BOOST_AUTO_TEST_CASE(caps_take_the_first_in_key_order) {
    const auto split = [](int i) { return i < 500 ? "train" : i < 600 ? "val" : "test"; };
    const Made all = make(table_of(900, 1, split));
    const Made capped = make(table_of(900, 1, split), "train_rows = 40\ntest_rows = 30\n");
    BOOST_REQUIRE_EQUAL(capped.rows.training.rows.size(), 40u);
    BOOST_REQUIRE_EQUAL(capped.rows.validation.rows.size(), 30u);
    BOOST_REQUIRE_EQUAL(capped.rows.test.size(), 30u);
    for (std::size_t i = 0; i < 40; ++i)
        BOOST_TEST(capped.rows.training.rows[i].value == all.rows.training.rows[i].value);
    for (std::size_t i = 0; i < 30; ++i) BOOST_TEST(capped.rows.test[i].value == all.rows.test[i].value);
    BOOST_TEST(excluded(capped.rows, "row cap") == 460);
    BOOST_TEST(excluded(capped.rows, "row cap of validation") == 70);
    BOOST_TEST(capped.rows.exclusions.back().what == "heads: row cap of test");
    BOOST_TEST(capped.rows.exclusions.back().rows == 270);
}

BOOST_AUTO_TEST_CASE(a_table_without_splits_is_divided_by_patient) {
    std::string csv = "image_id,patient_id,edema\n";
    for (int i = 0; i < 3000; ++i)
        csv += "i" + std::to_string(i) + ",p" + std::to_string(i / 2) + ',' + std::to_string(i % 2) + '\n';
    const Made made = make(csv, "split = [0.6, 0.1, 0.3]\n");
    const std::size_t parts[] = {made.rows.training.rows.size(), made.rows.validation.rows.size(),
                                 made.rows.test.size()};
    BOOST_TEST(parts[0] + parts[1] + parts[2] == 3000u);
    // 1,500 patients: four standard deviations of a binomial share, two images each.
    const double shares[] = {0.6, 0.1, 0.3};
    for (int i = 0; i < 3; ++i) {
        BOOST_TEST(std::abs(static_cast<double>(parts[i]) - 3000 * shares[i]) <
                   2 * 4 * std::sqrt(1500 * shares[i] * (1 - shares[i])));
    }
    std::set<std::string> patients[3];
    for (const TableRow row : made.rows.training.rows)
        patients[0].insert(made.tables[0].patient[static_cast<std::size_t>(row.value)]);
    for (const TableRow row : made.rows.validation.rows)
        patients[1].insert(made.tables[0].patient[static_cast<std::size_t>(row.value)]);
    for (const PoolRow row : made.rows.test)
        patients[2].insert(
            made.pool
                .patients[static_cast<std::size_t>(made.pool.patient[static_cast<std::size_t>(row.value)])]);
    BOOST_TEST(patients[0].size() + patients[1].size() + patients[2].size() == 1500u);
}

// The first rows in key order hold patients of every part in their shares, though each image is a patient.
BOOST_AUTO_TEST_CASE(a_pool_of_few_rows_has_its_share_of_test_rows) {
    std::string csv = "image_id,edema\n";
    for (int i = 0; i < 4000; ++i) csv += "i" + std::to_string(i) + ',' + std::to_string(i % 2) + '\n';
    const Made made = make(csv, "split = [0.6, 0.1, 0.3]\n", "", "rows = 1000\n");
    BOOST_TEST(made.pool.rows() == 1000);
    // Four standard deviations of a binomial share.
    BOOST_TEST(std::abs(static_cast<double>(made.rows.test.size()) - 300) < 4 * std::sqrt(1000 * 0.3 * 0.7));
}

BOOST_AUTO_TEST_CASE(leaking_patients_are_not_trained_on) {
    const std::string csv =
        "image_id,patient_id,split,edema\na,1,train,1\nb,2,train,0\nc,2,test,1\nd,3,test,0\ne,4,train,1\nf,4,"
        "val,1\n";
    const Made made = make(csv, "", "", "on_leak = \"drop\"\n");
    BOOST_CHECK(images(made, made.rows.training) == (Ids{"a"}));
    BOOST_TEST(made.rows.validation.rows.empty());
    BOOST_TEST(excluded(made.rows, "patient in two splits") == 3);
}

BOOST_AUTO_TEST_CASE(faults_leave_and_contexts_are_those_of_the_pool) {
    Made made = make(
        "image_id,patient_id,split,view,edema\na,1,train,AP,1\nb,2,train,PA,0\nc,3,val,AP,1\nd,4,test,AP,"
        "0\ne,5,test,AP,1\n"
        "g,7,train,,0\n",
        "", "context = [\"view\"]\n");
    const HeadSide& side = made.rows.training;
    for (std::size_t i = 0; i < side.rows.size(); ++i) {
        const std::string& image = made.tables[0].image[static_cast<std::size_t>(side.rows[i].value)];
        BOOST_TEST(side.context[i] == (image == "a" ? 0 : -1));  // PA is in no pool, blank is none
    }
    FeatureFaults faults;
    faults.missing = {true, false, false};
    faults.bad = {true, false, true};
    const HeadRows left =
        final_head_rows(made.study, made.study.tasks[0], made.tables, made.draft, faults, {}, made.pool);
    BOOST_REQUIRE_EQUAL(left.training.rows.size(), 1u);
    BOOST_TEST(left.training.rows[0].value == made.draft.training.rows[1].value);
    BOOST_TEST(left.training.labels[0].size() == 1u);
    BOOST_TEST(excluded(left, "missing features") == 1);
    BOOST_TEST(excluded(left, "bad features") == 1);
}

BOOST_AUTO_TEST_CASE(where_there_are_no_heads_it_is_said_why) {
    const std::string plain = "image_id,edema\na,1\nb,0\n",
                      split = "image_id,split,edema\na,train,1\nb,test,0\n";
    BOOST_TEST(make(plain).rows.why_none == "it has no splits and [heads] split draws none");
    BOOST_TEST(make(split, "kinds = []\n").rows.why_none == "no kinds of heads are asked for");
    BOOST_TEST(make(split, "", "splits = [\"train\", \"test\"]\n").rows.why_none ==
               "its split \"train\" is in the pool");
    BOOST_TEST(make("image_id,split,edema\na,test,1\nb,test,0\n").rows.why_none ==
               "it has no split \"train\"");
    BOOST_TEST(make(split).rows.why_none == "");
}

BOOST_AUTO_TEST_SUITE_END()
