#pragma once

/// Who is at work in a folder of a file system that has no locks (DESIGN 5).

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace candor::store {

/// A file whose time of change says that its maker is alive. It does not die with its process as a lock does:
/// what a killed process leaves behind counts as another's until it is stale.
class Heartbeat {
  public:
    using Duration = std::chrono::milliseconds;
    struct Beat {
        Duration every{20'000};         ///< between two changes
        Duration stale_after{120'000};  ///< unchanged for so long, its maker is dead
    };

    /// Removes the file where it is stale. @throws UsageError naming `what` where its maker is alive;
    /// MachineError where the folder cannot be written.
    static void require_none(const std::string& path, const std::string& what, Duration stale_after);

    /// Makes the file, in place of one that is stale, and changes it from now on. @throws as require_none.
    Heartbeat(const std::string& path, const std::string& what, Beat beat);
    Heartbeat(const std::string& path, const std::string& what) : Heartbeat(path, what, Beat{}) {}
    /// Removes it.
    ~Heartbeat();
    Heartbeat(const Heartbeat&) = delete;
    Heartbeat& operator=(const Heartbeat&) = delete;

  private:
    std::string path_;
    std::mutex mutex_;
    std::condition_variable ended_;
    bool end_ = false;
    std::thread beating_;
};

}  // namespace candor::store
