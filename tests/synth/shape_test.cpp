#include "candor/synth/shape.hpp"

#include <boost/test/unit_test.hpp>
#include <numeric>
#include <set>

#include "candor/base/error.hpp"

using namespace candor;
using namespace candor::synth;

namespace {

study::Study study_of(const Shape& shape) {
    return study::parse_study("study.toml", shape.text);
}

std::int64_t sum(const std::vector<std::int64_t>& counts) {
    return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

}  // namespace

BOOST_AUTO_TEST_SUITE(synth_shape)

BOOST_AUTO_TEST_CASE(the_paper_has_the_paper_s_images) {
    const Shape shape = shape_named("paper");
    BOOST_TEST(sum(images_at(shape, 1)) == 605'443);
    BOOST_TEST(images_at(shape, 1)[0] == 89'845);  // the five largest are cut alike
    BOOST_TEST(images_at(shape, 1)[1] == 89'845);
    BOOST_TEST(images_at(shape, 2)[0] == 2 * 89'845);
    // No dataset has fewer than 400 images.
    for (const std::int64_t images : images_at(shape, 1e-9)) BOOST_TEST(images == 400);
}

BOOST_AUTO_TEST_CASE(small_datasets_stay_what_they_are) {
    BOOST_TEST(images_at(shape_named("small"), 0.001)[2] == 60);
    BOOST_TEST(images_at(shape_named("small"), 1)[0] == 1'200);
}

BOOST_AUTO_TEST_CASE(an_unknown_shape_names_the_nearest) {
    BOOST_CHECK_EXCEPTION(shape_named("papers"), UsageError, [](const UsageError& error) {
        return error.subject() == "--shape papers" && error.rule().ends_with("did you mean paper?");
    });
    BOOST_CHECK_EXCEPTION(shape_named("x"), UsageError, [](const UsageError& error) {
        return error.rule().ends_with("there are paper, small");
    });
}

BOOST_AUTO_TEST_CASE(a_subject_is_what_tasks_and_references_join) {
    const Shape shape = shape_named("paper");
    const std::vector<Subject> subjects = subjects_of(study_of(shape), shape);
    BOOST_TEST(subjects.size() ==
               8u);  // chest, histopathology, birds, aircraft, two of the fundus, skin, mammography
    BOOST_TEST(subjects[0].datasets.size() == 8u);
    BOOST_TEST(subjects[0].findings.size() == 12u);
    BOOST_TEST(subjects[0].encoders.size() == 11u);
    BOOST_TEST(!subjects[0].exclusive);
    BOOST_TEST(subjects[1].encoders.size() == 15u);
    BOOST_TEST(subjects[2].findings.size() == 200u);
    BOOST_TEST(subjects[2].exclusive);
    std::set<std::size_t> datasets;
    for (const Subject& subject : subjects) datasets.insert(subject.datasets.begin(), subject.datasets.end());
    BOOST_TEST(datasets.size() == 20u);
}

BOOST_AUTO_TEST_SUITE_END()
