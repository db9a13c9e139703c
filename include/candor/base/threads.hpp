#pragma once

/// Loops shared by the threads of a rank.

#include <cstdint>
#include <exception>
#include <mutex>

namespace candor {

/// Calls `body(i)` for i = 0 .. count-1 on `threads` threads, in any order. The first exception of a body is
/// thrown again here once all have stopped.
template <class Body>
void for_each_on_threads(int threads, std::int64_t count, Body body) {
    std::exception_ptr failure;
    std::mutex guard;
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (std::int64_t i = 0; i < count; ++i) {
        try {
            body(i);
        } catch (...) {
            const std::lock_guard lock(guard);
            if (!failure) failure = std::current_exception();
        }
    }
    if (failure) std::rethrow_exception(failure);
}

}  // namespace candor
