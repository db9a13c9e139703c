#pragma once

/// A file gets its final name only once it is complete (STYLE 14).

#include <string>

namespace candor::store {

/// `path` + ".part": the name of a file while it is written.
std::string part_of(const std::string& path);

/// Nothing that a user keeps is ever replaced by mistake: an output is a name that does not exist yet, or an
/// ordinary file. A folder, a device, a pipe and a symbolic link are none (a rename would put a file in their
/// place).
/// @throws UsageError naming what is there.
void require_output_name(const std::string& path);

/// @throws UsageError where both names lead to one file, by whatever links.
void require_other_file(const std::string& output, const std::string& input);

/// Whether the disk that `path` is to be on has as good as no room left, as far as the system says.
bool is_full(const std::string& path);

/// Brings the finished `part_of(path)` to disk and renames it to `path`. @throws MachineError.
void publish(const std::string& path);

/// Removes `part_of(path)` where it exists; never throws.
void discard(const std::string& path) noexcept;

}  // namespace candor::store
