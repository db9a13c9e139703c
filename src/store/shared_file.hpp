#pragma once

/// An HDF5 file that all ranks write together with HDF5's own MPI driver, under a name that it does not keep:
/// what results files and feature files have in common. For the room `store`.
///
/// Its bytes are the same at any rank count: contiguous, unfiltered, early allocation, no object times.

#include <hdf5.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "candor/base/error.hpp"
#include "candor/parallel/communicator.hpp"
#include "candor/store/hdf5.hpp"
#include "candor/store/results_file.hpp"

namespace candor::store {

/// Most bytes of one transfer, and of what rank 0 writes at a time.
inline constexpr std::int64_t largest_transfer = std::int64_t{1} << 30;
inline constexpr std::int64_t buffer_bytes = std::int64_t{64} << 20;

/// Attribute of the root group, written last of all: a file without it was never finished.
inline constexpr const char* complete_mark = "complete";

/// What a column, or an attribute, holds.
enum class Kind : std::int64_t { integer, real, text };

/// The type of a value of `kind` in a file; texts of `width` bytes.
Handle value_type(Kind kind, std::size_t width);
Handle simple_space(const std::vector<hsize_t>& extent);
/// `/a/b`, whatever slashes `path` has.
std::string normal_path(const std::string& path);
/// Bytes of the longest of `texts`, at least 1: HDF5 has no text type of length 0.
std::size_t longest(const std::vector<std::string>& texts);

/// The file while it is written. Every member is collective unless it says otherwise.
class SharedFile {
  public:
    /// Creates `path`.part. @throws MachineError (on every rank) where it cannot be created.
    SharedFile(const std::string& path, const parallel::Communicator& world);
    /// Removes `path`.part unless `finish` was called; never throws, never communicates: the file stays open,
    /// so after this way out only an abort may end the program, no MPI_Finalize.
    ~SharedFile();
    SharedFile(const SharedFile&) = delete;
    SharedFile& operator=(const SharedFile&) = delete;

    bool root() const { return world.rank() == 0; }

    /// Runs `work` on rank 0; where it fails, every rank throws the same failure.
    template <class Work>
    void on_root(Work work) {
        std::string fault;
        if (root()) {
            try {
                work();
            } catch (const MachineError& error) {
                fault = reason_of(error);
            }
        }
        fault = world.broadcast(fault);
        if (!fault.empty()) fail(fault);
    }

    /// Runs collective calls of the library. A rank on which one fails throws at once: the others may be
    /// waiting for it inside the library (a full disk shows on one rank only), so nothing short of ending
    /// them all gets them out.
    template <class Work>
    void together(Work work) {
        try {
            work();
        } catch (const MachineError& error) {
            fail(reason_of(error));
        }
    }

    /// HDF5 and MPI do not hand on why the system refused to write: a full disk is looked for. Of one rank.
    [[noreturn]] void fail(const std::string& fault) const;

    /// The group `name`, made with its parents where absent.
    Handle group(const std::string& name);
    Handle create(const std::string& name, hid_t type, const std::vector<hsize_t>& extent, hid_t properties);

    /// Creates a dataset of `rows` values of `type` and lets rank 0 fill it: `fill(first, count, bytes)`.
    template <class Fill>
    void from_root(const std::string& name, hid_t type, std::int64_t rows, std::int64_t width, Fill fill) {
        const Handle properties = dataset_properties();
        checked(H5Pset_fill_time(properties.get(), H5D_FILL_TIME_NEVER), part, name.c_str());
        Handle dataset = create(name, type, {static_cast<hsize_t>(rows)}, properties.get());
        if (root()) {
            const std::int64_t most = std::max<std::int64_t>(1, buffer_bytes / width);
            for (std::int64_t first = 0; first < rows; first += most) {
                const std::int64_t count = std::min(most, rows - first);
                std::vector<char> bytes(static_cast<std::size_t>(count * width), '\0');
                fill(first, count, bytes.data());
                const hsize_t start = static_cast<hsize_t>(first), extent = static_cast<hsize_t>(count);
                const Handle memory = simple_space({extent});
                const Handle space(checked(H5Dget_space(dataset.get()), part, name.c_str()), H5Sclose);
                checked(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, &start, nullptr, &extent, nullptr),
                        part, name.c_str());
                checked(H5Dwrite(dataset.get(), type, memory.get(), space.get(), H5P_DEFAULT, bytes.data()),
                        part, "write");
            }
        }
        checked(dataset.close(), part, "close");
    }

    /// Dataset `name` of fixed-length strings, as long as the longest, from rank 0's `values`.
    void texts(const std::string& name, const std::vector<std::string>& values);

    /// An attribute of group `owner`; the same `value` on every rank.
    void attribute(const std::string& owner, const std::string& name, const AttributeValue& value);

    /// Marks the file as complete, flushes, closes, checks that it reads back so, and renames it to its final
    /// name.
    void finish();

    std::string path, part;
    parallel::Communicator world;
    Handle file;
    bool published = false;

  private:
    /// What went wrong, without the name of the file.
    static std::string reason_of(const MachineError& error);
};

}  // namespace candor::store
