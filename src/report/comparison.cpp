#include "candor/report/comparison.hpp"

#include <cmath>
#include <map>

#include "candor/report/table_columns.hpp"
#include "candor/store/table_rows.hpp"

namespace candor::report {

namespace {

struct Rate {
    double value = NAN, low = NAN, high = NAN;

    bool holds(double other) const { return low <= other && other <= high; }
    /// An interval without width comes of resamples that are all equal, and says nothing.
    bool judged() const { return low < high; }
};

Rate rate_at(const store::ResultTable& table, std::size_t row) {
    return {reals(table, "d")[row], reals(table, "d_low")[row], reals(table, "d_high")[row]};
}

std::string change_of(const Rate& a, const Rate& b) {
    if (std::isnan(a.value) || std::isnan(b.value)) {
        if (std::isnan(a.value) && std::isnan(b.value)) return "same";
        return std::isnan(a.value) ? "defined" : "undefined";
    }
    if (a.value == b.value) return "same";
    if (!a.judged() || !b.judged()) return "unjudged";
    if (a.holds(b.value) || b.holds(a.value)) return "within";
    return a.high < b.low || b.high < a.low ? "beyond" : "near";
}

std::vector<std::string> keys_of(const store::ResultTable& table) {
    std::vector<std::string> keys;
    for (const char* name : {"task", "encoder", "level", "finding", "context"}) {
        if (table.find(name)) keys.emplace_back(name);
    }
    return keys;
}

std::vector<std::string> key_at(const store::ResultTable& table, const std::vector<std::string>& keys,
                                std::size_t row) {
    std::vector<std::string> values;
    for (const std::string& key : keys) values.push_back(texts(table, key)[row]);
    return values;
}

struct Line {
    std::vector<std::string> key;
    Rate a, b;
    std::string change;
};

void put_rate(store::TableRows& rows, const std::string& name, const Rate& rate) {
    rows.put(name, rate.value);
    rows.put(name + "_low", rate.low);
    rows.put(name + "_high", rate.high);
}

}  // namespace

store::ResultTable compare_rates(const store::ResultTable& a, const store::ResultTable& b) {
    const auto keys = keys_of(a);
    std::map<std::vector<std::string>, std::size_t> in_b;
    for (std::size_t i = 0; i < static_cast<std::size_t>(b.rows()); ++i) in_b[key_at(b, keys, i)] = i;

    std::vector<Line> lines;
    for (std::size_t i = 0; i < static_cast<std::size_t>(a.rows()); ++i) {
        const auto key = key_at(a, keys, i);
        const auto found = in_b.find(key);
        if (found == in_b.end()) {
            lines.push_back({key, rate_at(a, i), {}, "only a"});
            continue;
        }
        const Rate x = rate_at(a, i), y = rate_at(b, found->second);
        lines.push_back({key, x, y, change_of(x, y)});
        in_b.erase(found);
    }
    for (std::size_t i = 0; i < static_cast<std::size_t>(b.rows()); ++i) {
        const auto key = key_at(b, keys, i);
        if (in_b.contains(key)) lines.push_back({key, {}, rate_at(b, i), "only b"});
    }
    return store::table_of(a.name, lines, [&](store::TableRows& rows, const Line& line) {
        // A table without rows still names its columns.
        for (std::size_t k = 0; k < keys.size(); ++k)
            rows.put(keys[k], line.key.empty() ? std::string() : line.key[k]);
        put_rate(rows, "d_a", line.a);
        put_rate(rows, "d_b", line.b);
        rows.put("difference", line.b.value - line.a.value);
        rows.put("change", line.change);
    });
}

}  // namespace candor::report
