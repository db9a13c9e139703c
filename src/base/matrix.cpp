#include "candor/base/matrix.hpp"

#include <sys/mman.h>

#include <cstdlib>
#include <new>

namespace candor {

void* allocate_aligned(std::size_t bytes) {
    constexpr std::size_t line = 64, page = std::size_t{2} << 20;
    const bool large = bytes >= page;
    const std::size_t alignment = large ? page : line;
    void* const memory = std::aligned_alloc(alignment, (bytes + line - 1) / line * line);
    if (memory == nullptr) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
    // Advice: where it is not taken nothing is lost. The last, partial page stays as it is.
    if (large) (void)madvise(memory, bytes / page * page, MADV_HUGEPAGE);
#endif
    return memory;
}

void free_aligned(void* memory) {
    std::free(memory);
}

}  // namespace candor
