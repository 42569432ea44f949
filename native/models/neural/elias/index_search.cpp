#include "models/neural/elias/index_search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
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
    std::vector<float> first, linear, inside, last, scores;
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
    if (encoder.added == Added::linear) memory.linear = memory.first;
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
    if (encoder.added != Added::nothing && found != &memory.first) {
        const std::vector<float>& term = encoder.added == Added::linear ? memory.linear : memory.first;
        for (std::size_t i = 0; i < static_cast<std::size_t>(n * dim); ++i) (*found)[i] += term[i];
    }
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

double log_sigmoid(double z) { return z >= 0 ? -std::log1p(std::exp(-z)) : z - std::log1p(std::exp(z)); }

double answer(const AnswerTree& tree, const double* asked) {
    std::int32_t node = 0;
    while (tree.feature[node] >= 0) node = tree.left[node] + (asked[tree.feature[node]] > tree.threshold[node]);
    return tree.value[node];
}

}  // namespace

void search_rows(const IndexParts& index, std::int64_t n_rows, const std::int64_t* indptr, const std::int32_t* columns, const float* values,
                 std::int64_t room, int n_threads, const FoundLabels& found) {
    if (n_threads < 1) n_threads = max_threads();
    const std::int64_t n_groups = (n_rows + kRowsAtOnce - 1) / kRowsAtOnce, dim = index.encoder.table.dim;
    // A row alone finds its memory where the last one left it: to make a table of all labels takes longer than to search.
    static thread_local SearchMemory kept;
    SearchMemory& first = kept;
    const int n_used = static_cast<int>(std::clamp<std::int64_t>(n_groups, 1, n_threads));
    std::vector<SearchMemory> others(static_cast<std::size_t>(n_used - 1));
    parallel_for(n_groups, n_used, 1, [&](std::int64_t group, int thread) {
        SearchMemory& memory = thread ? others[static_cast<std::size_t>(thread - 1)] : first;
        const std::int64_t row = group * kRowsAtOnce, n = std::min(kRowsAtOnce, n_rows - row);
        const std::vector<float>& vectors = encode(index.encoder, row, n, indptr, columns, values, memory);
        layer(vectors, n, index.clusters, index.cluster_bias, memory.scores);
        for (std::int64_t r = 0; r < n; ++r) {
            float* scores = memory.scores.data() + r * index.clusters.dim;
            clamp_softmax(index.clusters.dim, index.alpha, scores);
            const std::int64_t at = (row + r) * room;
            shortlist_row(index.edges, Forced{}, 0, scores, index.beam, room, memory.walk, found.labels + at, nullptr,
                          found.log_path + at);
            shortlist_products(1, room, dim, found.labels + at, vectors.data() + r * dim, index.label_weight, index.label_bias, 1,
                               found.logits + at);
            for (std::int64_t j = at; j < at + room; ++j) {
                found.log_path[j] = std::log(std::max(found.log_path[j], kLowestPath));
                found.log_p[j] = found.labels[j] < 0 ? -std::numeric_limits<float>::infinity()
                                                     : static_cast<float>(log_sigmoid(found.logits[j]) + found.log_path[j]);
            }
        }
    });
}

void blend_scores(const Blend& blend, std::int64_t n, const float* log_p, const double* log_q, const std::int64_t* counts,
                  const double* voted, double lowest, double* scores) {
    Pulse pulse;
    for (std::int64_t i = 0; i < n; ++i) {
        pulse.beat();
        if (!std::isfinite(log_p[i])) {
            scores[i] = 0;
            continue;
        }
        const double q = log_q ? log_q[i] : 0.0;
        const double base = std::exp(std::max(lowest, blend.power_p * log_p[i] + blend.power_q * q));
        scores[i] = base;
        if (!blend.tree.feature || blend.weight == 0) continue;
        const double asked[kAsked] = {std::exp(static_cast<double>(log_p[i])), log_q ? std::exp(std::max(lowest, q)) : 1.0, base,
                                      std::log1p(static_cast<double>(counts[i])), voted ? voted[i] : 0.0};
        scores[i] = blend.weight * answer(blend.tree, asked) + (1 - blend.weight) * base;
    }
}

void blend_top(const Blend& blend, std::int64_t room, const std::int32_t* labels, const float* log_p, const float* margins,
               const std::int64_t* counts, double lowest, const Votes& votes, std::int64_t k, BlendMemory& memory,
               std::int32_t* top_labels, float* top_scores) {
    const std::size_t n = static_cast<std::size_t>(room);
    memory.log_q.resize(n);
    memory.scores.resize(n);
    memory.voted.assign(n, 0.0);
    const std::int32_t* const own_end = std::find(labels, labels + room, -1);
    for (std::int64_t v = 0; v < votes.n && votes.labels[v] >= 0; ++v) {
        const std::int32_t* const at = std::lower_bound(labels, own_end, votes.labels[v]);
        if (at != own_end && *at == votes.labels[v]) memory.voted[static_cast<std::size_t>(at - labels)] = votes.scores[v];
    }
    memory.counts.resize(n);
    for (std::int64_t j = 0; j < room; ++j) {
        const double lack = margins ? std::max(0.0, 1.0 - static_cast<double>(margins[j])) : 0.0;
        memory.log_q[static_cast<std::size_t>(j)] = -(lack * lack * lack);
        memory.counts[static_cast<std::size_t>(j)] = labels[j] < 0 ? 0 : counts[labels[j]];
    }
    blend_scores(blend, room, log_p, margins ? memory.log_q.data() : nullptr, memory.counts.data(), memory.voted.data(), lowest,
                 memory.scores.data());
    std::vector<Candidate>& found = memory.found;
    found.clear();
    for (std::int64_t j = 0; j < room && labels[j] >= 0; ++j)
        found.push_back({(1 - votes.weight) * memory.scores[static_cast<std::size_t>(j)], labels[j]});
    const std::size_t n_own = found.size();
    for (std::int64_t v = 0; v < votes.n && votes.labels[v] >= 0; ++v) {
        const double share = votes.weight * static_cast<double>(votes.scores[v]);
        const auto own_end = found.begin() + static_cast<std::ptrdiff_t>(n_own);
        const auto at = std::lower_bound(found.begin(), own_end, votes.labels[v], [](const Candidate& one, std::int32_t label) { return one.label < label; });
        if (at != own_end && at->label == votes.labels[v]) at->score += share;
        else found.push_back({share, votes.labels[v]});
    }
    const auto before = [](const Candidate& a, const Candidate& b) { return a.score > b.score || (a.score == b.score && a.label < b.label); };
    const std::int64_t n_best = std::min<std::int64_t>(k, static_cast<std::int64_t>(found.size()));
    std::partial_sort(found.begin(), found.begin() + n_best, found.end(), before);
    for (std::int64_t i = 0; i < k; ++i) {
        const bool real = i < n_best;
        top_labels[i] = real ? found[static_cast<std::size_t>(i)].label : -1;
        top_scores[i] = real ? static_cast<float>(found[static_cast<std::size_t>(i)].score) : -std::numeric_limits<float>::infinity();
    }
}

}  // namespace lw
