#include "candor/report/selection.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <type_traits>
#include <variant>

#include "candor/base/error.hpp"
#include "candor/base/text.hpp"

namespace candor::report {

namespace {

const store::Column& column_of(const store::ResultTable& table, const std::string& name, const char* option) {
    if (const store::Column* column = table.find(name)) return *column;
    std::vector<std::string> known;
    for (const store::Column& column : table.columns) known.push_back(column.name);
    const std::string near = nearest_name(name, known);
    throw UsageError(
        option, "table " + table.name + " has no column \"" + name + "\"; " +
                    (near.empty() ? "it has " + join_text(known, ", ") : "did you mean \"" + near + "\"?"));
}

template <class T>
bool same_number(T stored, double asked) {
    return static_cast<double>(stored) == asked ||
           (std::isnan(static_cast<double>(stored)) && std::isnan(asked));
}

/// Clears keep[i] where row i does not meet `condition`.
void narrow(const store::ResultTable& table, const Condition& condition, std::vector<bool>& keep) {
    const store::Column& column = column_of(table, condition.column, "--where");
    const auto number = parse_real(condition.value);
    const auto whole = parse_integer(condition.value);
    std::visit(
        [&](const auto& values) {
            using T = typename std::decay_t<decltype(values)>::value_type;
            if (!std::is_same_v<T, std::string> && !number) {
                throw UsageError("--where", '"' + condition.text() + "\": column " + column.name +
                                                " holds numbers, and \"" + condition.value + "\" is none");
            }
            for (std::size_t i = 0; i < values.size(); ++i) {
                bool same = false;
                if constexpr (std::is_same_v<T, std::string>) {
                    same = values[i] == condition.value;
                } else if constexpr (std::is_same_v<T, std::int64_t>) {
                    same = whole ? values[i] == *whole : same_number(values[i], *number);
                } else {
                    same = same_number(values[i], *number);
                }
                if (same != condition.equal) keep[i] = false;
            }
        },
        column.values);
}

}  // namespace

Condition parse_condition(std::string_view text) {
    const auto sign = text.find('=');
    const bool unequal = sign != std::string_view::npos && sign > 0 && text[sign - 1] == '!';
    const auto column = trim(text.substr(0, sign == std::string_view::npos ? 0 : sign - unequal));
    if (column.empty()) {
        throw UsageError("--where", '"' + std::string(text) + "\" must be column=value or column!=value");
    }
    return {std::string(column), !unequal, std::string(text.substr(sign + 1))};
}

store::ResultTable select_rows(const store::ResultTable& table, const std::vector<Condition>& conditions) {
    std::vector<bool> keep(static_cast<std::size_t>(table.rows()), true);
    for (const Condition& condition : conditions) narrow(table, condition, keep);
    store::ResultTable selected{table.name, {}};
    for (const store::Column& column : table.columns) {
        store::Column& kept = selected.columns.emplace_back(store::Column{column.name, {}});
        std::visit(
            [&](const auto& values) {
                std::decay_t<decltype(values)> some;
                for (std::size_t i = 0; i < values.size(); ++i) {
                    if (keep[i]) some.push_back(values[i]);
                }
                kept.values = std::move(some);
            },
            column.values);
    }
    return selected;
}

store::ResultTable select_columns(const store::ResultTable& table, const std::vector<std::string>& names) {
    store::ResultTable selected{table.name, {}};
    std::set<std::string> seen;
    for (const std::string& name : names) {
        if (!seen.insert(name).second) throw UsageError("--columns", '"' + name + "\" is named twice");
        selected.columns.push_back(column_of(table, name, "--columns"));
    }
    return selected;
}

std::string explain_empty(const store::ResultTable& table, const std::vector<Condition>& conditions) {
    for (const Condition& condition : conditions) {
        if (select_rows(table, {condition}).rows() > 0) continue;
        std::string text = "no row of table " + table.name + " has " + condition.text();
        const store::Column& column = column_of(table, condition.column, "--where");
        if (const auto* values = std::get_if<std::vector<std::string>>(&column.values);
            values && condition.equal) {
            const std::string near = nearest_name(condition.value, *values);
            if (!near.empty()) text += "; did you mean \"" + near + "\"?";
        }
        return text;
    }
    return {};
}

}  // namespace candor::report
