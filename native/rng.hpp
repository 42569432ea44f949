// Randomness keyed by (seed, item): the same numbers for any number of threads.
#pragma once
#include <cstdint>

#ifndef LW_LEVEL
#define LW_LEVEL plain
#endif

namespace lw {
inline namespace LW_LEVEL {  // see simd.hpp

// splitmix64: passes BigCrush, one multiply chain a draw, any 64-bit state is a good seed.
class Rng {
public:
    Rng(std::uint64_t seed, std::uint64_t item, std::uint64_t step = 0)
        : state_(mix(seed ^ mix(item + 0x9e3779b97f4a7c15ull)) ^ mix(step * 0xd1342543de82ef95ull + 1)) {}

    std::uint64_t next() {
        state_ += 0x9e3779b97f4a7c15ull;
        return mix(state_);
    }
    // Uniform in 0..n-1 by a multiply (bias below n / 2^32).
    std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(((next() >> 32) * n) >> 32); }
    double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

    template <class T>
    void shuffle(T* items, std::uint32_t n) {
        for (std::uint32_t i = n; i > 1; --i) {
            const std::uint32_t j = below(i);
            const T kept = items[i - 1];
            items[i - 1] = items[j];
            items[j] = kept;
        }
    }

private:
    static std::uint64_t mix(std::uint64_t z) {
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
        return z ^ (z >> 31);
    }
    std::uint64_t state_;
};

}  // namespace LW_LEVEL
}  // namespace lw
