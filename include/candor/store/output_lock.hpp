#pragma once

/// Two runs never write one output (DESIGN 5).

#include <string>

namespace candor::store {

/// Holds `<output>.journal/lock` by an fcntl lock, which dies with its process. Of the ranks of a run one
/// holds it; the others have an object too, so that whichever rank fails leaves nothing behind.
class OutputLock {
  public:
    enum class Part { holder, follower };

    /// @throws UsageError where another run holds it; MachineError where the folder cannot be made (missing,
    ///         read-only, full) or the file system refuses locks. A follower does nothing.
    OutputLock(const std::string& output, Part part);
    /// Removes the file and, where nothing else is in it, the folder, and releases the lock; a follower
    /// removes them only while a failure unwinds.
    ~OutputLock();
    OutputLock(const OutputLock&) = delete;
    OutputLock& operator=(const OutputLock&) = delete;

  private:
    std::string folder_;
    Part part_;
    int file_ = -1;
};

}  // namespace candor::store
