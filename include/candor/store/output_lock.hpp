#pragma once

/// Two runs never write one output (DESIGN 5).

#include <string>

namespace candor::store {

/// Holds `<output>.journal/lock` by an fcntl lock, which dies with its process.
class OutputLock {
  public:
    /// @throws UsageError where another run holds it; MachineError where the folder cannot be made (missing,
    /// read-only,
    ///         full) or the file system refuses locks.
    explicit OutputLock(const std::string& output);
    /// Releases the lock and removes the file and, where nothing else is in it, the folder.
    ~OutputLock();
    OutputLock(const OutputLock&) = delete;
    OutputLock& operator=(const OutputLock&) = delete;

  private:
    std::string folder_;
    int file_ = -1;
};

}  // namespace candor::store
