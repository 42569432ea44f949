// How a classifier's margin becomes a log score, and how log scores add up along a path.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace lw {

// Path scores are cut off here: exp of less is 0 in a float, and equal scores must mean equal results.
inline constexpr float kLowestScore = -80.0f;

enum class Link : int { hinge2 = 0, hinge3 = 1, log_sigmoid = 2 };

inline float log_score(Link link, float margin) {
    if (link == Link::log_sigmoid) return margin >= 0 ? -std::log1p(std::exp(-2 * margin)) : 2 * margin - std::log1p(std::exp(2 * margin));
    const float lack = std::max(1.0f - margin, 0.0f);  // in this order a margin that is no number gives none, not 0
    return link == Link::hinge2 ? -lack * lack : -lack * lack * lack;
}

inline float path_score(Link link, float above, float margin) { return std::max(kLowestScore, above + log_score(link, margin)); }

// The cube root of a number above 0 within a few hundred-thousandths: a step of Halley's from a third of the exponent.
inline float near_cube_root(float x) {
    const float first = std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) / 3 + 0x2a514067u), cube = first * first * first;
    return first * (cube + 2.0f * x) / (2.0f * cube + x);
}

// A margin below which path_score stays under `wanted` (a little lower than the least one that does not, for rounding);
// minus infinity if every margin will do.
inline float least_margin(Link link, float above, float wanted) {
    const float lack = above - wanted;
    if (!(lack > 0.0f) || !(wanted > kLowestScore)) return -std::numeric_limits<float>::infinity();
    float margin;
    if (link == Link::log_sigmoid) {
        margin = -0.5f * std::log(std::expm1(lack));
    } else {
        margin = 1.0f - (link == Link::hinge2 ? std::sqrt(lack) : near_cube_root(lack));
    }
    return margin - 1e-3f * (1.0f + std::fabs(margin));
}

}  // namespace lw
