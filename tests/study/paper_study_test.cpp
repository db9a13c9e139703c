// The study file of the paper (inputs/paper) says what the paper says of itself, and does not rot.

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>

#include "study/sample.hpp"

BOOST_AUTO_TEST_SUITE(study_paper_study)

using namespace candor;
using namespace candor::study;

namespace {

Study paper() {
    const std::string file = CANDOR_SOURCE "/inputs/paper/study.toml";
    std::ifstream in(file, std::ios::binary);
    return parse_study(file, std::string(std::istreambuf_iterator<char>(in), {}));
}

std::int64_t pairs_of(const Task& task) {
    const auto n = static_cast<std::int64_t>(task.encoders.size());
    return n * (n - 1) / 2;
}

}  // namespace

BOOST_AUTO_TEST_CASE(counts_are_those_of_the_paper) {
    const Study study = paper();
    BOOST_CHECK_EQUAL(study.seed, 42);
    BOOST_CHECK_EQUAL(study.op.k, 5);
    BOOST_CHECK_EQUAL(study.op.bank_cap, 4000);
    BOOST_CHECK(study.op.candidates == Rule::equal);
    BOOST_CHECK_EQUAL(study.encoders.size(), 22);
    BOOST_CHECK_EQUAL(std::ranges::count_if(study.encoders, &Encoder::anchor), 1);
    BOOST_CHECK_EQUAL(study.datasets.size(), 20);

    std::map<std::string, const Task*> tasks;
    std::vector<std::string> domains;
    for (const Task& task : study.tasks) {
        tasks[task.id] = &task;
        domains.push_back(task.domain);
    }
    std::ranges::sort(domains);
    domains.erase(std::ranges::unique(domains).begin(), domains.end());
    BOOST_CHECK_EQUAL(domains.size(), 7);

    // "On chest 655 of 660 overlap": encoder pairs times findings. "All 268 encoder pairs across dermatology,
    // fundus, histopathology, and mammography".
    BOOST_CHECK_EQUAL(pairs_of(*tasks.at("chest")) * std::ssize(tasks.at("chest")->findings), 660);
    std::int64_t medical = 0;
    for (const char* id : {"skin", "fundus-dr", "fundus-glaucoma", "histopathology", "mammography"}) {
        medical += pairs_of(*tasks.at(id)) * std::ssize(tasks.at(id)->findings);
    }
    BOOST_CHECK_EQUAL(medical, 268);
    BOOST_CHECK_EQUAL(tasks.at("birds")->findings.size(), 200);
    BOOST_CHECK_EQUAL(tasks.at("aircraft")->findings.size(), 100);
}

BOOST_AUTO_TEST_CASE(every_encoder_and_dataset_is_used_and_every_panel_has_the_anchor) {
    const Study study = paper();
    std::vector<bool> encoder(study.encoders.size()), dataset(study.datasets.size());
    for (const Task& task : study.tasks) {
        BOOST_TEST_CONTEXT(task.id) {
            for (const std::size_t e : task.encoders) encoder[e] = true;
            for (const std::size_t d : task.datasets) dataset[d] = true;
            BOOST_CHECK_EQUAL(
                std::ranges::count_if(task.encoders, [&](std::size_t e) { return study.encoders[e].anchor; }),
                1);
            std::vector<std::string> findings = task.findings;
            std::ranges::sort(findings);
            BOOST_CHECK(std::ranges::adjacent_find(findings) == findings.end());
        }
    }
    BOOST_CHECK_EQUAL(std::ranges::count(encoder, false), 0);
    BOOST_CHECK_EQUAL(std::ranges::count(dataset, false), 0);
    for (const Dataset& of : study.datasets) {
        BOOST_CHECK_EQUAL(of.boxes.empty(), of.erased.empty());
        const bool asks_mimic = of.id == "ms-cxr" || of.id == "rsna";
        BOOST_CHECK_EQUAL(of.reference, asks_mimic ? "mimic-cxr" : "");
    }
}

BOOST_AUTO_TEST_SUITE_END()
