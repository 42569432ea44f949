// 16 float lanes on whatever vectors the compiled level has, and half floats.
//
// The 64 bytes are cut into the level's native registers by hand: GCC keeps such pieces in registers, while a plain
// 64-byte vector type on an AVX2 target goes through the stack (measured 2x slower in the solver's inner loop).
#pragma once
#include <cstdint>
#include <cstring>
#if defined(__F16C__)
#include <immintrin.h>
#endif

// Hot files define LW_LEVEL. The inline namespace gives every inline function a name of its own per level; without it
// the linker would keep one copy for all, perhaps the AVX-512 one, and crash on older CPUs. For the same reason hot
// files use no std:: templates.
#ifndef LW_LEVEL
#define LW_LEVEL plain
#endif

namespace lw {
inline namespace LW_LEVEL {

inline float half_to_float(std::uint16_t h) {
#if defined(__F16C__)
    return _cvtsh_ss(h);
#else
    const std::uint32_t sign = static_cast<std::uint32_t>(h & 0x8000u) << 16;
    const std::uint32_t rest = h & 0x7fffu;
    std::uint32_t bits;
    float out;
    if (rest >= 0x7c00u) {
        bits = sign | 0x7f800000u | ((rest & 0x3ffu) << 13);
    } else if (rest >= 0x400u) {
        bits = sign | ((rest + 0x1c000u) << 13);
    } else {  // subnormal: rest * 2^-24 is exact
        out = static_cast<float>(rest) * 0x1.0p-24f;
        return sign ? -out : out;
    }
    std::memcpy(&out, &bits, 4);
    return out;
#endif
}

inline std::uint16_t float_to_half(float value) {  // round to nearest even; beyond the range: largest finite half
    std::uint32_t bits;
    std::memcpy(&bits, &value, 4);
    const std::uint16_t sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000u);
    const std::uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude >= 0x477ff000u) return sign | 0x7bffu;
    if (magnitude < 0x38800000u) {  // subnormal half: add 0.5 so that the float adder rounds to a multiple of 2^-24
        float shifted;
        std::memcpy(&shifted, &magnitude, 4);
        shifted += 0.5f;
        std::uint32_t shifted_bits;
        std::memcpy(&shifted_bits, &shifted, 4);
        return static_cast<std::uint16_t>(sign | (shifted_bits - 0x3f000000u));
    }
    const std::uint32_t odd = (magnitude >> 13) & 1u;
    return static_cast<std::uint16_t>(sign | ((magnitude - 0x38000000u + 0xfffu + odd) >> 13));
}

#if defined(__AVX512F__)
inline constexpr int kPieces = 1;
#elif defined(__AVX__)
inline constexpr int kPieces = 2;
#else
inline constexpr int kPieces = 4;
#endif
inline constexpr int kLanes = 16;
inline constexpr int kPieceLanes = kLanes / kPieces;

typedef float fpiece __attribute__((vector_size(64 / kPieces)));
typedef float loose_fpiece __attribute__((vector_size(64 / kPieces), aligned(4), may_alias));
typedef std::int32_t ipiece __attribute__((vector_size(64 / kPieces)));

// Sixteen floats; all operations are lane by lane.
struct F16 {
    fpiece part[kPieces];

    static F16 all(float v) {
        F16 r;
        for (int i = 0; i < kPieces; ++i) r.part[i] = fpiece{} + v;
        return r;
    }
    static F16 load(const float* p) {
        // Piece by piece: a 64-byte memcpy goes through the stack in 16-byte parts and stalls (measured 4x slower).
        F16 r;
        for (int i = 0; i < kPieces; ++i) r.part[i] = *reinterpret_cast<const loose_fpiece*>(p + i * kPieceLanes);
        return r;
    }
    void store(float* p) const {
        for (int i = 0; i < kPieces; ++i) *reinterpret_cast<loose_fpiece*>(p + i * kPieceLanes) = part[i];
    }
    float lane(int i) const { return part[i / kPieceLanes][i % kPieceLanes]; }
};

#define LW_LANEWISE(op)                                                          \
    inline F16 operator op(const F16& a, const F16& b) {                         \
        F16 r;                                                                   \
        for (int i = 0; i < kPieces; ++i) r.part[i] = a.part[i] op b.part[i];    \
        return r;                                                                \
    }                                                                            \
    inline F16 operator op(const F16& a, float b) {                              \
        F16 r;                                                                   \
        for (int i = 0; i < kPieces; ++i) r.part[i] = a.part[i] op b;            \
        return r;                                                                \
    }
LW_LANEWISE(+)
LW_LANEWISE(-)
LW_LANEWISE(*)
LW_LANEWISE(/)
#undef LW_LANEWISE

inline F16 max(const F16& a, const F16& b) {
    F16 r;
    for (int i = 0; i < kPieces; ++i) r.part[i] = a.part[i] > b.part[i] ? a.part[i] : b.part[i];
    return r;
}
inline F16 min(const F16& a, const F16& b) {
    F16 r;
    for (int i = 0; i < kPieces; ++i) r.part[i] = a.part[i] < b.part[i] ? a.part[i] : b.part[i];
    return r;
}
inline F16 abs(const F16& a) { return max(a, F16::all(0.0f) - a); }

inline float max_lane(const F16& a) {
    fpiece m = a.part[0];
    for (int i = 1; i < kPieces; ++i) m = m > a.part[i] ? m : a.part[i];
    float best = m[0];
    for (int i = 1; i < kPieceLanes; ++i) best = best < m[i] ? m[i] : best;
    return best;
}
inline float min_lane(const F16& a) { return -max_lane(F16::all(0.0f) - a); }

// `on` where bit i of the mask is set, `off` elsewhere.
inline F16 choose(std::uint32_t mask, const F16& on, const F16& off) {
    F16 r;
    for (int p = 0; p < kPieces; ++p) {
        ipiece bit;
        for (int i = 0; i < kPieceLanes; ++i) bit[i] = static_cast<std::int32_t>(1u << (p * kPieceLanes + i));
        const ipiece set = (ipiece{} + static_cast<std::int32_t>(mask)) & bit;
        r.part[p] = set != 0 ? on.part[p] : off.part[p];
    }
    return r;
}
}  // namespace LW_LEVEL
}  // namespace lw
