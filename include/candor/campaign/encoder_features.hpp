#pragma once

/// The feature files of one encoder, joined to the tables by image id.

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "candor/base/index.hpp"
#include "candor/base/matrix.hpp"
#include "candor/campaign/inputs.hpp"
#include "candor/neighbors/row_set.hpp"
#include "candor/neighbors/row_source.hpp"
#include "candor/store/feature_file.hpp"
#include "candor/study/pool.hpp"

namespace candor::campaign {

/// Where each row of a table is in a feature file.
struct Join {
    std::vector<std::int64_t> feature_row;  ///< one a TableRow; -1: the file has no such id
    std::int64_t extra = 0;                 ///< ids of the file that the table does not know
    bool by_position = false;               ///< the file carries no ids (METHODS 2)
};

/// Opens files when they are first asked for and keeps them open.
class EncoderFeatures {
  public:
    /// `encoder` is a position in Study::encoders. The inputs must outlive this.
    EncoderFeatures(const Inputs& inputs, std::size_t encoder) : inputs_(inputs), encoder_(encoder) {}

    std::size_t encoder() const { return encoder_; }
    /// @throws DataError as FeatureFile; where a file without ids has not as many rows as the table.
    const store::FeatureFile& file(std::size_t dataset);
    const Join& join(std::size_t dataset);

    /// What the files that hold `rows` of a pool have in common: columns, and whether some hold doubles.
    /// @throws DataError where files of different dimension meet.
    struct Shape {
        std::int64_t dimension = 0;
        bool doubles = false;
    };
    Shape shape(const study::Pool& pool, std::span<const PoolRow> rows);

    /// Feature rows of `rows` of a pool, in that order, in memory. @pre every row has features.
    neighbors::RowSet rows(const study::Pool& pool, std::span<const PoolRow> rows);
    neighbors::StoredRows read(const study::Pool& pool, std::span<const PoolRow> rows, const Shape& shape);

    /// Feature rows of `rows` of a dataset's table, in that order, as stored. @pre every row has features.
    neighbors::StoredRows stored_rows(std::size_t dataset, std::span<const TableRow> rows);
    /// Feature rows of `rows` of a dataset's table, in that order, of length one: x / |x| in double, then
    /// rounded to single precision. @pre every row has features and a norm above 0.
    Matrix<float> unit_rows(std::size_t dataset, std::span<const TableRow> rows);

  private:
    struct Opened {
        store::FeatureFile file;
        Join join;
    };
    Opened& open(std::size_t dataset);
    /// @pre the file had features of the row when it was looked at. @throws DataError where it no longer has.
    FeatureRow feature_row(std::size_t dataset, TableRow row);

    const Inputs& inputs_;
    std::size_t encoder_;
    std::map<std::size_t, Opened> opened_;
};

/// The rows of a context, read from the files as they are asked for.
class ContextRows final : public neighbors::RowSource {
  public:
    /// The pool and the rows must outlive this.
    ContextRows(std::shared_ptr<EncoderFeatures> features, const study::Pool& pool,
                std::span<const PoolRow> rows)
        : features_(std::move(features)), pool_(pool), rows_(rows), shape_(features_->shape(pool, rows)) {}

    std::int64_t rows() const override { return std::ssize(rows_); }
    std::int64_t dimension() const override { return shape_.dimension; }
    neighbors::StoredRows read(std::span<const ContextRow> which) const override;

  private:
    std::shared_ptr<EncoderFeatures> features_;
    const study::Pool& pool_;
    std::span<const PoolRow> rows_;
    EncoderFeatures::Shape shape_;
};

}  // namespace candor::campaign
