// How a classifier's margin becomes a log score, and how log scores add up along a path.
#pragma once
#include <algorithm>
#include <cmath>

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

}  // namespace lw
