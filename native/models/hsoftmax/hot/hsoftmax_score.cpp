// Hidden vectors and margins of a stored hierarchical softmax: floats, halves or bytes.
#include "models/hsoftmax/hsoftmax.hpp"
#include "simd.hpp"

namespace lw::LW_LEVEL {
namespace {

inline F16 load16(const float* p) { return F16::load(p); }

inline F16 load16(const std::uint16_t* p) {
#if defined(__AVX512F__)
    F16 r;  // with a mask, as GCC 12 warns of the undefined register in the plain form
    r.part[0] = _mm512_maskz_cvtph_ps(0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
    return r;
#elif defined(__F16C__)
    F16 r;
    for (int i = 0; i < kPieces; ++i)
        r.part[i] = _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 8 * i)));
    return r;
#else
    float v[kLanes];
    for (int i = 0; i < kLanes; ++i) v[i] = half_to_float(p[i]);
    return F16::load(v);
#endif
}

inline F16 load16(const std::int8_t* p) {
    float v[kLanes];
    for (int i = 0; i < kLanes; ++i) v[i] = static_cast<float>(p[i]);
    return F16::load(v);
}

template <class T>
inline void add_row(const T* vector, std::int32_t stride, float weight, float* hidden) {
    for (std::int32_t i = 0; i < stride; i += kLanes) (F16::load(hidden + i) + load16(vector + i) * weight).store(hidden + i);
}

template <class T>
inline float dot(const T* vector, std::int32_t stride, const float* hidden) {
    F16 total = F16::all(0.0f);
    for (std::int32_t i = 0; i < stride; i += kLanes) total = total + load16(vector + i) * F16::load(hidden + i);
    alignas(64) float v[kLanes];
    total.store(v);
    for (int width = kLanes / 2; width > 0; width /= 2)
        for (int i = 0; i < width; ++i) v[i] += v[i + width];
    return v[0];
}

template <class T>
inline const T* row_of(const HsVectors& vectors, std::int64_t row) {
    return static_cast<const T*>(vectors.data) + row * vectors.stride;
}

template <class T>
inline void sum_rows(const HsVectors& in, const std::int32_t* columns, const float* weights, std::int32_t n, float* hidden) {
    constexpr std::int32_t kAhead = 4;
    for (std::int32_t p = 0; p < n; ++p) {
        if (p + kAhead < n) __builtin_prefetch(row_of<T>(in, columns[p + kAhead]));
        add_row(row_of<T>(in, columns[p]), in.stride, weights[p] * (in.scale ? in.scale[columns[p]] : 1.0f), hidden);
    }
}

}  // namespace

// hidden += the sum of weights[p] times vector columns[p].
void hs_add_rows(const HsVectors& in, const std::int32_t* columns, const float* weights, std::int32_t n, float* hidden) {
    switch (in.storage) {
        case HsStorage::floats: sum_rows<float>(in, columns, weights, n, hidden); break;
        case HsStorage::halves: sum_rows<std::uint16_t>(in, columns, weights, n, hidden); break;
        case HsStorage::bytes: sum_rows<std::int8_t>(in, columns, weights, n, hidden); break;
    }
}

float hs_margin(const HsVectors& out, std::int64_t row, const float* hidden) {
    switch (out.storage) {
        case HsStorage::floats: return dot(row_of<float>(out, row), out.stride, hidden);
        case HsStorage::halves: return dot(row_of<std::uint16_t>(out, row), out.stride, hidden);
        case HsStorage::bytes: break;
    }
    return dot(row_of<std::int8_t>(out, row), out.stride, hidden) * out.scale[row];
}

}  // namespace lw::LW_LEVEL
