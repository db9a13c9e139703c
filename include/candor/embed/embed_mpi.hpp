#pragma once

/// `candor embed`: from images to feature files, over all ranks.

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "candor/base/log.hpp"
#include "candor/parallel/communicator.hpp"
#include "candor/store/element.hpp"

namespace candor::embed {

struct EmbedOptions {
    std::string recipe;
    std::vector<std::string> overrides;  ///< of the study
    std::vector<std::string> only;       ///< ids of encoders; empty: all
    store::ElementType type = store::ElementType::float32;
    bool skip_bad = false;  ///< leave images out that cannot be encoded, instead of stopping at the first
    bool overwrite = false;
    int threads = 0;  ///< 0: the rank's share of the processors
    std::optional<std::chrono::system_clock::time_point> stop_at;
    std::string program;  ///< version and commit
};

/// Writes the features, and erased features, of every image of the recipe, a file after the other, the images
/// of each shared by all ranks in batches. Batches are the recipe's, the last one filled up with zeros, so
/// that the bits of a row depend on no rank, thread or interruption. A file that is there already and was
/// made from the same is left alone. Finished rows are kept in `<file>.journal` until the file is written.
/// Collective.
/// @throws UsageError where an output exists and was made otherwise, and as make_work; DataError with the id
/// of the
///         first image that cannot be encoded, unless `skip_bad`, which lists it in `<file>.omitted.csv`;
///         Stopped on a signal.
void embed_mpi(const parallel::Communicator& world, const EmbedOptions& options, const Log& log);

}  // namespace candor::embed
