// How a classifier's margin becomes a log score, and how log scores add up along a path.
#pragma once
#include <algorithm>
#include <cmath>
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

// A margin below which path_score stays under `wanted` (a little lower than the least one that does not, for rounding);
// minus infinity if every margin will do.
inline float least_margin(Link link, float above, float wanted) {
    const float lack = above - wanted;
    if (!(lack > 0.0f) || !(wanted > kLowestScore)) return -std::numeric_limits<float>::infinity();
    float margin;
    if (link == Link::log_sigmoid) {
        margin = -0.5f * std::log(std::expm1(lack));
    } else {
        margin = 1.0f - (link == Link::hinge2 ? std::sqrt(lack) : std::cbrt(lack));
    }
    return margin - 1e-3f * (1.0f + std::fabs(margin));
}

}  // namespace lw
