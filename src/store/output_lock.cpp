#include "candor/store/output_lock.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string_view>

#include "candor/base/error.hpp"

namespace candor::store {

namespace {

/// Whether an open file is the one that `path` leads to.
bool is_at(int file, const std::string& path) {
    struct stat open_one {};
    struct stat named {};
    return fstat(file, &open_one) == 0 && stat(path.c_str(), &named) == 0 &&
           open_one.st_dev == named.st_dev && open_one.st_ino == named.st_ino;
}

}  // namespace

OutputLock::OutputLock(const std::string& output, Part part) : folder_(output + ".journal"), part_(part) {
    if (part_ == Part::follower) return;
    if (mkdir(folder_.c_str(), 0777) != 0 && errno != EEXIST) {
        throw MachineError(folder_, std::string("cannot be made: ") + std::strerror(errno),
                           "name an output in a folder that exists and can be written");
    }
    const std::string heartbeat = folder_ + "/heartbeat";
    const char* const locking = std::getenv("HDF5_USE_FILE_LOCKING");
    const bool locks = locking == nullptr || std::string_view(locking) != "FALSE";
    if (!locks) {
        heartbeat_ = std::make_unique<Heartbeat>(heartbeat, output);
        return;
    }
    // Before the lock: machines may differ in what they can do, and who has locks respects who has none.
    Heartbeat::require_none(heartbeat, output, Heartbeat::Beat{}.stale_after);
    if (!lock(output)) heartbeat_ = std::make_unique<Heartbeat>(heartbeat, output);
}

/// @returns false where the file system has no locks.
bool OutputLock::lock(const std::string& output) {
    const std::string path = folder_ + "/lock";
    for (;;) {
        file_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        if (file_ < 0) {
            throw MachineError(
                path, std::string("cannot be opened: ") + std::strerror(errno),
                "see that " + folder_ + " is a folder that can be written, or name another output");
        }
        struct flock whole {};
        whole.l_type = F_WRLCK;
        whole.l_whence = SEEK_SET;
        if (fcntl(file_, F_SETLK, &whole) != 0) break;
        // The run that had it may have removed it in between: then this is no longer the file of that name.
        if (is_at(file_, path)) return true;
        close(file_);
    }
    const int reason = errno;
    close(file_);
    file_ = -1;
    if (reason == EACCES || reason == EAGAIN) {
        throw UsageError(output, "is being written by another run; wait for it or name another output");
    }
    return false;
}

bool OutputLock::is_held(const std::string& output) {
    const std::string folder = output + ".journal";
    const int file = open((folder + "/lock").c_str(), O_RDONLY | O_CLOEXEC);
    if (file >= 0) {
        struct flock asked {};
        asked.l_type = F_WRLCK;
        asked.l_whence = SEEK_SET;
        const bool held = fcntl(file, F_GETLK, &asked) == 0 && asked.l_type != F_UNLCK;
        close(file);
        if (held) return true;
    }
    struct stat beat {};
    if (stat((folder + "/heartbeat").c_str(), &beat) != 0) return false;
    // By this machine's clock, since the folder may be one that only the run can write.
    const auto changed = std::chrono::system_clock::from_time_t(beat.st_mtim.tv_sec);
    return std::chrono::system_clock::now() - changed < Heartbeat::Beat{}.stale_after;
}

OutputLock::~OutputLock() {
    if (part_ == Part::follower && std::uncaught_exceptions() == 0) return;
    heartbeat_.reset();
    unlink((folder_ + "/lock").c_str());
    rmdir(folder_.c_str());
    if (file_ >= 0) close(file_);
}

}  // namespace candor::store
