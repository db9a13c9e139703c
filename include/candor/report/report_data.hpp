#pragma once

/// What a report is made of: who took part, and the tables of the results file. Filled in by the caller, who
/// knows study files; nothing here is computed.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "candor/report/overview.hpp"
#include "candor/store/table.hpp"

namespace candor::report {

struct EncoderFacts {
    std::string id, label, domain, objective;  ///< label: as it is shown, never empty
    std::optional<double> parameters;
    std::optional<std::int64_t> year;
    bool anchor = false;
    std::vector<std::string> tasks;  ///< ids
};

struct DatasetFacts {
    std::string id, label, reference;  ///< reference: id of the dataset that answers its queries, or empty
    std::vector<std::string> tasks;    ///< ids
    std::int64_t images = 0, patients = 0;  ///< that asked, in any task
};

struct TaskFacts {
    std::string id, label, domain;
    std::vector<std::string> findings;  ///< in the study's order
    std::vector<std::string> context;   ///< columns that make a context
};

struct ReportData {
    Overview overview;
    double alpha = 0.05;
    std::vector<EncoderFacts> encoders;
    std::vector<DatasetFacts> datasets;
    std::vector<TaskFacts> tasks;  ///< one for each of `overview.tasks`, in the same order
    std::map<std::string, store::ResultTable> tables;

    /// The table of that name, or nullptr where the file has none or it has no rows.
    const store::ResultTable* table(const std::string& name) const;
    /// How encoder `id` is shown: its label, or the id where two share a label.
    std::string encoder(const std::string& id) const;
    /// @pre a task of the study.
    const TaskFacts& task(const std::string& id) const;
    bool is_anchor(const std::string& id) const;
};

/// The encoders of `task` that have a task row, sorted as everywhere: by micro D, undefined ones behind,
/// anchors last.
std::vector<std::string> sorted_encoders(const ReportData& data, const std::string& task);

/// Row of `table` where the named text columns have these values, or nothing.
std::optional<std::size_t> find_row(const store::ResultTable& table,
                                    const std::vector<std::pair<std::string, std::string>>& values);

}  // namespace candor::report
