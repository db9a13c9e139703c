#pragma once

/// The results file (DESIGN 5): written by all ranks with parallel HDF5, read by one.
///
/// Everything outside /run is the same bytes at any rank count: contiguous, unfiltered, early allocation, no
/// object times, fixed-length UTF-8 strings.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "candor/base/matrix.hpp"
#include "candor/parallel/communicator.hpp"
#include "candor/store/table.hpp"

namespace candor::store {

using AttributeValue = std::variant<std::int64_t, double, std::string>;

/// A results file while it is written. Every member is collective: all ranks call it in the same order, with
/// the same names and shapes; data may be empty on any rank.
class ResultsWriter {
  public:
    /// Creates `path`.part. @throws MachineError (on every rank) where it cannot be created.
    ResultsWriter(const std::string& path, const parallel::Communicator& world);
    /// Removes `path`.part unless `finish` was called; never throws, never communicates: the file stays open,
    /// so after this way out only an abort may end the program, no MPI_Finalize.
    ~ResultsWriter();
    ResultsWriter(const ResultsWriter&) = delete;
    ResultsWriter& operator=(const ResultsWriter&) = delete;

    /// An attribute of group `group` (created with its parents where absent); rank 0's value is stored.
    void attribute(const std::string& group, const std::string& name, const AttributeValue& value);
    /// `<group>/<table.name>`, a compound dataset; rank 0's table is stored, others may pass an empty one.
    /// Fixed-length strings are as long as the longest (at least 1). A table without rows is a dataset of
    /// length 0 that still has its columns.
    void table(const ResultTable& table, const std::string& group = "/tables");
    /// Dataset `path` of N fixed-length strings from rank 0's `values`.
    void texts(const std::string& path, const std::vector<std::string>& values);
    /// Dataset `path` of N whole numbers from rank 0's `values`.
    void integers(const std::string& path, const std::vector<std::int64_t>& values);
    /// Dataset `path` of rows x cols doubles, filled with NaN, to be written by `write` in pieces.
    void matrix(const std::string& path, std::int64_t rows, std::int64_t cols);

    /// A piece of one row of a matrix.
    struct Piece {
        std::int64_t row = 0;
        std::int64_t first_col = 0;
        std::span<const double> values;
    };
    /// Writes matrix `path` from the pieces of all ranks, which must not overlap; what no piece covers stays
    /// NaN. Each row is brought to one rank and written there, in transfers of at most 1 GiB.
    void write(const std::string& path, std::span<const Piece> pieces);

    /// Flushes, closes, checks that the file reads back as complete, and renames it to its final name.
    void finish();

  private:
    struct File;
    std::unique_ptr<File> file_;
};

/// A finished results file, read by one process.
class ResultsReader {
  public:
    /// @throws DataError where the file is missing, is not HDF5, is not a candor results file, or is of a
    /// format
    ///         version that this program does not read.
    explicit ResultsReader(const std::string& path);
    ~ResultsReader();
    ResultsReader(ResultsReader&&) noexcept;

    const std::string& path() const;
    std::vector<std::string> tables() const;  ///< names, in the order of the file
    bool has_table(const std::string& name) const;
    /// @throws DataError naming the tables that exist where `name` is not among them.
    ResultTable table(const std::string& name) const;
    /// Attribute of a group. @throws DataError where absent.
    AttributeValue attribute(const std::string& group, const std::string& name) const;
    std::vector<std::string> groups(const std::string& group) const;
    std::vector<std::string> texts(const std::string& path) const;
    std::vector<std::int64_t> integers(const std::string& path) const;
    Matrix<double> matrix(const std::string& path) const;

  private:
    struct File;
    std::unique_ptr<File> file_;
};

/// Name and version that a results file carries in /run.
inline constexpr const char* results_format = "candor-results";
inline constexpr std::int64_t results_format_version = 1;

/// Version of the HDF5 library in use, e.g. "1.10.8 (parallel)".
std::string hdf5_version();

}  // namespace candor::store
