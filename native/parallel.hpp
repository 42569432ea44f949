// Parallel loops: every loop writes only its own slices, so results do not depend on the number of threads.
//
// Threads end with the loop that started them. Nothing is left that a fork could break, and a loop costs some 20 us a
// thread, which its work overlaps.
#pragma once
#include <cstdint>

#include "interrupt.hpp"

namespace lw {

// The processors that this process may use, at most OMP_NUM_THREADS if that was a positive whole number at the start.
int max_threads();

// A reference to a function of (first item, end, thread).
struct RangeBody {
    void* object;
    void (*call)(void* object, std::int64_t begin, std::int64_t end, int thread);
};

// Hands out 0..n in chunks to the calling thread (number 0) and the threads it starts.
void share_out(std::int64_t n, int n_threads, std::int64_t chunk, RangeBody body);

// body(item, thread) for every item in 0..n with thread < n_threads (all processors if below 1); items are handed out in
// chunks, the first exception ends the loop and is rethrown. Inside another parallel loop it runs in the thread it is in.
template <class Body>
void parallel_for(std::int64_t n, int n_threads, std::int64_t chunk, Body&& body) {
    const auto run = [&](std::int64_t begin, std::int64_t end, int thread) {
        for (std::int64_t i = begin; i < end; ++i) {
            check_interrupt();
            body(i, thread);
        }
    };
    const auto call = [](void* object, std::int64_t begin, std::int64_t end, int thread) {
        (*static_cast<decltype(run)*>(object))(begin, end, thread);
    };
    share_out(n, n_threads, chunk, {const_cast<void*>(static_cast<const void*>(&run)), call});
}

// Counts small steps of a loop and looks for an interrupt at every 64th.
class Pulse {
public:
    void beat() {
        if ((++n_ & 63) == 0) check_interrupt();
    }

private:
    unsigned n_ = 0;
};

}  // namespace lw
