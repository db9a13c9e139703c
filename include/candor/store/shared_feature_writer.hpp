#pragma once

/// Feature files written by all ranks together, each its own rows.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "candor/parallel/communicator.hpp"
#include "candor/store/element.hpp"

namespace candor::store {

/// The file while it is written. Its bytes are the same at any rank count. Every member but `write` is
/// collective.
class SharedFeatureWriter {
  public:
    /// Starts `path`.part with `/features` rows x dimension of `type`. @throws MachineError (on every rank)
    /// where it cannot be created.
    SharedFeatureWriter(const std::string& path, const parallel::Communicator& world, ElementType type,
                        std::int64_t rows, std::int64_t dimension);
    /// Removes `path`.part unless `finish` was called; after this way out only an abort may end the program.
    ~SharedFeatureWriter();
    SharedFeatureWriter(const SharedFeatureWriter&) = delete;
    SharedFeatureWriter& operator=(const SharedFeatureWriter&) = delete;

    /// Writes whole rows of the file's type, in native byte order, from row `first` on. Of this rank alone;
    /// every row of the file is written once, by whichever rank. Transfers of at most 1 GiB.
    void write(std::int64_t first, std::span<const std::byte> rows);

    /// Writes `/image_id` and, where not empty, `/finding`, both rank 0's, and what the file was made from
    /// (`read_origin`), the same text on every rank; closes, checks and renames the file.
    void finish(const std::vector<std::string>& ids, const std::vector<std::string>& findings,
                const std::string& origin);

  private:
    struct File;
    std::unique_ptr<File> file_;
};

/// What a feature file was made from, as its writer said; empty where it does not say, or is no HDF5 file.
std::string read_origin(const std::string& path);

}  // namespace candor::store
