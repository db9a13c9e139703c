#include "candor/campaign/encoder_features.hpp"

#include <string_view>
#include <unordered_map>

#include "candor/base/error.hpp"
#include "candor/base/sum.hpp"

namespace candor::campaign {

namespace {

Join join_by_id(const store::FeatureFile& file, const study::Table& table) {
    std::unordered_map<std::string_view, std::int64_t> place;
    place.reserve(file.ids().size());
    for (std::size_t i = 0; i < file.ids().size(); ++i)
        place.emplace(file.ids()[i], static_cast<std::int64_t>(i));

    Join join;
    std::int64_t found = 0;
    join.feature_row.reserve(table.image.size());
    for (const std::string& id : table.image) {
        const auto at = place.find(id);
        join.feature_row.push_back(at == place.end() ? -1 : at->second);
        found += at != place.end();
    }
    join.extra = static_cast<std::int64_t>(file.ids().size()) - found;
    return join;
}

Join join_by_position(const store::FeatureFile& file, const study::Table& table) {
    if (file.rows() != table.rows()) {
        throw DataError({file.path()},
                        "carries no ids and has " + std::to_string(file.rows()) + " rows where " +
                            table.file + " has " + std::to_string(table.rows()),
                        "give it ids with candor import, or one row for each row of the table");
    }
    Join join;
    join.by_position = true;
    for (std::int64_t row = 0; row < table.rows(); ++row) join.feature_row.push_back(row);
    return join;
}

/// Reads `wanted[d]` rows of each dataset and puts them at the places `target[d]` of one matrix.
template <class T>
Matrix<T> read_all(EncoderFeatures& features, const std::map<std::size_t, std::vector<FeatureRow>>& wanted,
                   const std::map<std::size_t, std::vector<std::int64_t>>& target, std::int64_t rows,
                   std::int64_t dimension) {
    Matrix<T> out(rows, dimension);
    for (const auto& [dataset, which] : wanted)
        features.file(dataset).read(which, target.at(dataset), out.view());
    return out;
}

}  // namespace

EncoderFeatures::Opened& EncoderFeatures::open(std::size_t dataset) {
    if (const auto at = opened_.find(dataset); at != opened_.end()) return at->second;
    const study::Study& study = inputs_.study;
    store::FeatureFile file(study.datasets[dataset].features_of(study.encoders[encoder_].id));
    Join join = file.has_ids() ? join_by_id(file, inputs_.tables[dataset])
                               : join_by_position(file, inputs_.tables[dataset]);
    return opened_.emplace(dataset, Opened{std::move(file), std::move(join)}).first->second;
}

const store::FeatureFile& EncoderFeatures::file(std::size_t dataset) {
    return open(dataset).file;
}

const Join& EncoderFeatures::join(std::size_t dataset) {
    return open(dataset).join;
}

FeatureRow EncoderFeatures::feature_row(std::size_t dataset, TableRow row) {
    const Opened& opened = open(dataset);
    const auto at = static_cast<std::size_t>(row.value);
    if (opened.join.feature_row[at] >= 0) return FeatureRow(opened.join.feature_row[at]);
    throw DataError({opened.file.path()},
                    "no longer has image " + inputs_.tables[dataset].image[at] +
                        ": it was changed while the study was at work",
                    "leave the files alone and run the study anew with --overwrite");
}

EncoderFeatures::Shape EncoderFeatures::shape(const study::Pool& pool, std::span<const PoolRow> rows) {
    std::vector<bool> holds(inputs_.study.datasets.size());
    for (const PoolRow row : rows)
        holds[static_cast<std::size_t>(pool.dataset[static_cast<std::size_t>(row.value)])] = true;
    Shape shape;
    const store::FeatureFile* first = nullptr;
    for (std::size_t dataset = 0; dataset < holds.size(); ++dataset) {
        if (!holds[dataset]) continue;
        const store::FeatureFile& here = file(dataset);
        if (first == nullptr) first = &here;
        if (here.dimension() != first->dimension()) {
            throw DataError({here.path()},
                            "has " + std::to_string(here.dimension()) + " columns where " + first->path() +
                                " has " + std::to_string(first->dimension()),
                            "one encoder gives every image of a task the same number of features");
        }
        shape.dimension = first->dimension();
        shape.doubles = shape.doubles || here.type() == store::ElementType::float64;
    }
    return shape;
}

neighbors::RowSet EncoderFeatures::rows(const study::Pool& pool, std::span<const PoolRow> rows) {
    return neighbors::RowSet(read(pool, rows, shape(pool, rows)));
}

neighbors::StoredRows EncoderFeatures::read(const study::Pool& pool, std::span<const PoolRow> rows,
                                            const Shape& shape) {
    std::map<std::size_t, std::vector<FeatureRow>> wanted;
    std::map<std::size_t, std::vector<std::int64_t>> target;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const auto at = static_cast<std::size_t>(rows[i].value);
        const auto dataset = static_cast<std::size_t>(pool.dataset[at]);
        wanted[dataset].push_back(feature_row(dataset, pool.table_row[at]));
        target[dataset].push_back(static_cast<std::int64_t>(i));
    }
    const auto count = std::ssize(rows);
    if (shape.doubles) return read_all<double>(*this, wanted, target, count, shape.dimension);
    return read_all<float>(*this, wanted, target, count, shape.dimension);
}

neighbors::StoredRows EncoderFeatures::stored_rows(std::size_t dataset, std::span<const TableRow> rows) {
    std::map<std::size_t, std::vector<FeatureRow>> wanted;
    std::map<std::size_t, std::vector<std::int64_t>> target;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        wanted[dataset].push_back(feature_row(dataset, rows[i]));
        target[dataset].push_back(static_cast<std::int64_t>(i));
    }
    const store::FeatureFile& here = file(dataset);
    if (here.type() == store::ElementType::float64)
        return read_all<double>(*this, wanted, target, std::ssize(rows), here.dimension());
    return read_all<float>(*this, wanted, target, std::ssize(rows), here.dimension());
}

Matrix<float> EncoderFeatures::unit_rows(std::size_t dataset, std::span<const TableRow> rows) {
    const store::FeatureFile& features = file(dataset);
    std::vector<FeatureRow> which;
    for (const TableRow row : rows) which.push_back(feature_row(dataset, row));
    Matrix<float> out(std::ssize(rows), features.dimension());
    const auto put = [&]<class T>(std::int64_t row, std::span<const T> values) {
        const double length = norm(values);
        const std::span<float> unit = out.row(row);
        for (std::size_t i = 0; i < values.size(); ++i)
            unit[i] = static_cast<float>(static_cast<double>(values[i]) / length);
    };
    if (features.type() == store::ElementType::float64) {
        features.visit(which, store::TakeRow<double>(put));
    } else {
        features.visit(which, store::TakeRow<float>(put));
    }
    return out;
}

neighbors::StoredRows ContextRows::read(std::span<const ContextRow> which) const {
    std::vector<PoolRow> rows;
    for (const ContextRow row : which) rows.push_back(rows_[static_cast<std::size_t>(row.value)]);
    return features_->read(pool_, rows, shape_);
}

}  // namespace candor::campaign
