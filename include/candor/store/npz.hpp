#pragma once

/// NumPy's `.npz`: a zip archive of `.npy` members, stored or deflated, zip64 included.

#include <memory>
#include <string>
#include <vector>

#include "candor/store/npy.hpp"

namespace candor::store {

class Npz {
  public:
    /// @throws DataError where the file is missing, is damaged, or holds no `.npy` member.
    explicit Npz(const std::string& path);
    ~Npz();

    /// Names of the arrays, without `.npy`, in the archive's order.
    const std::vector<std::string>& names() const { return names_; }
    bool has(const std::string& name) const;

    /// The array `name`, unpacked into memory. @throws DataError where there is none (naming those there
    /// are), or where it is encrypted, cut short or fails its checksum.
    NpyBytes member(const std::string& name) const;

  private:
    struct Archive;
    std::string path_;
    std::unique_ptr<Archive> archive_;
    std::vector<std::string> names_;
};

}  // namespace candor::store
