#include "candor/report/comparison.hpp"

#include <cmath>
#include <map>

#include "candor/report/table_columns.hpp"

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

}  // namespace

store::ResultTable compare_rates(const store::ResultTable& a, const store::ResultTable& b) {
    const auto keys = keys_of(a);
    std::map<std::vector<std::string>, std::size_t> in_b;
    for (std::size_t i = 0; i < static_cast<std::size_t>(b.rows()); ++i) in_b[key_at(b, keys, i)] = i;

    store::ResultTable out{a.name, {}};
    std::vector<std::vector<std::string>*> names;
    for (const std::string& key : keys) names.push_back(&out.texts(key));
    auto& value_a = out.reals("d_a");
    auto& low_a = out.reals("d_a_low");
    auto& high_a = out.reals("d_a_high");
    auto& value_b = out.reals("d_b");
    auto& low_b = out.reals("d_b_low");
    auto& high_b = out.reals("d_b_high");
    auto& difference = out.reals("difference");
    auto& change = out.texts("change");
    const auto add = [&](const std::vector<std::string>& key, const Rate& x, const Rate& y,
                         std::string what) {
        for (std::size_t k = 0; k < keys.size(); ++k) names[k]->push_back(key[k]);
        value_a.push_back(x.value), low_a.push_back(x.low), high_a.push_back(x.high);
        value_b.push_back(y.value), low_b.push_back(y.low), high_b.push_back(y.high);
        difference.push_back(y.value - x.value);
        change.push_back(std::move(what));
    };
    for (std::size_t i = 0; i < static_cast<std::size_t>(a.rows()); ++i) {
        const auto key = key_at(a, keys, i);
        const auto found = in_b.find(key);
        if (found == in_b.end()) {
            add(key, rate_at(a, i), {}, "only a");
            continue;
        }
        const Rate x = rate_at(a, i), y = rate_at(b, found->second);
        add(key, x, y, change_of(x, y));
        in_b.erase(found);
    }
    for (std::size_t i = 0; i < static_cast<std::size_t>(b.rows()); ++i) {
        const auto key = key_at(b, keys, i);
        if (in_b.contains(key)) add(key, {}, rate_at(b, i), "only b");
    }
    return out;
}

}  // namespace candor::report
