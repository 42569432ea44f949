#include "labelindex/walks.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "parallel.hpp"
#include "rng.hpp"

namespace lw {
namespace {

// The first place in cumulative[0 .. n) whose sum exceeds u times the total.
std::int64_t drawn(const double* cumulative, std::int64_t n, double u) {
    const double* end = cumulative + n;
    const double* found = std::upper_bound(cumulative, end, u * cumulative[n - 1]);
    return std::min<std::int64_t>(found - cumulative, n - 1);
}

// The product of two vectors in 16 sums side by side, which the compiler turns into vector instructions; one order everywhere.
float product_of(const float* a, const float* b, std::int32_t dim) {
    float sums[16] = {};
    std::int32_t j = 0;
    for (; j + 16 <= dim; j += 16)
        for (std::int32_t lane = 0; lane < 16; ++lane) sums[lane] += a[j + lane] * b[j + lane];
    for (; j < dim; ++j) sums[j % 16] += a[j] * b[j];
    for (std::int32_t width = 8; width > 0; width /= 2)
        for (std::int32_t lane = 0; lane < width; ++lane) sums[lane] += sums[lane + width];
    return sums[0];
}

// One pair: the node's vector is pulled to the context's (positive) or pushed from it; the node's step is collected.
void pair_step(const float* __restrict vector, float* __restrict context, std::int32_t dim, float target, float rate,
               float* __restrict step) {
    const float probability = 1.0f / (1.0f + std::exp(-product_of(vector, context, dim)));
    const float gain = (target - probability) * rate;
    for (std::int32_t j = 0; j < dim; ++j) {
        step[j] += gain * context[j];
        context[j] += gain * vector[j];
    }
}

}  // namespace

void random_walks(const WeightedGraph& graph, std::int32_t n_walks, std::int32_t length, std::uint64_t seed, int n_threads,
                  std::int32_t* walks) {
    parallel_for(graph.n_nodes * n_walks, n_threads, 64, [&](std::int64_t walk, int) {
        Rng rng(seed, static_cast<std::uint64_t>(walk));
        std::int32_t* row = walks + walk * length;
        std::int32_t node = static_cast<std::int32_t>(walk / n_walks);
        std::int32_t place = 0;
        Pulse pulse;
        for (; place < length; ++place) {
            pulse.beat();
            row[place] = node;
            const std::int64_t first = graph.starts[node], n = graph.starts[node + 1] - first;
            if (n == 0) {
                ++place;
                break;
            }
            node = graph.neighbors[first + drawn(graph.cumulative + first, n, rng.uniform())];
        }
        std::fill(row + place, row + length, -1);
    });
}

void skip_gram(const std::int32_t* walks, std::int64_t n_walks, std::int32_t length, const double* negative_cumulative,
               std::int64_t n_nodes, const SkipGramOptions& options, float* vectors, float* contexts) {
    std::vector<float> step(options.dim);
    std::vector<std::int64_t> order(n_walks);
    for (std::int32_t epoch = 0; epoch < options.epochs; ++epoch) {
        for (std::int64_t i = 0; i < n_walks; ++i) order[i] = i;
        Rng shuffling(options.seed, static_cast<std::uint64_t>(epoch), 1);
        shuffling.shuffle(order.data(), static_cast<std::uint32_t>(n_walks));
        for (std::int64_t i = 0; i < n_walks; ++i) {
            const std::int32_t* walk = walks + order[i] * length;
            Rng rng(options.seed, static_cast<std::uint64_t>(epoch) * static_cast<std::uint64_t>(n_walks) +
                                      static_cast<std::uint64_t>(order[i]), 2);
            const double done = (static_cast<double>(epoch) * n_walks + i) / (static_cast<double>(options.epochs) * n_walks);
            const float rate = options.learning_rate * static_cast<float>(std::max(1.0 - done, 1e-4));
            for (std::int32_t centre = 0; centre < length && walk[centre] >= 0; ++centre) {
                float* vector = vectors + static_cast<std::int64_t>(walk[centre]) * options.dim;
                check_interrupt();
                const std::int32_t from = std::max(0, centre - options.window);
                const std::int32_t to = std::min(length - 1, centre + options.window);
                for (std::int32_t other = from; other <= to && walk[other] >= 0; ++other) {
                    if (other == centre) continue;
                    std::fill(step.begin(), step.end(), 0.0f);
                    pair_step(vector, contexts + static_cast<std::int64_t>(walk[other]) * options.dim, options.dim, 1.0f, rate,
                              step.data());
                    for (std::int32_t s = 0; s < options.negatives; ++s) {
                        const std::int64_t negative = drawn(negative_cumulative, n_nodes, rng.uniform());
                        if (negative == walk[other]) continue;
                        pair_step(vector, contexts + negative * options.dim, options.dim, 0.0f, rate, step.data());
                    }
                    for (std::int32_t j = 0; j < options.dim; ++j) vector[j] += step[j];
                }
            }
        }
    }
}

}  // namespace lw
