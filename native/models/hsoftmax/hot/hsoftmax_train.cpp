// Stochastic gradient steps of the hierarchical softmax and of fastText's flat losses, one row after the other.
#include <algorithm>
#include <limits>

#include "interrupt.hpp"
#include "models/hsoftmax/hsoftmax.hpp"
#include "models/hsoftmax/logistic.hpp"
#include "rng.hpp"
#include "simd.hpp"

namespace lw::LW_LEVEL {
namespace {

constexpr int kTile = 4;  // vectors of 16 that stay in registers while the features of a row go by
constexpr std::int64_t kAhead = 4;

inline float sum_lanes(const F16& a) {
    alignas(64) float v[kLanes];
    a.store(v);
    for (int width = kLanes / 2; width > 0; width /= 2)
        for (int i = 0; i < width; ++i) v[i] += v[i + width];
    return v[0];
}

inline float dot(const float* a, const float* b, std::int32_t stride) {
    F16 total = F16::all(0.0f);
    for (std::int32_t i = 0; i < stride; i += kLanes) total = total + F16::load(a + i) * F16::load(b + i);
    return sum_lanes(total);
}

// One tile of the mean: features in the row's order, so that the sum rounds alike everywhere.
template <int N>
inline void mean_tile(const HsTraining& t, std::int64_t row, std::int32_t at, float* hidden) {
    const float* bias = t.input + static_cast<std::int64_t>(t.rows.n_columns) * t.stride + at;
    F16 sum[N];
    for (int i = 0; i < N; ++i) sum[i] = F16::load(bias + i * kLanes) * t.bias[row];
    const std::int64_t end = t.rows.starts[row + 1];
    for (std::int64_t p = t.rows.starts[row]; p < end; ++p) {
        if (p + kAhead < end) {
            const float* next = t.input + static_cast<std::int64_t>(t.rows.columns[p + kAhead]) * t.stride + at;
            for (int i = 0; i < N; ++i) __builtin_prefetch(next + i * kLanes, 1);
        }
        const float* vector = t.input + static_cast<std::int64_t>(t.rows.columns[p]) * t.stride + at;
        for (int i = 0; i < N; ++i) sum[i] = sum[i] + F16::load(vector + i * kLanes) * t.rows.values[p];
    }
    for (int i = 0; i < N; ++i) sum[i].store(hidden + at + i * kLanes);
}

template <int N>
inline void spread_tile(const HsTraining& t, std::int64_t row, std::int32_t at, const float* gradient) {
    F16 g[N];
    for (int i = 0; i < N; ++i) g[i] = F16::load(gradient + at + i * kLanes);
    const auto add = [&](std::int64_t column, float weight) {
        float* vector = t.input + column * t.stride + at;
        for (int i = 0; i < N; ++i) (F16::load(vector + i * kLanes) + g[i] * weight).store(vector + i * kLanes);
    };
    const std::int64_t end = t.rows.starts[row + 1];
    for (std::int64_t p = t.rows.starts[row]; p < end; ++p) {
        if (p + kAhead < end) {
            const float* next = t.input + static_cast<std::int64_t>(t.rows.columns[p + kAhead]) * t.stride + at;
            for (int i = 0; i < N; ++i) __builtin_prefetch(next + i * kLanes, 1);
        }
        add(t.rows.columns[p], t.rows.values[p]);
    }
    add(t.rows.n_columns, t.bias[row]);
}

// Vector u moves g times h; what it asks of h goes to `gradient`.
inline void move(float* u, float g, std::int32_t stride, const float* hidden, float* gradient) {
    for (std::int32_t i = 0; i < stride; i += kLanes) {
        const F16 before = F16::load(u + i);
        (F16::load(gradient + i) + before * g).store(gradient + i);
        (before + F16::load(hidden + i) * g).store(u + i);
    }
}

// One logistic step of vector u: towards h if wanted, else away.
inline void step(float* u, bool wanted, float rate, std::int32_t stride, const float* hidden, float* gradient) {
    move(u, rate * ((wanted ? 1.0f : 0.0f) - sigmoid_of(dot(u, hidden, stride))), stride, hidden, gradient);
}

inline void softmax_steps(const HsTraining& t, std::int32_t label, float rate, const HsScratch& s) {
    for (std::int32_t up = t.tree.place_of_label[label]; up >= 0; up = t.tree.place_of_inner[up >> 1])
        step(t.output + static_cast<std::int64_t>(up >> 1) * t.stride, up & 1, rate, t.stride, s.hidden, s.gradient);
}

// Both children of every inner node with a label of the row below: 1 where one is below the child too, else 0.
inline void plt_steps(const HsTraining& t, std::int64_t row, float rate, HsScratch& s) {
    std::int32_t n = 0;
    ++s.visit;
    for (std::int64_t p = t.labels.starts[row]; p < t.labels.starts[row + 1]; ++p) {
        for (std::int32_t up = t.tree.place_of_label[t.labels.columns[p]]; up >= 0; up = t.tree.place_of_inner[up >> 1]) {
            const std::int32_t node = up >> 1;
            const std::uint8_t side = static_cast<std::uint8_t>(1 << (up & 1));
            if (s.stamp[node] == s.visit) {
                s.sides[node] = static_cast<std::uint8_t>(s.sides[node] | side);
                break;
            }
            s.stamp[node] = s.visit;
            s.sides[node] = side;
            s.nodes[n++] = node;
        }
    }
    for (std::int32_t i = 0; i < n; ++i) {
        float* vectors = t.output + 2 * static_cast<std::int64_t>(s.nodes[i]) * t.stride;
        for (int side = 0; side < 2; ++side)
            step(vectors + side * t.stride, s.sides[s.nodes[i]] >> side & 1, rate, t.stride, s.hidden, s.gradient);
    }
}

// The label against all others: chances are exp(margin), scaled to sum to 1.
inline void flat_softmax_steps(const HsTraining& t, std::int32_t label, float rate, const HsScratch& s) {
    const std::int32_t n = t.labels.n_columns;
    float largest = -std::numeric_limits<float>::infinity();
    for (std::int32_t l = 0; l < n; ++l) {
        s.margins[l] = dot(t.output + static_cast<std::int64_t>(l) * t.stride, s.hidden, t.stride);
        if (s.margins[l] > largest) largest = s.margins[l];
    }
    float total = 0;
    for (std::int32_t l = 0; l < n; ++l) total += s.margins[l] = exp_of_nonpositive(s.margins[l] - largest);
    for (std::int32_t l = 0; l < n; ++l)
        move(t.output + static_cast<std::int64_t>(l) * t.stride, rate * ((l == label ? 1.0f : 0.0f) - s.margins[l] / total), t.stride,
             s.hidden, s.gradient);
}

// A yes or no for every label; the row's labels rise.
inline void ova_steps(const HsTraining& t, std::int64_t row, float rate, const HsScratch& s) {
    std::int64_t next = t.labels.starts[row];
    const std::int64_t end = t.labels.starts[row + 1];
    for (std::int32_t l = 0; l < t.labels.n_columns; ++l) {
        const bool wanted = next < end && t.labels.columns[next] == l;
        next += wanted;
        step(t.output + static_cast<std::int64_t>(l) * t.stride, wanted, rate, t.stride, s.hidden, s.gradient);
    }
}

// The label, and a few others by chance, which are no.
inline void negative_steps(const HsTraining& t, std::int32_t label, Rng rng, float rate, const HsScratch& s) {
    step(t.output + static_cast<std::int64_t>(label) * t.stride, true, rate, t.stride, s.hidden, s.gradient);
    const double* end = t.cumulative + t.labels.n_columns;
    for (std::int32_t i = 0; i < t.n_negatives; ++i) {
        const double* found = std::upper_bound(t.cumulative, end, rng.uniform() * end[-1]);
        const std::int64_t other = std::min<std::int64_t>(found - t.cumulative, t.labels.n_columns - 1);
        if (other != label) step(t.output + other * t.stride, false, rate, t.stride, s.hidden, s.gradient);
    }
}

}  // namespace

// Visits order[begin .. end); `done` visits of earlier epochs came before.
void hs_train(const HsTraining& t, const std::int32_t* order, std::int64_t begin, std::int64_t end, std::int64_t done,
              std::uint64_t epoch, HsScratch& s) {
    constexpr std::int32_t kTileFloats = kTile * kLanes;
    for (std::int64_t at = begin; at < end; ++at) {
        const std::int64_t row = order[at];
        if (at % 16 == 0) check_interrupt();
        const float rate = t.rate * (1.0f - static_cast<float>(done + at) / static_cast<float>(t.steps));
        std::int32_t i = 0;
        for (; i + kTileFloats <= t.stride; i += kTileFloats) mean_tile<kTile>(t, row, i, s.hidden);
        for (; i < t.stride; i += kLanes) mean_tile<1>(t, row, i, s.hidden);
        for (i = 0; i < t.stride; ++i) s.gradient[i] = 0.0f;
        if (t.loss == HsLoss::plt) {
            plt_steps(t, row, rate, s);
        } else if (t.loss == HsLoss::ova) {
            ova_steps(t, row, rate, s);
        } else {  // as fastText: one label of the row, drawn anew at every visit
            const std::int64_t first = t.labels.starts[row];
            const std::uint32_t n = static_cast<std::uint32_t>(t.labels.starts[row + 1] - first);
            Rng rng(t.seed, static_cast<std::uint64_t>(row), epoch);
            const std::int32_t label = t.labels.columns[first + (n == 1 ? 0 : rng.below(n))];
            if (t.loss == HsLoss::hs) softmax_steps(t, label, rate, s);
            if (t.loss == HsLoss::softmax) flat_softmax_steps(t, label, rate, s);
            if (t.loss == HsLoss::negatives) negative_steps(t, label, rng, rate, s);
        }
        for (i = 0; i + kTileFloats <= t.stride; i += kTileFloats) spread_tile<kTile>(t, row, i, s.gradient);
        for (; i < t.stride; i += kLanes) spread_tile<1>(t, row, i, s.gradient);
    }
}

}  // namespace lw::LW_LEVEL
