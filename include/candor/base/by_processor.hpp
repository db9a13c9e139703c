#pragma once

/// CANDOR_BY_PROCESSOR before a function: one source, compiled for several vector widths and chosen when the
/// program starts. The build forbids contraction, so that the bits of a loop over elements do not depend on
/// the choice; a sum needs lanes of its own (sum.hpp).
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define CANDOR_BY_PROCESSOR __attribute__((target_clones("default", "avx2", "avx512f")))
#else
#define CANDOR_BY_PROCESSOR
#endif
