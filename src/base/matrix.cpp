#include "candor/base/matrix.hpp"

#include <sys/mman.h>

namespace candor {

void prefer_large_pages([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t bytes) {
#ifdef MADV_HUGEPAGE
    constexpr std::size_t large = std::size_t{4} << 20, page = 4096;
    if (bytes < large) return;
    const auto address = reinterpret_cast<std::uintptr_t>(memory);
    const std::size_t skipped = (page - address % page) % page;
    // Advice: where it is not taken nothing is lost.
    (void)madvise(static_cast<char*>(memory) + skipped, (bytes - skipped) / page * page, MADV_HUGEPAGE);
#endif
}

}  // namespace candor
