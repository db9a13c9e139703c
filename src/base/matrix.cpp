#include "candor/base/matrix.hpp"

#include <sys/mman.h>
#include <unistd.h>

namespace candor {

void prefer_large_pages([[maybe_unused]] void* begin, [[maybe_unused]] std::size_t bytes) {
#ifdef MADV_HUGEPAGE
    constexpr std::size_t worthwhile = std::size_t{4} << 20;
    if (bytes < worthwhile) return;
    const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    const auto first = reinterpret_cast<std::uintptr_t>(begin);
    const std::uintptr_t from = (first + page - 1) / page * page;
    // A wish: where it is refused, the memory is as good.
    ::madvise(reinterpret_cast<void*>(from), (first + bytes - from) / page * page, MADV_HUGEPAGE);
#endif
}

}  // namespace candor
