#include "candor/report/report_data.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "candor/base/error.hpp"
#include "candor/report/rate.hpp"
#include "candor/report/table_columns.hpp"

namespace candor::report {

const store::ResultTable* ReportData::table(const std::string& name) const {
    const auto found = tables.find(name);
    return found == tables.end() || found->second.rows() == 0 ? nullptr : &found->second;
}

std::string ReportData::encoder(const std::string& id) const {
    const auto at = std::ranges::find(encoders, id, &EncoderFacts::id);
    if (at == encoders.end()) return id;
    return std::ranges::count(encoders, at->label, &EncoderFacts::label) > 1 ? id : at->label;
}

const TaskFacts& ReportData::task(const std::string& id) const {
    const auto at = std::ranges::find(tasks, id, &TaskFacts::id);
    CANDOR_REQUIRE(at != tasks.end(), id);
    return *at;
}

bool ReportData::is_anchor(const std::string& id) const {
    const auto at = std::ranges::find(encoders, id, &EncoderFacts::id);
    return at != encoders.end() && at->anchor;
}

std::vector<std::string> sorted_encoders(const ReportData& data, const std::string& task) {
    const store::ResultTable& rows = data.overview.task_rows;
    std::vector<std::tuple<bool, bool, double, std::size_t>> order;
    for (const std::size_t i : rows_of(rows, task)) {
        if (texts(rows, "level")[i] != "micro") continue;
        const double shown = rate_of(rows, i).shown;
        const bool undefined = std::isnan(shown);
        order.emplace_back(integers(rows, "anchor")[i] != 0, undefined, undefined ? 0.0 : shown, i);
    }
    std::ranges::sort(order);
    std::vector<std::string> ids;
    for (const auto& entry : order) ids.push_back(texts(rows, "encoder")[std::get<3>(entry)]);
    return ids;
}

std::optional<std::size_t> find_row(const store::ResultTable& table,
                                    const std::vector<std::pair<std::string, std::string>>& values) {
    std::vector<const std::vector<std::string>*> columns;
    for (const auto& [name, value] : values) columns.push_back(&texts(table, name));
    for (std::size_t i = 0; i < static_cast<std::size_t>(table.rows()); ++i) {
        bool all = true;
        for (std::size_t c = 0; c < values.size() && all; ++c) all = (*columns[c])[i] == values[c].second;
        if (all) return i;
    }
    return std::nullopt;
}

}  // namespace candor::report
