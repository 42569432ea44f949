// The best few of many numbers, without a branch that depends on them: nobody could predict it.
#include <algorithm>

#include "simd.hpp"
#include "topk.hpp"

namespace lw::LW_LEVEL {
namespace {

constexpr int kGroups = 32;

#if defined(__AVX512F__)
// Keys stay in registers while the fresh ones go by: each place gets the better of what it has and the worse of the fresh key
// and what is before it.
template <int kVectors>
void put_all(std::uint64_t* keys, const std::uint64_t* fresh, int n_fresh) {
    __m512i part[kVectors];
    for (int v = 0; v < kVectors; ++v) part[v] = _mm512_loadu_si512(keys + 8 * v);
    for (int i = 0; i < n_fresh; ++i) {
        const __m512i one = _mm512_set1_epi64(static_cast<long long>(fresh[i]));
        // The masked forms with all lanes: GCC 12 warns of the plain ones.
        for (int v = kVectors - 1; v >= 0; --v) {
            const __m512i before = v ? part[v ? v - 1 : 0] : _mm512_set1_epi64(-1);
            const __m512i worse = _mm512_maskz_min_epu64(0xff, _mm512_maskz_alignr_epi64(0xff, part[v], before, 7), one);
            part[v] = _mm512_maskz_max_epu64(0xff, part[v], worse);
        }
    }
    for (int v = 0; v < kVectors; ++v) _mm512_storeu_si512(keys + 8 * v, part[v]);
}
#endif

}  // namespace

// Keeps the best of the keys, which fall, and of the fresh ones; n_keys is 8, 16, 32, 64 or 128.
void put_best_keys(std::uint64_t* keys, int n_keys, const std::uint64_t* fresh, int n_fresh) {
#if defined(__AVX512F__)
    if (n_keys == 8) return put_all<1>(keys, fresh, n_fresh);
    if (n_keys == 16) return put_all<2>(keys, fresh, n_fresh);
    if (n_keys == 32) return put_all<4>(keys, fresh, n_fresh);
    if (n_keys == 64) return put_all<8>(keys, fresh, n_fresh);
    if (n_keys == 128) return put_all<16>(keys, fresh, n_fresh);
#endif
    for (int i = 0; i < n_fresh; ++i) {
        std::uint64_t one = fresh[i];
        if (one <= keys[n_keys - 1]) continue;
        for (int place = n_keys - 1; place > 0; --place) {
            const std::uint64_t worse = keys[place - 1] < one ? keys[place - 1] : one;
            keys[place] = keys[place] < worse ? worse : keys[place];
        }
        keys[0] = keys[0] < one ? one : keys[0];
    }
}

// The place of the best of n keys, the first of equal ones; n is at least 1.
int best_key(const std::uint64_t* keys, int n) {
#if defined(__AVX512F__)
    __m512i most = _mm512_setzero_si512();
    const auto part = [&](int begin) {
        return _mm512_maskz_loadu_epi64(static_cast<__mmask8>(n - begin >= 8 ? 0xff : (1u << (n - begin)) - 1), keys + begin);
    };
    for (int i = 0; i < n; i += 8) most = _mm512_maskz_max_epu64(0xff, most, part(i));
    std::uint64_t lanes[8];
    _mm512_storeu_si512(lanes, most);
    const __m512i wanted = _mm512_set1_epi64(static_cast<long long>(*std::max_element(lanes, lanes + 8)));
    for (int i = 0;; i += 8)
        if (const unsigned same = _mm512_cmpeq_epu64_mask(part(i), wanted)) return i + __builtin_ctz(same);
#endif
    std::uint64_t best = keys[0];
    for (int i = 1; i < n; ++i) best = best < keys[i] ? keys[i] : best;
    int place = 0;
    while (keys[place] != best) ++place;
    return place;
}

// A number that at least k of the n numbers reach, near the k-th best of them; minus infinity if it finds none. k is at most 32.
float reached_by(const float* numbers, int n, int k) {
    // Numbers that are no numbers reach nothing. The k-th best of the groups' largest ones is reached by k groups.
    alignas(64) float largest[kGroups];
    for (int g = 0; g < kGroups; ++g) largest[g] = -__builtin_inff();
    int begin = 0;
    for (; begin + kGroups <= n; begin += kGroups)
        for (int g = 0; g < kGroups; ++g) largest[g] = numbers[begin + g] > largest[g] ? numbers[begin + g] : largest[g];
    for (int g = 0; begin + g < n; ++g) largest[g] = numbers[begin + g] > largest[g] ? numbers[begin + g] : largest[g];
    float best = -__builtin_inff();
#if defined(__AVX512F__)
    const __m512 low = _mm512_load_ps(largest), high = _mm512_load_ps(largest + 16);
    for (int g = 0; g < kGroups; ++g) {
        const __m512 one = _mm512_set1_ps(largest[g]);
        const unsigned reach = static_cast<unsigned>(_mm512_cmp_ps_mask(low, one, _CMP_GE_OQ)) | static_cast<unsigned>(_mm512_cmp_ps_mask(high, one, _CMP_GE_OQ)) << 16;
        const bool enough = __builtin_popcount(reach) >= k && largest[g] > best;
        best = enough ? largest[g] : best;
    }
    return best;
#endif
    for (int g = 0; g < kGroups; ++g) {
        int n_reach = 0;
        for (int other = 0; other < kGroups; ++other) n_reach += largest[other] >= largest[g];
        const bool enough = n_reach >= k && largest[g] > best;
        best = enough ? largest[g] : best;
    }
    return best;
}

// Adds up the scores of each label, in the order given, and returns how many labels there are; names and totals, in the order of
// their first coming, have room for n of them, at most kMostAddedUp.
int add_up(const Scored* found, int n, std::int32_t* names, float* totals) {
    int kept = 0;
#if defined(__AVX512F__)
    // The names stay in registers: what was just stored piece by piece could not be loaded whole without waiting.
    __m512i part[kMostAddedUp / 16];
    for (__m512i& names_here : part) names_here = _mm512_set1_epi32(-1);
    for (int i = 0; i < n; ++i) {
        const __m512i wanted = _mm512_set1_epi32(found[i].label);
        std::uint64_t same = 0;
        for (int v = 0; v < kMostAddedUp / 16; ++v) same |= static_cast<std::uint64_t>(_mm512_cmpeq_epi32_mask(part[v], wanted)) << (16 * v);
        const int place = same ? __builtin_ctzll(same) : kept;
        const std::uint64_t here = 1ull << place;
        for (int v = 0; v < kMostAddedUp / 16; ++v) part[v] = _mm512_mask_mov_epi32(part[v], static_cast<__mmask16>(here >> (16 * v)), wanted);
#else
    for (int i = 0; i < n; ++i) {
        int place = kept;
        for (int other = 0; other < kept; ++other) place = names[other] == found[i].label ? other : place;
#endif
        totals[place] = (place < kept ? totals[place] : 0.0f) + found[i].score;
        names[place] = found[i].label;
        kept += place == kept;
    }
    return kept;
}

}  // namespace lw::LW_LEVEL
