#include "parallel.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>
#ifdef __linux__
#include <sched.h>
#include <time.h>
#endif

namespace lw {
namespace {

constexpr std::int64_t kLookEvery = 50'000'000;  // ns between two looks for an interrupt

// A parallel loop that runs.
struct Loop {
    std::atomic<std::int64_t> next{0};
    std::atomic<bool> failed{false};
    std::mutex mutex;
    std::condition_variable ended;
    int n_running = 0;           // threads that were started and have not ended
    std::exception_ptr failure;  // the first one
};

// Ends a thread's share of a loop that failed elsewhere.
struct LoopFailed : std::exception {
    const char* what() const noexcept override { return "the loop failed in another thread"; }
};

std::atomic<InterruptCheck> interrupt_check{nullptr};
thread_local Loop* loop_of_thread = nullptr;
thread_local bool is_worker = false;  // started by a loop: the caller's thread asks, not this one
thread_local std::int64_t next_look = 0;

// Nanoseconds on a clock that only rises; it may move in steps of some milliseconds.
std::int64_t now() {
#ifdef CLOCK_MONOTONIC_COARSE
    timespec time;  // 5 ns, where the exact clock takes 25
    clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
    return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
#else
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
#endif
}

void note_failure(Loop& loop) {
    const std::lock_guard lock(loop.mutex);
    if (!loop.failure) loop.failure = std::current_exception();
    loop.failed.store(true, std::memory_order_relaxed);
}

void take_chunks(Loop& loop, std::int64_t n, std::int64_t chunk, const RangeBody& body, int thread) {
    try {
        while (!loop.failed.load(std::memory_order_relaxed)) {
            const std::int64_t begin = loop.next.fetch_add(chunk, std::memory_order_relaxed);
            if (begin >= n) break;
            body.call(body.object, begin, std::min(n, begin + chunk), thread);
        }
    } catch (const LoopFailed&) {  // the failure itself is noted where it happened
    } catch (...) {
        note_failure(loop);
    }
}

void work(Loop& loop, std::int64_t n, std::int64_t chunk, const RangeBody& body, int thread) {
    is_worker = true;
    loop_of_thread = &loop;
    take_chunks(loop, n, chunk, body, thread);
    const std::lock_guard lock(loop.mutex);
    if (--loop.n_running == 0) loop.ended.notify_one();
}

// The caller's thread has nothing left to do: it waits for the others and still looks for interrupts.
void await(Loop& loop) {
    std::unique_lock lock(loop.mutex);
    while (!loop.ended.wait_for(lock, std::chrono::nanoseconds(kLookEvery), [&] { return loop.n_running == 0; })) {
        lock.unlock();
        try {
            check_interrupt();
        } catch (const LoopFailed&) {
        } catch (...) {
            note_failure(loop);
        }
        lock.lock();
    }
}

int wished_threads() {
    const char* text = std::getenv("OMP_NUM_THREADS");
    if (!text || *text < '0' || *text > '9') return 0;
    char* end = nullptr;
    errno = 0;
    const long wished = std::strtol(text, &end, 10);
    return errno == 0 && *end == '\0' && wished <= 1'000'000 ? static_cast<int>(wished) : 0;
}

const int most_threads = wished_threads();  // read once: the environment may change while threads run

int n_processors() {
#ifdef __linux__
    // Machines with more processors than cpu_set_t holds (1024) fail here and count them all.
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) return std::max(1, CPU_COUNT(&allowed));
#endif
    return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace

void set_interrupt_check(InterruptCheck check) { interrupt_check = check; }

void begin_call() { next_look = now() + kLookEvery; }

void check_interrupt() {
    Loop* const loop = loop_of_thread;
    if (loop && loop->failed.load(std::memory_order_relaxed)) throw LoopFailed();
    if (is_worker) return;
    const std::int64_t time = now();
    if (time < next_look) return;
    next_look = time + kLookEvery;
    const InterruptCheck check = interrupt_check.load(std::memory_order_relaxed);
    if (!check) return;
    // The caller may run anything meanwhile, loops of its own too, which have nothing to do with this one.
    loop_of_thread = nullptr;
    try {
        check();
    } catch (...) {
        loop_of_thread = loop;
        throw;
    }
    loop_of_thread = loop;
}

int max_threads() {
    const int processors = n_processors();
    return most_threads > 0 ? std::min(most_threads, processors) : processors;
}

void share_out(std::int64_t n, int n_threads, std::int64_t chunk, RangeBody body) {
    if (n_threads < 1) n_threads = max_threads();
    const std::int64_t n_chunks = (n + chunk - 1) / chunk;
    if (n_threads == 1 || n_chunks <= 1 || loop_of_thread) {
        body.call(body.object, 0, n, 0);
        return;
    }
    Loop loop;
    std::vector<std::thread> workers;
    const int n_workers = static_cast<int>(std::min<std::int64_t>(n_threads, n_chunks)) - 1;
    workers.reserve(static_cast<std::size_t>(n_workers));
    loop.n_running = n_workers;
    for (int w = 0; w < n_workers; ++w) {
        try {
            workers.emplace_back([&loop, n, chunk, body, w] { work(loop, n, chunk, body, w + 1); });
        } catch (const std::system_error&) {  // no more threads to be had: those there are do all the work
            const std::lock_guard lock(loop.mutex);
            loop.n_running -= n_workers - w;
            break;
        }
    }
    loop_of_thread = &loop;
    take_chunks(loop, n, chunk, body, 0);
    await(loop);
    loop_of_thread = nullptr;
    for (std::thread& worker : workers) worker.join();
    if (loop.failure) std::rethrow_exception(loop.failure);
}

}  // namespace lw
