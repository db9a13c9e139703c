#pragma once

/// What one query sees of a list of candidates: a prefix without itself (METHODS 3).

#include <cstdint>

namespace candor {

/// The first `end` entries of a candidate list, without entry `skip`.
struct Reach {
    std::int64_t end = 0;
    std::int64_t skip = -1;  ///< position in the list, or -1
    std::int64_t size() const { return end - (skip >= 0 && skip < end ? 1 : 0); }
};

}  // namespace candor
