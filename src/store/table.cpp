#include "candor/store/table.hpp"

#include <utility>

namespace candor::store {

namespace {

template <class T>
std::vector<T>& append(std::deque<Column>& columns, std::string name) {
    columns.push_back({std::move(name), std::vector<T>{}});
    return std::get<std::vector<T>>(columns.back().values);
}

}  // namespace

std::int64_t ResultTable::rows() const {
    if (columns.empty()) return 0;
    return std::visit([](const auto& values) { return static_cast<std::int64_t>(values.size()); },
                      columns.front().values);
}

const Column* ResultTable::find(std::string_view column) const {
    for (const Column& c : columns) {
        if (c.name == column) return &c;
    }
    return nullptr;
}

std::vector<std::int64_t>& ResultTable::integers(std::string column) {
    return append<std::int64_t>(columns, std::move(column));
}
std::vector<double>& ResultTable::reals(std::string column) {
    return append<double>(columns, std::move(column));
}
std::vector<std::string>& ResultTable::texts(std::string column) {
    return append<std::string>(columns, std::move(column));
}

}  // namespace candor::store
