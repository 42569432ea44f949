// sigmoid in plain arithmetic: the same bits at every instruction level and on every machine.
#pragma once
#include <cstdint>
#include <cstring>

#ifndef LW_LEVEL
#define LW_LEVEL plain
#endif

namespace lw {
inline namespace LW_LEVEL {  // see simd.hpp

// exp(x) for x <= 0, relative error below 3e-7: Cody-Waite reduction and a degree-6 polynomial; 1.6e-38 below -87.
inline float exp_of_nonpositive(float x) {
    const float v = x > -87.0f ? x : -87.0f;
    const std::int32_t n = static_cast<std::int32_t>(v * 1.44269504f - 0.5f);
    const float nf = static_cast<float>(n);
    const float f = v - nf * 0.693359375f - nf * -2.12194440e-4f;
    float e = f * 1.9875691500e-4f + 1.3981999507e-3f;
    e = e * f + 8.3334519073e-3f;
    e = e * f + 4.1665795894e-2f;
    e = e * f + 1.6666665459e-1f;
    e = e * f + 5.0000001201e-1f;
    e = e * f * f + f + 1.0f;
    const std::int32_t scale = (n + 127) << 23;
    float power;
    std::memcpy(&power, &scale, sizeof power);
    return e * power;
}

// A margin that is no number gives one half: a damaged vector decides nothing.
inline float sigmoid_of(float x) {
    if (x != x) return 0.5f;
    const float e = exp_of_nonpositive(x < 0 ? x : -x);
    return x < 0 ? e / (1.0f + e) : 1.0f / (1.0f + e);
}

}  // namespace LW_LEVEL
}  // namespace lw
