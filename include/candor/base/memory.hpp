#pragma once

/// Memory of this process, and sizes as people write them.

#include <cstdint>
#include <string_view>

namespace candor {

/// Bytes of this process that are in memory now, and the most that ever were (VmRSS, VmHWM); 0 where the
/// system does not say.
std::int64_t resident_bytes();
std::int64_t peak_resident_bytes();

/// Gives memory that was freed back to the system, now and from now on as soon as it is freed: slower, but
/// what is resident is then what is in use.
void return_freed_memory();
/// The opposite: what was freed is kept and used again.
void keep_freed_memory();

/// "512M" is 512 x 2^20 bytes; K, M, G and T, with or without a B or iB after it, in either case; a number
/// alone is bytes. -1 where `text` is no such size.
std::int64_t parse_bytes(std::string_view text);

}  // namespace candor
