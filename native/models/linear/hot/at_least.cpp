// The few children of a block that are good enough to matter.
#include "models/linear/blocks.hpp"
#include "simd.hpp"

namespace lw::LW_LEVEL {

// Writes the places of the numbers that are at least `least`, ascending, and returns how many; n is at most 256.
int at_least(const float* numbers, int n, float least, std::uint8_t* places) {
    int found = 0, i = 0;
#if defined(__AVX512F__)
    const __m512 bound = _mm512_set1_ps(least);
    for (; i < n; i += 16) {
        const __mmask16 there = static_cast<__mmask16>(n - i >= 16 ? 0xffff : (1u << (n - i)) - 1);
        const __m512 some = _mm512_maskz_loadu_ps(there, numbers + i);
        for (unsigned mask = _mm512_mask_cmp_ps_mask(there, some, bound, _CMP_GE_OQ); mask; mask &= mask - 1)
            places[found++] = static_cast<std::uint8_t>(i + __builtin_ctz(mask));
    }
#elif defined(__AVX2__)
    const __m256 bound = _mm256_set1_ps(least);
    for (; i + 8 <= n; i += 8) {
        const int hits = _mm256_movemask_ps(_mm256_cmp_ps(_mm256_loadu_ps(numbers + i), bound, _CMP_GE_OQ));
        for (unsigned mask = static_cast<unsigned>(hits); mask; mask &= mask - 1)
            places[found++] = static_cast<std::uint8_t>(i + __builtin_ctz(mask));
    }
#endif
    for (; i < n; ++i) {
        if (numbers[i] >= least) places[found++] = static_cast<std::uint8_t>(i);
    }
    return found;
}

}  // namespace lw::LW_LEVEL
