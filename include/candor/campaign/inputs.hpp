#pragma once

/// The study and its tables on every rank: rank 0 reads the bytes, every rank parses the same bytes.

#include <cstdint>
#include <string>
#include <vector>

#include "candor/parallel/communicator.hpp"
#include "candor/study/study.hpp"
#include "candor/study/table.hpp"

namespace candor::campaign {

/// A file that a result rests on.
struct InputFile {
    std::string path;
    std::int64_t bytes = 0;
    std::string digest;  ///< XXH3-128, as `xxh128sum` prints it
    /// Of a file that is read again after its digest was taken: when it had last been changed before that, as
    /// the file system tells it; 0: it is read once.
    std::int64_t modified = 0;
};

/// When a file was last changed; 0 where that cannot be told.
std::int64_t modified_at(const std::string& path);

/// The first of the files that is not what its digest was taken of; only one that has been changed since
/// (InputFile::modified) is read. Empty where all are as they were.
std::string first_changed(const std::vector<InputFile>& files);

struct Inputs {
    study::Study study;
    std::vector<study::Table> tables;  ///< one a dataset of the study; empty where no task uses it
    std::vector<InputFile> files;      ///< the study file and the tables

    bool uses(std::size_t dataset) const { return tables[dataset].rows() > 0; }
};

/// The bytes of a small text file. @throws DataError where there is none or it cannot be read.
std::string read_file(const std::string& path);

/// The same of a file that the command line names. @throws UsageError where it cannot be read.
std::string read_named_file(const std::string& path);

/// Collective. @throws UsageError, DataError as the parsers of the room `study`; DataError where a file is
/// missing.
Inputs load_inputs_mpi(const parallel::Communicator& world, const std::string& study_file,
                       const std::vector<std::string>& overrides);

/// The same for a study that is known already: `files` holds the tables alone. Collective.
/// @throws DataError as above.
Inputs load_tables_mpi(const parallel::Communicator& world, study::Study study);

}  // namespace candor::campaign
