#pragma once

/// A journal: records of bytes that survive whatever ends the program. Each process appends to files of its
/// own, so that nobody waits for anybody; a record that was cut off is as if it had never been written.

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "candor/base/hash.hpp"

namespace candor::store {

/// A file of records while it is written. It is made with the first record.
class JournalWriter {
  public:
    /// @param identity of what the records belong to; a reader that expects another finds none.
    JournalWriter(std::string path, const Digest& identity);
    ~JournalWriter();
    JournalWriter(const JournalWriter&) = delete;
    JournalWriter& operator=(const JournalWriter&) = delete;

    /// Appends a record and hands it to the operating system: it outlives this process, and what was appended
    /// 30 s ago outlives the machine. @throws MachineError where it cannot be written.
    void append(std::string_view record);
    /// Brings all of it to the disk. @throws MachineError.
    void sync();

  private:
    void write_all(std::string_view bytes);

    std::string path_;
    Digest identity_;
    int file_ = -1;
    std::chrono::steady_clock::time_point synced_;
};

/// Calls `take` with each record of `path` up to the first that is not whole. @returns the bytes that follow
/// it; all of the file where it was begun for something else. @throws MachineError where it cannot be read.
std::int64_t read_journal(const std::string& path, const Digest& identity,
                          const std::function<void(std::string_view)>& take);

}  // namespace candor::store
