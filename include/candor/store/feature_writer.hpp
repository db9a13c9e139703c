#pragma once

/// Feature files as they are written: rows in any number of steps, then the ids, then the final name.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "candor/base/matrix.hpp"
#include "candor/store/element.hpp"

namespace candor::store {

/// A feature file may be replaced where that was asked for, and nothing else.
/// @throws UsageError unless `overwrite` and `path`, which exists, is an HDF5 feature file.
void require_replaceable_features(const std::string& path, bool overwrite);

class FeatureWriter {
  public:
    /// Starts `path`.part with `/features` rows x dimension of `type`.
    /// @throws UsageError where `path` exists and `overwrite` is false; MachineError where it cannot be
    /// created.
    FeatureWriter(const std::string& path, ElementType type, std::int64_t rows, std::int64_t dimension,
                  bool overwrite);
    /// Removes `path`.part unless `finish` was called.
    ~FeatureWriter();
    FeatureWriter(const FeatureWriter&) = delete;
    FeatureWriter& operator=(const FeatureWriter&) = delete;

    /// Writes the next `values.rows` rows, rounded to the type.
    /// @throws DataError with the row where a finite value overflows the type.
    void append(MatrixView<const double> values);

    /// Writes the next rows as they are: whole rows of the file's type, in native byte order.
    void append_stored(std::span<const std::byte> rows);

    /// Writes `/image_id` and, where not empty, `/finding`; closes, checks and renames the file.
    /// @pre as many rows were appended, and ids given, as were announced.
    void finish(std::span<const std::string> ids, std::span<const std::string> findings);

  private:
    struct File;
    std::unique_ptr<File> file_;
};

}  // namespace candor::store
