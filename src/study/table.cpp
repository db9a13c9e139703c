#include "candor/study/table.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "candor/base/error.hpp"
#include "candor/base/text.hpp"
#include "candor/study/csv.hpp"

namespace candor::study {

namespace {

constexpr std::size_t headers_in_a_message = 20;

/// `name` in lower case without blanks, underscores and hyphens: what people write for the same column.
std::string folded(std::string_view name) {
    std::string text;
    for (const char c : name) {
        if (c == ' ' || c == '_' || c == '-') continue;
        text += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
    return text;
}

DataError missing_column(const std::string& file, const Csv& csv, const std::string& name,
                         const std::string& near) {
    return {{file, 1, name},
            "there is no such column; the header names " + first_names(csv.header, headers_in_a_message),
            near.empty() ? "" : "did you mean \"" + near + "\"?"};
}

std::optional<std::size_t> find_column(const Csv& csv, const std::string& name) {
    const auto at = std::ranges::find(csv.header, name);
    if (at == csv.header.end()) return std::nullopt;
    return static_cast<std::size_t>(at - csv.header.begin());
}

std::string alike(const Csv& csv, const std::string& name) {
    const auto at =
        std::ranges::find_if(csv.header, [&](const auto& h) { return folded(h) == folded(name); });
    return at == csv.header.end() ? std::string() : *at;
}

std::size_t need_column(const std::string& file, const Csv& csv, const std::string& name) {
    if (const auto column = find_column(csv, name)) return *column;
    const std::string same = alike(csv, name);
    throw missing_column(file, csv, name, same.empty() ? nearest_name(name, csv.header) : same);
}

/// A column that a table may lack: but not where the study names it otherwise than by its default, nor where
/// the header holds another spelling of it ("Split"), which would pass for a table without splits.
std::optional<std::size_t> optional_column(const std::string& file, const Csv& csv, const std::string& name,
                                           const std::string& by_default) {
    const auto column = find_column(csv, name);
    if (column) return column;
    const std::string same = alike(csv, name);
    if (name != by_default || !same.empty()) throw missing_column(file, csv, name, same);
    return std::nullopt;
}

std::vector<std::string> text_column(const Csv& csv, std::size_t column) {
    std::vector<std::string> cells;
    cells.reserve(csv.records.size());
    for (const auto& record : csv.records) cells.push_back(record[column]);
    return cells;
}

/// Label of a trimmed cell. Software that keeps a column with blanks as numbers writes 1.0, 0.0 and -1.0.
std::optional<Label> label_of(std::string_view cell) {
    if (cell.empty()) return Label::blank;
    if (cell == "1" || cell == "1.0") return Label::positive;
    if (cell == "0" || cell == "0.0") return Label::negative;
    if (cell == "-1" || cell == "-1.0") return Label::uncertain;
    return std::nullopt;
}

std::vector<Label> label_column(const std::string& file, const Csv& csv, std::size_t column) {
    std::vector<Label> labels;
    labels.reserve(csv.records.size());
    for (std::size_t r = 0; r < csv.records.size(); ++r) {
        const std::string& cell = csv.records[r][column];
        const auto label = label_of(cell);
        if (!label) {
            throw DataError(
                {file, csv.line[r], csv.header[column]},
                "the label \"" + cell + "\" is none of 1, 0, -1 and blank",
                "write 1 for positive, 0 for negative, -1 for uncertain, nothing for not mentioned");
        }
        labels.push_back(*label);
    }
    return labels;
}

void require_unique_images(const Table& table, const std::string& column) {
    std::unordered_map<std::string_view, std::size_t> first;
    for (std::size_t r = 0; r < table.image.size(); ++r) {
        if (table.image[r].empty()) {
            throw DataError({table.file, table.line[r], column}, "the image id is blank",
                            "give every image an id");
        }
        const auto [at, inserted] = first.try_emplace(table.image[r], r);
        if (!inserted) {
            throw DataError({table.file, table.line[r], column, table.image[r]},
                            "the image id is in row " + std::to_string(table.line[at->second]) + " already",
                            "image ids must be unique in a table");
        }
    }
}

}  // namespace

Table parse_table(const Dataset& dataset, std::string_view bytes, const std::vector<std::string>& findings,
                  const std::vector<std::string>& contexts) {
    const Columns defaults;
    const std::string& file = dataset.table;
    const Csv csv = parse_csv(file, bytes);
    if (csv.records.empty())
        throw DataError({file}, "holds a header and no rows", "give it one row an image");

    Table table;
    table.file = file;
    table.line = csv.line;
    table.image = text_column(csv, need_column(file, csv, dataset.columns.image));
    require_unique_images(table, dataset.columns.image);
    const auto patient = optional_column(file, csv, dataset.columns.patient, defaults.patient);
    table.has_patient_column = patient.has_value();
    table.patient = patient ? text_column(csv, *patient) : std::vector<std::string>(table.image.size());
    if (const auto split = optional_column(file, csv, dataset.columns.split, defaults.split)) {
        table.split = text_column(csv, *split);
    }
    for (const std::string& finding : findings) {
        table.labels[finding] = label_column(file, csv, need_column(file, csv, finding));
    }
    for (const std::string& context : contexts) {
        if (context != "dataset") table.contexts[context] = text_column(csv, need_column(file, csv, context));
    }
    return table;
}

}  // namespace candor::study
