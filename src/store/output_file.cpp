#include "candor/store/output_file.hpp"

#include <fcntl.h>
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
