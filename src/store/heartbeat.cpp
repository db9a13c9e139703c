#include "candor/store/heartbeat.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "candor/base/error.hpp"

namespace candor::store {

namespace {

constexpr const char* remedy = "see to the rights of its folder, or name another output";

std::chrono::nanoseconds time_of_change(const struct stat& file) {
    return std::chrono::seconds(file.st_mtim.tv_sec) + std::chrono::nanoseconds(file.st_mtim.tv_nsec);
}

/// Unique among the machines and processes that may write the folder.
std::string own_name(const std::string& path) {
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    return path + "-" + host + "-" + std::to_string(getpid());
}

/// How long ago a file was changed, by the clock of its file system: clocks of machines differ. Nothing where
/// there is none.
std::optional<Heartbeat::Duration> age_of(const std::string& path) {
    struct stat file {};
    if (stat(path.c_str(), &file) != 0) return std::nullopt;
    const std::string probe = own_name(path) + "-now";
    const int made = open(probe.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    struct stat now {};
    const bool known = made >= 0 && fstat(made, &now) == 0;
    const int reason = errno;
    if (made >= 0) close(made);
    unlink(probe.c_str());
    if (!known) throw MachineError(probe, std::string("cannot be made: ") + std::strerror(reason), remedy);
    return std::chrono::duration_cast<Heartbeat::Duration>(time_of_change(now) - time_of_change(file));
}

}  // namespace

void Heartbeat::require_none(const std::string& path, const std::string& what, Duration stale_after) {
    const auto age = age_of(path);
    if (!age) return;
    if (*age < stale_after) {
        const auto seconds = [](Duration time) { return std::to_string(time.count() / 1000) + " s"; };
        throw UsageError(what, "is being written by another run, which was alive " + seconds(*age) +
                                   " ago; wait for it or, where it was killed, " +
                                   seconds(stale_after - *age));
    }
    // Of several that find it stale one gets it out of the way.
    const std::string own = own_name(path);
    if (rename(path.c_str(), own.c_str()) == 0) unlink(own.c_str());
}

Heartbeat::Heartbeat(const std::string& path, const std::string& what, Beat beat) : path_(path) {
    for (;;) {
        const int made = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (made >= 0) {
            close(made);
            break;
        }
        if (errno != EEXIST)
            throw MachineError(path, std::string("cannot be made: ") + std::strerror(errno), remedy);
        require_none(path, what, beat.stale_after);
    }
    beating_ = std::thread([this, every = beat.every] {
        std::unique_lock lock(mutex_);
        while (!ended_.wait_for(lock, every, [this] { return end_; }))
            utimensat(AT_FDCWD, path_.c_str(), nullptr, 0);
    });
}

Heartbeat::~Heartbeat() {
    {
        const std::lock_guard lock(mutex_);
        end_ = true;
    }
    ended_.notify_all();
    beating_.join();
    unlink(path_.c_str());
}

}  // namespace candor::store
