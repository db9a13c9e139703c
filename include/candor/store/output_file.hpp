#pragma once

/// A file gets its final name only once it is complete (STYLE 14).

#include <string>

namespace candor::store {

/// `path` + ".part": the name of a file while it is written.
std::string part_of(const std::string& path);

/// Brings the finished `part_of(path)` to disk and renames it to `path`. @throws MachineError.
void publish(const std::string& path);

/// Removes `part_of(path)` where it exists; never throws.
void discard(const std::string& path) noexcept;

}  // namespace candor::store
