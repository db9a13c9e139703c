#include "candor/synth/images.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <map>
#include <set>

using namespace candor;
using namespace candor::synth;

namespace {

constexpr std::int64_t rows = 20'000;

const Subject chest{{0}, {0}, {"a", "b", "c", "d"}, false};
const Subject species{{0}, {0}, {"a", "b", "c", "d", "e", "f", "g"}, true};
const DatasetShape site{"site", rows, {"AP", "PA", "lateral"}, true, true, {"d"}, {}, false};

Images draw(const Subject& subject, std::int64_t count = rows, std::uint64_t seed = 1) {
    return draw_images(subject, site, 0, count, seed, nullptr, {});
}

/// A share of N rows drawn by patients of 1.7 images is within 5 standard errors of sqrt(3 p (1 - p) / N), a
/// square of at most 3 images a patient that are alike.
void check_share(std::int64_t count, std::int64_t of, double share) {
    const double found = static_cast<double>(count) / static_cast<double>(of);
    BOOST_TEST(std::abs(found - share) < 5 * std::sqrt(3 * share * (1 - share) / static_cast<double>(of)),
               found << " instead of " << share);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(synth_images)

BOOST_AUTO_TEST_CASE(shares_are_those_that_are_stated) {
    const Images images = draw(chest);
    BOOST_REQUIRE(images.rows() == rows);
    std::map<Split, std::int64_t> splits;
    std::map<Twin, std::int64_t> twins;
    std::map<int, std::int64_t> contexts;
    std::map<study::Label, std::int64_t> labels;
    std::int64_t unnamed = 0, present = 0;
    std::set<std::string> ids;
    for (std::int64_t row = 0; row < rows; ++row) {
        const auto at = static_cast<std::size_t>(row);
        ++splits[images.split[at]];
        ++twins[images.twin[at]];
        ++contexts[images.context[at]];
        ++labels[stated_label(images, chest, site, row, 1, 1)];
        unnamed += images.patient[at] < 0;
        present += images.present[at] >> 1 & 1;
        ids.insert(images.id(row));
    }
    BOOST_TEST(std::ssize(ids) == rows);
    check_share(splits[Split::train], rows, train_share);
    check_share(splits[Split::val], rows, val_share);
    check_share(twins[Twin::exact], rows, twin_share / 2);
    check_share(twins[Twin::near], rows, twin_share / 2);
    check_share(contexts[-1], rows, blank_context_share);
    check_share(contexts[0], rows, (1 - blank_context_share) / 2);
    check_share(contexts[2], rows, (1 - blank_context_share) / 4);
    check_share(unnamed, rows, blank_patient_share);
    check_share(present, rows, prevalence(chest, 1));
    check_share(labels[study::Label::uncertain], rows, uncertain_share);
    check_share(labels[study::Label::blank], rows, blank_share);
    check_share(labels[study::Label::positive], rows,
                prevalence(chest, 1) * (1 - uncertain_share - blank_share));
}

BOOST_AUTO_TEST_CASE(a_patient_has_one_split_and_a_twin_is_the_row_before_it) {
    const Images images = draw(chest);
    std::map<std::int64_t, Split> split_of;
    std::int64_t patients_with_more = 0;
    for (std::int64_t row = 0; row < rows; ++row) {
        const auto at = static_cast<std::size_t>(row);
        if (images.patient[at] >= 0) {
            const auto [known, inserted] = split_of.emplace(images.patient[at], images.split[at]);
            patients_with_more += !inserted;
            BOOST_REQUIRE(known->second == images.split[at]);
        }
        if (images.twin[at] == Twin::none) continue;
        BOOST_REQUIRE(images.twin[at - 1] == Twin::none);
        BOOST_REQUIRE(images.patient[at] == images.patient[at - 1]);
        BOOST_REQUIRE(images.context[at] == images.context[at - 1]);
        BOOST_REQUIRE(images.present[at] == images.present[at - 1]);
        for (std::size_t f = 0; f < 4; ++f) {
            BOOST_REQUIRE(stated_label(images, chest, site, row, f, 1) ==
                          stated_label(images, chest, site, row - 1, f, 1));
        }
    }
    BOOST_TEST(patients_with_more > rows / 4);
}

BOOST_AUTO_TEST_CASE(labels_never_contradict_what_is_present) {
    const Images images = draw(chest);
    for (std::int64_t row = 0; row < rows; ++row) {
        for (std::size_t f = 0; f < 4; ++f) {
            const study::Label label = stated_label(images, chest, site, row, f, 1);
            const bool present = images.present[static_cast<std::size_t>(row)] >> f & 1;
            if (f == 3) BOOST_REQUIRE(label == study::Label::blank);  // unknown here
            if (label == study::Label::positive) BOOST_REQUIRE(present);
            if (label == study::Label::negative) BOOST_REQUIRE(!present);
        }
    }
}

BOOST_AUTO_TEST_CASE(images_depend_on_seed_and_row_and_not_on_how_many_there_are) {
    const Images many = draw(chest), few = draw(chest, 100), other = draw(chest, 100, 2);
    std::int64_t differ = 0;
    for (std::size_t i = 0; i < 100; ++i) {
        BOOST_REQUIRE(many.present[i] == few.present[i]);
        BOOST_REQUIRE(many.patient[i] == few.patient[i]);
        differ += few.present[i] != other.present[i];
    }
    BOOST_TEST(differ > 20);
}

BOOST_AUTO_TEST_CASE(kinds_exclude_each_other_and_stay_in_their_superclass) {
    const Images images = draw(species, 2'000);
    BOOST_TEST(images.kinds == 7);
    BOOST_TEST(draw(species, 100).kinds == 5);  // too few images for more
    for (std::int64_t row = 0; row < images.rows(); ++row) {
        std::int64_t positives = 0;
        for (std::size_t f = 0; f < 7; ++f) {
            positives += f != 3 && stated_label(images, species, site, row, f, 1) == study::Label::positive;
        }
        const auto kind = images.kind[static_cast<std::size_t>(row)];
        BOOST_REQUIRE(positives == (kind != 3));  // finding d is unknown at this site
        BOOST_REQUIRE(images.context[static_cast<std::size_t>(row)] == kind / 5);
    }
}

BOOST_AUTO_TEST_CASE(a_description_takes_images_of_its_reference_that_have_what_is_asked) {
    const Images all = draw(chest);
    const DatasetShape boxes{"boxes", 50, {}, true, false, {}, {}, true};
    const std::size_t asked[] = {0, 2};
    const Images some = draw_images(chest, boxes, 1, 50, 1, &all, asked);
    BOOST_REQUIRE(some.rows() == 50);
    for (std::int64_t i = 0; i < 50; ++i) {
        const std::int64_t row = some.source_row[static_cast<std::size_t>(i)];
        BOOST_TEST(some.id(i) == all.id(row));
        BOOST_TEST(some.patient[static_cast<std::size_t>(i)] == all.patient[static_cast<std::size_t>(row)]);
        bool positive = false;
        for (const std::size_t f : asked)
            positive |= stated_label(some, chest, boxes, i, f, 1) == study::Label::positive;
        BOOST_TEST(positive);
        for (std::size_t f = 0; f < 3; ++f) {
            BOOST_TEST(
                (stated_label(some, chest, boxes, i, f, 1) == stated_label(all, chest, site, row, f, 1)));
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
