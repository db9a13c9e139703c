#pragma once

// Small studies and tables for the tests of this room.

#include <boost/test/unit_test.hpp>
#include <functional>
#include <string>
#include <vector>

#include "candor/base/error.hpp"
#include "candor/study/pool.hpp"
#include "candor/study/study.hpp"
#include "candor/study/table.hpp"

namespace candor::study {

/// Holds for an error whose line reads exactly so.
template <class E>
std::function<bool(const E&)> reads(const std::string& line) {
    return [line](const E& error) {
        BOOST_CHECK_EQUAL(error.what(), line);
        return error.what() == line;
    };
}

/// A study of one encoder, one dataset "site" and one task "chest" with finding "edema", lines added to the
/// operator, the pool and the task.
inline std::string sample_text(const std::string& op = "", const std::string& pool = "",
                               const std::string& task = "") {
    return "[study]\nname = \"sample\"\n[operator]\n" + op + "\n[pool]\n" + pool +
           "\n[[encoder]]\nid = \"dino\"\n"
           "[[dataset]]\nid = \"site\"\ntable = \"site.csv\"\nfeatures = \"{encoder}/{dataset}.h5\"\n"
           "[[task]]\nid = \"chest\"\ndatasets = [\"site\"]\nfindings = [\"edema\"]\n" +
           task + '\n';
}

inline Study sample(const std::string& op = "", const std::string& pool = "", const std::string& task = "") {
    return parse_study("f.toml", sample_text(op, pool, task));
}

/// The table of the sample's dataset, with the columns that its only task asks for.
inline Table sample_table(const Study& study, const std::string& bytes) {
    return parse_table(study.datasets[0], bytes, study.tasks[0].findings, study.tasks[0].context);
}

/// The final pool of the sample, no feature faults.
inline Pool sample_pool(const Study& study, const std::string& bytes) {
    const std::vector<Table> tables{sample_table(study, bytes)};
    return final_pool(study, study.tasks[0], draft_pool(study, study.tasks[0], tables), {});
}

}  // namespace candor::study
