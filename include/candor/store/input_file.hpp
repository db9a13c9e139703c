#pragma once

/// An input file as bytes: opened once, read at any position, every short read and error told apart.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace candor::store {

class InputFile {
  public:
    /// @throws DataError where the file is missing, is a directory or is empty; MachineError where it cannot
    /// be
    ///         opened.
    explicit InputFile(const std::string& path);
    ~InputFile();
    InputFile(InputFile&& other) noexcept;
    InputFile& operator=(InputFile&& other) noexcept;

    const std::string& path() const { return path_; }
    std::int64_t size() const { return size_; }

    /// Fills `out` from byte `offset` on. @returns the bytes read: fewer only where the file ends.
    /// @throws MachineError where the read fails.
    std::int64_t read(std::int64_t offset, std::span<std::byte> out) const;

  private:
    std::string path_;
    int descriptor_ = -1;
    std::int64_t size_ = 0;
};

/// All bytes of a file. @throws as InputFile does.
std::string read_whole_file(const std::string& path);

/// What the first bytes of a file say it is; its name says nothing.
enum class FileKind { hdf5, npy, zip, other };
FileKind kind_of(const InputFile& file);

}  // namespace candor::store
