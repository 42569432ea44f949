// OpenMP loops: every parallel loop writes only its own slice, so results do not depend on the number of threads.
#pragma once
#include <cstdint>
#include <exception>
#ifdef _OPENMP
#include <omp.h>
#endif

namespace lw {

inline int max_threads() {
#ifdef _OPENMP
    return omp_get_num_procs();
#else
    return 1;
#endif
}

// body(item, thread) for every item in 0..n; items are handed out in chunks, the first exception is rethrown.
template <class Body>
void parallel_for(std::int64_t n, int n_threads, std::int64_t chunk, Body&& body) {
    if (n_threads < 1) n_threads = max_threads();
#ifdef _OPENMP
    if (n_threads > 1 && n > chunk) {
        std::exception_ptr failure;
#pragma omp parallel for num_threads(n_threads) schedule(dynamic, chunk)
        for (std::int64_t i = 0; i < n; ++i) {
            try {
                body(i, omp_get_thread_num());
            } catch (...) {
#pragma omp critical(labelwood_failure)
                if (!failure) failure = std::current_exception();
            }
        }
        if (failure) std::rethrow_exception(failure);
        return;
    }
#endif
    (void)chunk;
    for (std::int64_t i = 0; i < n; ++i) body(i, 0);
}

}  // namespace lw
