#include "candor/base/memory.hpp"

#include <malloc.h>

#include <charconv>
#include <cmath>
#include <fstream>
#include <limits>
#include <string>

namespace candor {

namespace {

std::int64_t status_line(std::string_view name) {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (!line.starts_with(name)) continue;
        std::int64_t kib = 0;
        const std::size_t at = line.find_first_of("0123456789");
        if (at != std::string::npos) std::from_chars(line.data() + at, line.data() + line.size(), kib);
        return kib * 1024;
    }
    return 0;
}

}  // namespace

std::int64_t resident_bytes() {
    return status_line("VmRSS:");
}
std::int64_t peak_resident_bytes() {
    return status_line("VmHWM:");
}

void return_freed_memory() {
    // Set by hand, the threshold no longer grows with what is freed, and no thread has a heap of its own.
    mallopt(M_MMAP_THRESHOLD, 256 * 1024);
    mallopt(M_TRIM_THRESHOLD, 1024 * 1024);
    mallopt(M_ARENA_MAX, 1);
    malloc_trim(0);
}

void keep_freed_memory() {
    // A search frees and asks again for hundreds of megabytes: every page given back is a fault and a clearing.
    mallopt(M_MMAP_MAX, 0);
    mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
    mallopt(M_TOP_PAD, 64 << 20);
}

std::int64_t parse_bytes(std::string_view text) {
    double number = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, fault] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
    if (fault != std::errc() || !(number >= 0)) return -1;
    std::string unit(rest, end);
    for (char& c : unit) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
    double scale = 1;
    if (!unit.empty() && unit != "B") {
        const std::size_t power = std::string_view("KMGT").find(unit.front());
        const std::string_view after = std::string_view(unit).substr(1);
        if (power == std::string_view::npos || (!after.empty() && after != "B" && after != "IB")) return -1;
        scale = std::ldexp(1.0, 10 * (static_cast<int>(power) + 1));
    }
    const double bytes = number * scale;
    return bytes < 0x1p62 ? static_cast<std::int64_t>(bytes) : -1;
}

}  // namespace candor
