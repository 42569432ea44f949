// RankKey: a score and a number as one key: a larger score is a larger key, and of equal scores the smaller number is.
#pragma once
#include <bit>
#include <cstdint>

namespace lw {

// Orders that are kept in keys never depend on what came first, and compare in one step, without a jump.
using RankKey = std::uint64_t;

inline RankKey rank_key(float score, std::int32_t number) {
    const auto bits = std::bit_cast<std::uint32_t>(score + 0.0f);  // one zero
    const std::uint32_t rising = bits >> 31 ? ~bits : bits | 0x80000000u;
    return static_cast<RankKey>(rising) << 32 | (0xffffffffu - static_cast<std::uint32_t>(number));
}
inline float score_of(RankKey key) {
    const auto rising = static_cast<std::uint32_t>(key >> 32);
    return std::bit_cast<float>(rising >> 31 ? rising & 0x7fffffffu : ~rising);
}
inline std::int32_t number_of(RankKey key) { return static_cast<std::int32_t>(0xffffffffu - static_cast<std::uint32_t>(key)); }

}  // namespace lw
