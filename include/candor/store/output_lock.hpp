#pragma once

/// Two runs never write one output (DESIGN 5).

#include <memory>
#include <string>

#include "candor/store/heartbeat.hpp"

namespace candor::store {

/// Holds `<output>.journal/lock` by an fcntl lock, which dies with its process; where the file system refuses
/// locks, or HDF5_USE_FILE_LOCKING=FALSE says that they are of no use there, `<output>.journal/heartbeat`. Of
/// the ranks of a run one holds it; the others have an object too, so that whichever rank fails leaves
/// nothing behind.
class OutputLock {
  public:
    enum class Part { holder, follower };

    /// @throws UsageError where another run holds it; MachineError where the folder cannot be made (missing,
    ///         read-only, full). A follower does nothing.
    OutputLock(const std::string& output, Part part);
    /// Removes the file and, where nothing else is in it, the folder, and releases the lock; a follower
    /// removes them only while a failure unwinds.
    ~OutputLock();
    OutputLock(const OutputLock&) = delete;
    OutputLock& operator=(const OutputLock&) = delete;

    /// Whether a run is at work on `output`, as far as can be seen from here; a look changes nothing.
    static bool is_held(const std::string& output);

  private:
    bool lock(const std::string& output);

    std::string folder_;
    Part part_;
    int file_ = -1;
    std::unique_ptr<Heartbeat> heartbeat_;
};

}  // namespace candor::store
