#pragma once

/// Feature files: N x d numbers with or without image ids, as HDF5 or `.npy` (DESIGN 4).

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "candor/base/index.hpp"
#include "candor/base/matrix.hpp"
#include "candor/store/array.hpp"
#include "candor/store/element.hpp"

namespace candor::store {

/// An open feature file, read-only, by the POSIX driver with file locking off (any number of readers,
/// read-only media). The kind of file is told by its first bytes, never by its name.
class FeatureFile {
  public:
    /// @throws DataError where the file is neither HDF5 nor `.npy`, is cut short, holds another type
    /// (integer,
    ///         complex, object, big-endian `.npy`), has not two dimensions, no rows or no columns, or where
    ///         `/image_id` has another length than `/features`, or its ids fail `check_ids`. MachineError
    ///         where it cannot be opened; a missing file is a DataError.
    explicit FeatureFile(const std::string& path);
    ~FeatureFile();
    FeatureFile(FeatureFile&&) noexcept;
    FeatureFile& operator=(FeatureFile&&) noexcept;

    const std::string& path() const;
    std::int64_t rows() const;
    std::int64_t dimension() const;
    ElementType type() const;
    bool has_ids() const;
    /// N ids, empty where the file carries none.
    const std::vector<std::string>& ids() const;
    /// Region of each row of an erased file (`/finding`), empty where absent.
    const std::vector<std::string>& findings() const;

    /// Reads the rows `which` (any order, repeats allowed) into `out` (which.size() x dimension), converted
    /// exactly to T; float16 and float32 fit a float, T = float on a float64 file is refused (InternalError).
    /// The file is read in large contiguous slabs in its own order; beside `out` this needs one slab.
    void read(std::span<const FeatureRow> which, MatrixView<float> out) const;
    void read(std::span<const FeatureRow> which, MatrixView<double> out) const;
    /// As above, row which[i] into row target[i] of `out`, the other rows of which stay as they are.
    void read(std::span<const FeatureRow> which, std::span<const std::int64_t> target,
              MatrixView<float> out) const;
    void read(std::span<const FeatureRow> which, std::span<const std::int64_t> target,
              MatrixView<double> out) const;
    /// Shows `take` the rows `which` as (i, values) in the file's order, one slab in memory; types as for
    /// read.
    void visit(std::span<const FeatureRow> which, const TakeRow<float>& take) const;
    void visit(std::span<const FeatureRow> which, const TakeRow<double>& take) const;

  private:
    struct Source;
    friend struct FeatureHeader read_feature_header(const std::string& path);
    std::unique_ptr<Source> source_;
};

/// What a feature file says of itself before any of its rows or ids is read.
struct FeatureHeader {
    std::int64_t rows = 0, dimension = 0;
    ElementType type = ElementType::float32;
    bool has_ids = false;
    std::int64_t bytes = 0;  ///< of the file
};

/// @throws as FeatureFile, but for what only the ids tell.
FeatureHeader read_feature_header(const std::string& path);

/// Rows to write as a feature file.
struct FeatureTable {
    ElementType type = ElementType::float32;
    std::vector<std::string> ids;
    std::vector<std::string> findings;  ///< empty unless an erased file
    Matrix<double> values;              ///< ids.size() x d; written as `type`
};

/// Writes an HDF5 feature file (`/features`, `/image_id`, `/finding`) as `path.part`, then renames it.
/// @throws UsageError where `path` exists and `overwrite` is false; DataError where a finite value overflows
///         `type`; MachineError where it cannot be written.
void write_feature_file(const std::string& path, const FeatureTable& table, bool overwrite);

/// Checks what identifies the rows of a feature file.
/// @throws DataError naming `file`, row and id: a blank id, one that holds a NUL byte, an id that comes twice
///         (within a region, where `findings` is not empty).
void check_ids(const std::string& file, std::span<const std::string> ids,
               std::span<const std::string> findings);

}  // namespace candor::store
