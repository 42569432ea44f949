// What this machine can do with one thread: memory bandwidth (STREAM's triad), random cache lines, vector arithmetic.
// Prints one line of JSON. Compiled and run by limits.py.
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <vector>

namespace {

// Processor time: others may use the machine.
double now() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

// The fastest of some tries.
template <class Work>
double fastest(int tries, Work&& work) {
    double best = 1e30;
    for (int i = 0; i < tries; ++i) {
        const double start = now();
        work();
        const double took = now() - start;
        best = took < best ? took : best;
    }
    return best;
}

volatile float kept;

}  // namespace

int main() {
    const std::size_t n = 1 << 24;  // 64 MB each: beyond the last cache
    std::vector<float> a(n, 1.0f), b(n, 2.0f), c(n, 3.0f);
    const double triad = fastest(8, [&] {
        for (std::size_t i = 0; i < n; ++i) a[i] = b[i] + 0.5f * c[i];
        kept = a[n / 2];
    });

    // Independent reads of single lines all over 64 MB, and of 16 MB and 256 KB; and a chain where each read names the next.
    std::uint64_t state = 1;
    const auto random = [&] { return state = state * 6364136223846793005ull + 1442695040888963407ull, state >> 33; };
    const int reads = 1 << 20;
    std::vector<std::uint32_t> places(reads);
    const auto lines = [&](std::size_t bytes) {
        for (auto& place : places) place = static_cast<std::uint32_t>(random() % (bytes / 64)) * 16;
        return 1e9 / reads * fastest(6, [&] {
            float sum = 0;
            for (const std::uint32_t place : places) sum += b[place];
            kept = sum;
        });
    };
    const double far = lines(n * 4), middle = lines(16 << 20), near = lines(256 << 10);

    // Ten accumulators of sixteen floats hide the latency of multiply and add.
    typedef float wide __attribute__((vector_size(64)));
    wide sums[10] = {};
    const wide factor = wide{} + 1.0000001f, more = wide{} + 1e-9f;
    const int rounds = 1 << 22;
    const double arithmetic = fastest(5, [&] {
        for (int r = 0; r < rounds; ++r)
            for (wide& sum : sums) sum = sum * factor + more;
        kept = sums[3][5];
    });
    std::printf("{\"triad_gb_s\": %.2f, \"line_ns_64mb\": %.2f, \"line_ns_16mb\": %.2f, \"line_ns_256kb\": %.2f, \"gflops\": %.1f}\n",
                3.0 * n * 4 / triad / 1e9, far, middle, near, 2.0 * 16 * 10 * rounds / arithmetic / 1e9);
}
