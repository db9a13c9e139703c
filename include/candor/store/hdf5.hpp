#pragma once

/// HDF5 for the room `store`: handles that close themselves, one check for every call, and the few kinds of
/// data that candor's files are made of. HDF5's own printing of errors is switched off; its innermost message
/// becomes part of ours.

#include <hdf5.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "candor/store/array.hpp"

namespace candor::store {

/// What HDF5 said last, its innermost message.
std::string hdf5_message();

[[noreturn]] void fail_hdf5(const std::string& subject, const char* what);
/// The one place where HDF5 calls are checked: gives `result` back, or throws MachineError on `subject` with
/// `what` and HDF5's own message where it is negative.
template <class T>
T checked(T result, const std::string& subject, const char* what) {
    if (result < 0) fail_hdf5(subject, what);
    return result;
}

/// An HDF5 identifier, closed when it goes out of scope.
class Handle {
  public:
    Handle() = default;
    Handle(hid_t id, herr_t (*closer)(hid_t)) : id_(id), close_(closer) {}
    ~Handle() {
        if (id_ >= 0) close_(id_);
    }
    Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
    Handle& operator=(Handle&& other) noexcept {
        std::swap(id_, other.id_);
        std::swap(close_, other.close_);
        return *this;
    }

    hid_t get() const { return id_; }
    explicit operator bool() const { return id_ >= 0; }
    /// Closes now, so that the outcome can be checked.
    herr_t close() {
        const hid_t id = release();
        return id < 0 ? 0 : close_(id);
    }
    /// Gives the identifier up without closing it.
    hid_t release() { return std::exchange(id_, -1); }

  private:
    hid_t id_ = -1;
    herr_t (*close_)(hid_t) = nullptr;
};

/// Silences HDF5's own error printing; called before the first HDF5 call of a file.
void quiet_hdf5();

/// Opens `path` read-only by the POSIX driver with file locking off.
/// @throws DataError where it is no HDF5 file, is cut short or is damaged; MachineError where it cannot be
/// opened.
Handle open_hdf5_file(const std::string& path);

/// True where `name` (a path of links) leads to a dataset.
bool has_dataset(hid_t file, const std::string& name);

/// The two-dimensional floating-point dataset `name` of `file`, which stays open while the array lives.
/// @throws DataError where it is missing, has another type or shape, or has no rows or no columns.
std::unique_ptr<Array> hdf5_array(const std::string& path, std::shared_ptr<Handle> file,
                                  const std::string& name);

/// The one-dimensional text dataset `name`: fixed or variable length, ASCII or UTF-8, padding removed.
/// @throws DataError where it is missing or holds anything else.
std::vector<std::string> hdf5_texts(const std::string& path, hid_t file, const std::string& name);

/// A fixed-length UTF-8 string type of `length` bytes, padded with NUL.
Handle text_type(std::size_t length);

/// The little-endian type of numbers of that kind in a feature file.
Handle feature_type(ElementType element);

/// Property list for datasets whose bytes are reproducible: contiguous, allocated early, without object
/// times.
Handle dataset_properties();

}  // namespace candor::store
