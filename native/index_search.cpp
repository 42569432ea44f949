#include "index_search.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "levels.hpp"
#include "parallel.hpp"

namespace lw {
namespace {

constexpr std::int64_t kRowsAtOnce = 16;   // rows that share the loads of the dense layers
constexpr float kLowestPath = 1e-30f;      // of a path score before its logarithm

void activate(Activation activation, std::int64_t n, float* values) {
    if (activation == Activation::relu)
        for (std::int64_t i = 0; i < n; ++i) values[i] = values[i] > 0 ? values[i] : 0.0f;
    else if (activation == Activation::tanh)
        for (std::int64_t i = 0; i < n; ++i) values[i] = std::tanh(values[i]);
}

void add_bias(const float* bias, std::int64_t n_rows, std::int64_t dim, float* values) {
    for (std::int64_t r = 0; r < n_rows; ++r)
        for (std::int64_t i = 0; i < dim; ++i) values[r * dim + i] += bias[i];
}

// rows times a layer plus its bias.
void layer(const std::vector<float>& rows, std::int64_t n_rows, const DenseTable& table, const float* bias, std::vector<float>& out) {
    out.resize(static_cast<std::size_t>(n_rows * table.dim));
    kernels().dense_rows_times(rows.data(), n_rows, table, out.data());
    add_bias(bias, n_rows, table.dim, out.data());
}

struct SearchMemory {
    std::vector<float> first, inside, last, scores;
    std::vector<std::int64_t> paths;
    PathMemory walk;
};

// The vectors of some rows; the result lies in one of the memory's arrays.
const std::vector<float>& encode(const BagLayers& encoder, std::int64_t row, std::int64_t n, const std::int64_t* indptr,
                                 const std::int32_t* columns, const float* values, SearchMemory& memory) {
    const std::int64_t dim = encoder.table.dim;
    memory.first.resize(static_cast<std::size_t>(n * dim));
    for (std::int64_t r = 0; r < n; ++r) {
        const std::int64_t begin = indptr[row + r];
        kernels().sparse_row_times(columns + begin, values + begin, indptr[row + r + 1] - begin, encoder.table, memory.first.data() + r * dim);
    }
    add_bias(encoder.bias, n, dim, memory.first.data());
    activate(encoder.activation, n * dim, memory.first.data());
    std::vector<float>* found = &memory.first;
    if (encoder.inner.data) {
        layer(memory.first, n, encoder.inner, encoder.inner_bias, memory.inside);
        activate(encoder.activation, n * encoder.inner.dim, memory.inside.data());
        found = &memory.inside;
    }
    if (encoder.outer.data) {
        layer(*found, n, encoder.outer, encoder.outer_bias, memory.last);
        found = &memory.last;
    }
    if (encoder.residual && found != &memory.first)
        for (std::int64_t i = 0; i < n * dim; ++i) (*found)[static_cast<std::size_t>(i)] += memory.first[static_cast<std::size_t>(i)];
    return *found;
}

// Logits -> min(1, alpha softmax), in place.
void clamp_softmax(std::int64_t n, double alpha, float* logits) {
    float top = logits[0];
    for (std::int64_t c = 1; c < n; ++c) top = std::max(top, logits[c]);
    double total = 0;
    for (std::int64_t c = 0; c < n; ++c) {
        logits[c] = std::exp(logits[c] - top);
        total += logits[c];
    }
    for (std::int64_t c = 0; c < n; ++c) logits[c] = static_cast<float>(std::min(1.0, alpha * (logits[c] / total)));
}

double answer(const AnswerTree& tree, const double* asked) {
    std::int32_t node = 0;
    while (tree.feature[node] >= 0) node = tree.left[node] + (asked[tree.feature[node]] > tree.threshold[node]);
    return tree.value[node];
}

}  // namespace

void search_rows(const IndexParts& index, std::int64_t n_rows, const std::int64_t* indptr, const std::int32_t* columns, const float* values,
                 std::int64_t room, int n_threads, std::int32_t* labels, float* log_path, float* logits) {
    if (n_threads < 1) n_threads = max_threads();
    const std::int64_t n_groups = (n_rows + kRowsAtOnce - 1) / kRowsAtOnce, dim = index.encoder.table.dim;
    std::vector<SearchMemory> memories(static_cast<std::size_t>(std::clamp<std::int64_t>(n_groups, 1, n_threads)));
    parallel_for(n_groups, static_cast<int>(memories.size()), 1, [&](std::int64_t group, int thread) {
        SearchMemory& memory = memories[static_cast<std::size_t>(thread)];
        const std::int64_t row = group * kRowsAtOnce, n = std::min(kRowsAtOnce, n_rows - row);
        const std::vector<float>& vectors = encode(index.encoder, row, n, indptr, columns, values, memory);
        layer(vectors, n, index.clusters, index.cluster_bias, memory.scores);
        memory.paths.resize(static_cast<std::size_t>(room));
        for (std::int64_t r = 0; r < n; ++r) {
            float* scores = memory.scores.data() + r * index.clusters.dim;
            clamp_softmax(index.clusters.dim, index.alpha, scores);
            const std::int64_t at = (row + r) * room;
            shortlist_row(index.edges, Forced{}, 0, scores, index.beam, room, memory.walk, labels + at, memory.paths.data(), log_path + at);
            for (std::int64_t j = at; j < at + room; ++j) log_path[j] = std::log(std::max(log_path[j], kLowestPath));
            shortlist_products(1, room, dim, labels + at, vectors.data() + r * dim, index.label_weight, index.label_bias, 1, logits + at);
        }
    });
}

void blend_scores(const Blend& blend, std::int64_t n, const float* log_p, const double* log_q, const std::int64_t* counts, double lowest,
                  double* scores) {
    for (std::int64_t i = 0; i < n; ++i) {
        if (!std::isfinite(log_p[i])) {
            scores[i] = 0;
            continue;
        }
        const double q = log_q ? log_q[i] : 0.0;
        const double base = std::exp(std::max(lowest, blend.power_p * log_p[i] + blend.power_q * q));
        scores[i] = base;
        if (!blend.tree.feature || blend.weight == 0) continue;
        const double asked[4] = {std::exp(static_cast<double>(log_p[i])), log_q ? std::exp(std::max(lowest, q)) : 1.0, base,
                                 std::log1p(static_cast<double>(counts[i]))};
        scores[i] = blend.weight * answer(blend.tree, asked) + (1 - blend.weight) * base;
    }
}

}  // namespace lw
