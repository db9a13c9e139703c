#include "candor/store/input_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "candor/base/error.hpp"

namespace candor::store {

InputFile::InputFile(const std::string& path) : path_(path) {
    descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor_ < 0) {
        const int error = errno;
        if (error == ENOENT || error == ENOTDIR) throw DataError({path}, "there is no such file");
        throw MachineError(path, std::string("cannot be opened: ") + std::strerror(error));
    }
    struct stat status = {};
    const bool known = ::fstat(descriptor_, &status) == 0;
    const bool regular = known && S_ISREG(status.st_mode);
    size_ = regular ? static_cast<std::int64_t>(status.st_size) : 0;
    if (regular && size_ > 0) return;
    ::close(descriptor_);
    if (!regular) throw DataError({path}, "is not a regular file");
    throw DataError({path}, "is empty");
}

InputFile::~InputFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
}

InputFile::InputFile(InputFile&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)), size_(other.size_) {}

InputFile& InputFile::operator=(InputFile&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(descriptor_, other.descriptor_);
    std::swap(size_, other.size_);
    return *this;
}

std::int64_t InputFile::read(std::int64_t offset, std::span<std::byte> out) const {
    std::size_t done = 0;
    while (done < out.size()) {
        const ssize_t got =
            ::pread(descriptor_, out.data() + done, std::min<std::size_t>(out.size() - done, 1u << 30),
                    static_cast<off_t>(offset) + static_cast<off_t>(done));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) throw MachineError(path_, std::string("cannot be read: ") + std::strerror(errno));
        if (got == 0) break;
        done += static_cast<std::size_t>(got);
    }
    return static_cast<std::int64_t>(done);
}

std::string read_whole_file(const std::string& path) {
    const InputFile file(path);
    std::string bytes(static_cast<std::size_t>(file.size()), '\0');
    const auto got = file.read(0, std::as_writable_bytes(std::span(bytes)));
    if (got != file.size()) throw DataError({path}, "became shorter while it was read");
    return bytes;
}

FileKind kind_of(const InputFile& file) {
    using namespace std::string_view_literals;
    const auto starts_with = [&](std::int64_t offset, std::string_view magic) {
        char head[8] = {};
        const auto got = file.read(offset, std::as_writable_bytes(std::span(head, magic.size())));
        return std::string_view(head, static_cast<std::size_t>(got)) == magic;
    };
    if (starts_with(0, "\x93NUMPY"sv)) return FileKind::npy;
    if (starts_with(0, "PK\x03\x04"sv) || starts_with(0, "PK\x05\x06"sv)) return FileKind::zip;
    // An HDF5 file may begin with a user block, whose length is 0 or a power of two from 512 on.
    for (std::int64_t offset = 0; offset < file.size(); offset = offset ? 2 * offset : 512) {
        if (starts_with(offset, "\x89HDF\r\n\x1a\n"sv)) return FileKind::hdf5;
    }
    return FileKind::other;
}

}  // namespace candor::store
