#include "candor/store/output_file.hpp"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "candor/base/error.hpp"

namespace candor::store {

std::string part_of(const std::string& path) {
    return path + ".part";
}

void require_output_name(const std::string& path) {
    std::error_code error;
    const auto type = std::filesystem::symlink_status(path, error).type();
    using std::filesystem::file_type;
    if (path.empty()) throw UsageError("the output", "has an empty name; name a file");
    if (type == file_type::directory) throw UsageError(path, "is a folder; name a file in it");
    if (type == file_type::symlink) {
        throw UsageError(path, "is a symbolic link, which a result would replace; name the file itself");
    }
    // What cannot be looked at, for want of a folder or of a right, is told when it is written.
    if (type != file_type::regular && type != file_type::not_found && type != file_type::none) {
        throw UsageError(path, "is not a regular file; name another output");
    }
}

void require_other_file(const std::string& output, const std::string& input) {
    std::error_code error;
    if (std::filesystem::equivalent(output, input, error)) {
        throw UsageError(output, "is the same file as the input " + input + "; name another output");
    }
}

bool is_full(const std::string& path) {
    const auto folder = std::filesystem::path(path).parent_path();
    struct statvfs disk {};
    if (::statvfs(folder.empty() ? "." : folder.c_str(), &disk) != 0) return false;
    return disk.f_bavail * disk.f_frsize < 1 << 16;
}

void publish(const std::string& path) {
    const std::string part = part_of(path);
    const int descriptor = ::open(part.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        throw MachineError(part, std::string("cannot be opened again: ") + std::strerror(errno));
    const int synced = ::fsync(descriptor);
    const int error = errno;
    ::close(descriptor);
    if (synced != 0)
        throw MachineError(part, std::string("cannot be brought to disk: ") + std::strerror(error));
    if (std::rename(part.c_str(), path.c_str()) != 0) {
        throw MachineError(path, "cannot be renamed from \"" + part + "\": " + std::strerror(errno));
    }
    // The new name survives a crash once its folder is on disk; a folder that cannot be opened is not our
    // failure.
    const auto folder = std::filesystem::path(path).parent_path();
    const int directory = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory >= 0) {
        ::fsync(directory);
        ::close(directory);
    }
}

void discard(const std::string& path) noexcept {
    try {
        ::unlink(part_of(path).c_str());
    } catch (...) {  // out of memory for the name: nothing more can be done
    }
}

}  // namespace candor::store
