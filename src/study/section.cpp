#include "candor/study/section.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "candor/base/text.hpp"

namespace candor::study {

namespace {

/// How many known names a message lists.
constexpr std::size_t names_in_a_message = 20;

std::string quoted_list(const std::vector<std::string>& names) {
    return first_names(std::span(names), names_in_a_message);
}

}  // namespace

std::string kind_of(const toml::node& node) {
    if (node.is_string()) return "text";
    if (node.is_integer()) return "a whole number";
    if (node.is_floating_point()) return "a number";
    if (node.is_boolean()) return "true or false";
    if (node.is_array()) return "a list";
    if (node.is_table()) return "a table";
    return "a date or time";
}

std::string unknown_name(std::string_view name, const std::vector<std::string>& known) {
    std::string text = '"' + std::string(name) + '"';
    const std::string near = nearest_name(name, known);
    if (!near.empty()) return text + "; did you mean \"" + near + "\"?";
    return text + "; known: " + quoted_list(known);
}

Section::Section(const toml::table& table, std::string file, std::string place,
                 const std::set<std::string>& overridden)
    : table_(&table), file_(std::move(file)), place_(std::move(place)), overridden_(&overridden) {}

UsageError Section::fault(const std::string& key, const std::string& rule) const {
    const std::string at = place_ + key;
    return {(overridden_->contains(at) ? "--set" : file_) + ": " + at, rule};
}

void Section::require(bool holds, const std::string& key, const std::string& rule) const {
    if (!holds) throw fault(key, rule);
}

const toml::node* Section::find(const std::string& key, Need need) {
    asked_.push_back(key);
    const toml::node* node = table_->get(key);
    if (!node && need == Need::required) missing_.push_back(key);
    return node;
}

bool Section::has(const std::string& key) {
    return find(key) != nullptr;
}

void Section::text(const std::string& key, std::string& value, Need need) {
    const toml::node* node = find(key, need);
    if (!node) return;
    require(node->is_string(), key, "must be text in quotes, not " + kind_of(*node));
    require(!node->as_string()->get().empty(), key, "must not be empty");
    value = node->as_string()->get();
}

void Section::texts(const std::string& key, std::vector<std::string>& value, Need need, bool empty_allowed) {
    const toml::node* node = find(key, need);
    if (!node) return;
    require(node->is_array(), key, "must be a list of texts, not " + kind_of(*node));
    std::vector<std::string> list;
    for (const toml::node& item : *node->as_array()) {
        require(item.is_string(), key, "must be a list of texts, but holds " + kind_of(item));
        const std::string& text = item.as_string()->get();
        require(!text.empty(), key, "must not hold an empty text");
        require(std::ranges::find(list, text) == list.end(), key, "names \"" + text + "\" twice");
        list.push_back(text);
    }
    require(empty_allowed || !list.empty(), key, "must not be an empty list");
    value = std::move(list);
}

void Section::integer(const std::string& key, std::int64_t& value, std::int64_t least, std::int64_t most) {
    const toml::node* node = find(key);
    if (!node) return;
    require(!node->is_floating_point(), key, "must be a whole number in digits alone, no point or exponent");
    if (const auto* text = node->as_string())
        throw fault(key, "must be a whole number of at most " + std::to_string(most) + ", not \"" +
                             text->get() + '"');
    require(node->is_integer(), key, "must be a whole number, not " + kind_of(*node));
    const std::int64_t given = node->as_integer()->get();
    require(given >= least, key,
            "must be at least " + std::to_string(least) + ", not " + std::to_string(given));
    require(given <= most, key, "must be at most " + std::to_string(most) + ", not " + std::to_string(given));
    value = given;
}

void Section::integer(const std::string& key, int& value, std::int64_t least, int most) {
    std::int64_t given = value;
    integer(key, given, least, most);
    value = static_cast<int>(given);
}

void Section::real(const std::string& key, double& value) {
    const toml::node* node = find(key);
    if (!node) return;
    require(node->is_number(), key, "must be a number, not " + kind_of(*node));
    const double given = *node->value<double>();
    require(std::isfinite(given), key, "must be finite, not " + format_real(given));
    value = given;
}

void Section::reals(const std::string& key, std::vector<double>& value) {
    const toml::node* node = find(key);
    if (!node) return;
    require(node->is_array(), key, "must be a list of numbers, not " + kind_of(*node));
    std::vector<double> list;
    for (const toml::node& item : *node->as_array()) {
        require(item.is_number(), key, "must be a list of numbers, but holds " + kind_of(item));
        list.push_back(*item.value<double>());
        require(std::isfinite(list.back()), key, "must hold finite numbers, not " + format_real(list.back()));
    }
    value = std::move(list);
}

void Section::flag(const std::string& key, bool& value) {
    const toml::node* node = find(key);
    if (!node) return;
    require(node->is_boolean(), key, "must be true or false, not " + kind_of(*node));
    value = node->as_boolean()->get();
}

std::optional<std::size_t> Section::word(const std::string& key, const std::vector<std::string>& words) {
    if (!table_->contains(key)) {
        asked_.push_back(key);
        return std::nullopt;
    }
    std::string given;
    text(key, given);
    const auto at = std::ranges::find(words, given);
    require(at != words.end(), key, "must be one of " + quoted_list(words) + ", not \"" + given + '"');
    return static_cast<std::size_t>(at - words.begin());
}

Section Section::table(const std::string& key, Need need) {
    static const toml::table none;
    const toml::node* node = find(key, need);
    if (node) require(node->is_table(), key, "must be a table { key = value, ... }, not " + kind_of(*node));
    return {node ? *node->as_table() : none, file_, place_ + key + ".", *overridden_};
}

std::vector<std::string> Section::keys() {
    std::vector<std::pair<toml::source_position, std::string>> found;
    for (const auto& [key, node] : *table_) found.emplace_back(key.source().begin, std::string(key.str()));
    std::ranges::stable_sort(found, [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<std::string> names;
    for (const auto& [position, name] : found) names.push_back(name);
    asked_.insert(asked_.end(), names.begin(), names.end());
    return names;
}

void Section::finish() const {
    for (const auto& [key, node] : *table_) {
        const std::string name(key.str());
        if (std::ranges::find(asked_, name) == asked_.end())
            throw fault(name, "unknown key " + unknown_name(name, asked_));
    }
    if (!missing_.empty()) throw fault(missing_.front(), "must be given");
}

}  // namespace candor::study
