#pragma once

/// The hashes whose values are part of the method or of the file format. All are XXH64 or XXH3-128 (xxHash),
/// which give the same value on every machine.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace candor {

/// Key of an image: XXH64 of the id's UTF-8 bytes with the study's seed (METHODS 2).
std::uint64_t image_key(std::string_view image_id, std::uint64_t seed);

/// 128 bits that stand for a sequence of bytes.
struct Digest {
    std::uint64_t high = 0, low = 0;
    auto operator<=>(const Digest&) const = default;
    /// 32 hexadecimal digits, as `xxh128sum` prints them.
    std::string hex() const;
};

/// XXH3-128 of a block of bytes.
Digest digest(std::span<const std::byte> bytes);

/// XXH3-128 of a whole file, taken in step with another reader of it, so that the file comes from the disk
/// once.
class FileDigest {
  public:
    /// @throws MachineError where it cannot be opened; so do the others where it cannot be read.
    explicit FileDigest(const std::string& path);
    ~FileDigest();
    FileDigest(const FileDigest&) = delete;
    FileDigest& operator=(const FileDigest&) = delete;

    /// Takes in the blocks that end at or before byte `offset`.
    void advance_to(std::int64_t offset);
    /// Takes in the rest.
    Digest finish();

  private:
    struct State;
    std::unique_ptr<State> state_;
};

/// XXH3-128 of a whole file, read in blocks. @throws MachineError where it cannot be read.
Digest digest_file(const std::string& path);

}  // namespace candor
