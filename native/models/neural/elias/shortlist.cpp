#include "models/neural/elias/shortlist.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "levels.hpp"
#include "parallel.hpp"
#include "rank_keys.hpp"

namespace lw {
namespace {

// with_paths: also which edge is the best one; scores alone do not need it.
template <bool with_paths>
void walk(const EdgeTable& edges, std::int64_t cluster, float score, PathMemory& memory) {
    const std::int64_t first = cluster * edges.width;
    for (std::int64_t p = first; p < first + edges.width && edges.labels[p] >= 0; ++p) {
        const std::int32_t label = edges.labels[p];
        const float path = score * edges.scores[p];
        float& best = memory.best[label];
        if (best < 0) {
            memory.touched.push_back(label);
        } else if (path < best || (with_paths && path == best && p > memory.path[label])) {
            continue;
        }
        best = path;
        if constexpr (with_paths) memory.path[label] = p;
    }
}

// The clusters of one row: the best by score (equal scores to the smaller cluster), then the forced ones.
void choose_clusters(const float* scores, std::int64_t n_clusters, std::int32_t beam, const Forced& forced, std::int64_t row, PathMemory& memory) {
    std::vector<RankKey>& keys = memory.keys;
    keys.resize(static_cast<std::size_t>(n_clusters));
    for (std::int64_t c = 0; c < n_clusters; ++c) keys[static_cast<std::size_t>(c)] = rank_key(scores[c], static_cast<std::int32_t>(c));
    const std::int64_t n = std::min<std::int64_t>(beam, n_clusters);
    std::nth_element(keys.begin(), keys.begin() + std::max<std::int64_t>(0, n - 1), keys.end(), std::greater<>());
    memory.chosen.assign(static_cast<std::size_t>(n_clusters), 0);
    for (std::int64_t i = 0; i < n; ++i) memory.chosen[number_of(keys[static_cast<std::size_t>(i)])] = 1;
    if (forced.cluster_start)
        for (std::int64_t p = forced.cluster_start[row]; p < forced.cluster_start[row + 1]; ++p) memory.chosen[forced.clusters[p]] = 1;
}

// Moves the best of the touched labels from place `first` on to the places before `size`.
void best_first(std::size_t first, std::size_t size, PathMemory& memory) {
    std::vector<RankKey>& keys = memory.keys;
    keys.resize(memory.touched.size() - first);
    for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = rank_key(memory.best[memory.touched[first + i]], memory.touched[first + i]);
    std::nth_element(keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(size - first), keys.end(), std::greater<>());
    for (std::size_t i = 0; i < keys.size(); ++i) memory.touched[first + i] = number_of(keys[i]);
}

// Cuts the touched labels to `room`: forced labels first, then by score.
void cut(const Forced& forced, std::int64_t row, std::int64_t room, PathMemory& memory) {
    std::vector<std::int32_t>& touched = memory.touched;
    if (static_cast<std::int64_t>(touched.size()) <= room) return;
    std::size_t n_kept = 0;
    if (forced.label_start) {
        for (std::int64_t p = forced.label_start[row]; p < forced.label_start[row + 1]; ++p) memory.kept[forced.labels[p]] = 1;
        n_kept = static_cast<std::size_t>(std::partition(touched.begin(), touched.end(), [&](std::int32_t l) { return memory.kept[l] != 0; }) - touched.begin());
        for (std::int64_t p = forced.label_start[row]; p < forced.label_start[row + 1]; ++p) memory.kept[forced.labels[p]] = 0;
    }
    const std::size_t size = static_cast<std::size_t>(room);
    if (n_kept < size) best_first(n_kept, size, memory);
    for (std::size_t i = size; i < touched.size(); ++i) memory.best[touched[i]] = -1;
    touched.resize(size);
}

// Sorts the touched labels. Marked in a table of bits and read off it: the labels of a shortlist are many.
void rise(std::int64_t n_labels, PathMemory& memory) {
    std::vector<std::uint64_t>& listed = memory.listed;
    const std::size_t n_words = static_cast<std::size_t>((n_labels + 63) / 64);
    if (listed.size() < n_words) listed.assign(n_words, 0);
    for (const std::int32_t label : memory.touched) listed[static_cast<std::size_t>(label) / 64] |= std::uint64_t{1} << (label % 64);
    std::size_t n = 0;
    for (std::size_t word = 0; word < n_words; ++word) {
        for (std::uint64_t bits = listed[word]; bits; bits &= bits - 1)
            memory.touched[n++] = static_cast<std::int32_t>(64 * word) + __builtin_ctzll(bits);
        listed[word] = 0;
    }
    memory.touched.resize(n);
}

}  // namespace

void shortlist_row(const EdgeTable& edges, const Forced& forced, std::int64_t row, const float* cluster_scores, std::int32_t beam,
                   std::int64_t room, PathMemory& memory, std::int32_t* labels, std::int64_t* paths, float* scores) {
    if (static_cast<std::int64_t>(memory.best.size()) < edges.n_labels) {
        memory.best.assign(static_cast<std::size_t>(edges.n_labels), -1.0f);
        memory.path.resize(static_cast<std::size_t>(edges.n_labels));
        memory.kept.assign(static_cast<std::size_t>(edges.n_labels), 0);
    }
    choose_clusters(cluster_scores, edges.n_clusters, beam, forced, row, memory);
    memory.touched.clear();
    for (std::int64_t c = 0; c < edges.n_clusters; ++c)
        if (memory.chosen[c]) {
            const float score = cluster_scores[c] >= 0 ? cluster_scores[c] : 0.0f;
            paths ? walk<true>(edges, c, score, memory) : walk<false>(edges, c, score, memory);
        }
    cut(forced, row, room, memory);
    rise(edges.n_labels, memory);
    for (std::int64_t j = 0; j < room; ++j) {
        const bool real = j < static_cast<std::int64_t>(memory.touched.size());
        const std::int32_t label = real ? memory.touched[j] : -1;
        labels[j] = label;
        if (paths) paths[j] = real ? memory.path[label] : 0;
        scores[j] = real ? memory.best[label] : 0.0f;
        if (real) memory.best[label] = -1;
    }
}

void shortlist_rows(const EdgeTable& edges, const Forced& forced, std::int64_t n_rows, const float* cluster_scores, std::int32_t beam,
                    std::int64_t room, int n_threads, std::int32_t* labels, std::int64_t* paths, float* scores) {
    if (n_threads < 1) n_threads = max_threads();
    std::vector<PathMemory> memories(static_cast<std::size_t>(std::clamp<std::int64_t>(n_rows, 1, n_threads)));
    parallel_for(n_rows, static_cast<int>(memories.size()), 4, [&](std::int64_t row, int thread) {
        shortlist_row(edges, forced, row, cluster_scores + row * edges.n_clusters, beam, room, memories[static_cast<std::size_t>(thread)],
                      labels + row * room, paths + row * room, scores + row * room);
    });
}

void narrow_row(std::int64_t room, const std::int32_t* labels, const float* log_p, std::int64_t most, std::int64_t n_named,
                const std::int32_t* named, float unknown, std::int64_t width, std::vector<Scored>& memory, std::int32_t* out_labels,
                float* out_log_p) {
    memory.clear();
    float lowest = std::numeric_limits<float>::infinity();
    for (std::int64_t j = 0; j < room && labels[j] >= 0; ++j) {
        memory.push_back({log_p[j], labels[j]});
        lowest = std::min(lowest, log_p[j]);
    }
    const std::int64_t n_own = static_cast<std::int64_t>(memory.size());
    if (n_own == 0) lowest = unknown;
    if (most < n_own) {
        std::nth_element(memory.begin(), memory.begin() + most, memory.end(), better);
        memory.resize(static_cast<std::size_t>(most));
    }
    for (std::int64_t i = 0; i < n_named && named[i] >= 0; ++i) {
        const std::int32_t* at = std::lower_bound(labels, labels + n_own, named[i]);
        const bool listed = at != labels + n_own && *at == named[i];
        memory.push_back({listed ? log_p[at - labels] : lowest, named[i]});
    }
    std::sort(memory.begin(), memory.end(), [](const Scored& a, const Scored& b) { return a.label < b.label; });
    // A label that is likely and named has the same log p twice.
    const auto end = std::unique(memory.begin(), memory.end(), [](const Scored& a, const Scored& b) { return a.label == b.label; });
    const std::int64_t n = end - memory.begin();
    for (std::int64_t j = 0; j < width; ++j) {
        out_labels[j] = j < n ? memory[static_cast<std::size_t>(j)].label : -1;
        out_log_p[j] = j < n ? memory[static_cast<std::size_t>(j)].score : -std::numeric_limits<float>::infinity();
    }
}

void shortlist_products(std::int64_t n_rows, std::int64_t room, std::int64_t dim, const std::int32_t* labels, const float* vectors,
                        const float* weights, const float* bias, int n_threads, float* out) {
    const Kernels& kernel = kernels();
    parallel_for(n_rows, n_threads, 4, [&](std::int64_t row, int) {
        const std::int64_t at = row * room;
        kernel.gathered_dots(vectors + row * dim, weights, labels + at, room, dim, out + at);
        for (std::int64_t j = at; j < at + room; ++j)
            if (labels[j] >= 0) out[j] += bias[labels[j]];
    });
}

namespace {

// The classifiers that one row asks for: (classifier, place in the row) in the order of the classifiers and so of their blocks.
struct Wanted {
    std::vector<std::pair<std::int32_t, std::int32_t>> pairs;
    std::vector<std::int32_t> classifiers;
    std::vector<float> margins;
    ChosenMemory chosen;
};

void margins_by_feature(const WeightBlocks& blocks, const FeatureRows& rows, const Query& query, Wanted& wanted, float* out) {
    wanted.classifiers.clear();
    for (const auto& pair : wanted.pairs) wanted.classifiers.push_back(pair.first);
    wanted.margins.resize(wanted.pairs.size());
    chosen_margins(blocks, rows, query, static_cast<std::int64_t>(wanted.pairs.size()), wanted.classifiers.data(), wanted.chosen, wanted.margins.data());
    for (std::size_t i = 0; i < wanted.pairs.size(); ++i) out[wanted.pairs[i].second] = wanted.margins[i];
}

void margins_by_block(const WeightBlocks& blocks, const Query& query, const Wanted& wanted, float* out) {
    alignas(64) float scores[kMaxChildren];
    const std::int64_t* ends = blocks.child_start + 1;
    const auto& pairs = wanted.pairs;
    for (std::size_t i = 0; i < pairs.size();) {
        const std::int64_t b = std::upper_bound(ends, ends + blocks.n_blocks, static_cast<std::int64_t>(pairs[i].first)) - ends;
        kernels().score_block(blocks, b, query, scores);
        for (; i < pairs.size() && pairs[i].first < ends[b]; ++i) out[pairs[i].second] = scores[pairs[i].first - blocks.child_start[b]];
    }
}

}  // namespace

void shortlist_margins(const WeightBlocks& blocks, std::int64_t n_rows, const std::int64_t* indptr, const std::int32_t* indices,
                       const float* data, std::int64_t room, const std::int32_t* places, const FeatureRows* by_feature, int n_threads,
                       float* margins) {
    if (n_threads < 1) n_threads = max_threads();
    std::vector<Wanted> memory(static_cast<std::size_t>(std::clamp<std::int64_t>(n_rows, 1, n_threads)));
    parallel_for(n_rows, static_cast<int>(memory.size()), 4, [&](std::int64_t row, int thread) {
        Wanted& wanted = memory[static_cast<std::size_t>(thread)];
        wanted.pairs.clear();
        const std::int32_t* own = places + row * room;
        float* out = margins + row * room;
        for (std::int64_t j = 0; j < room; ++j) {
            out[j] = 0.0f;
            if (own[j] >= 0) wanted.pairs.emplace_back(own[j], static_cast<std::int32_t>(j));
        }
        if (wanted.pairs.empty()) return;
        std::sort(wanted.pairs.begin(), wanted.pairs.end());
        const Query query{static_cast<std::int32_t>(indptr[row + 1] - indptr[row]), indices + indptr[row], data + indptr[row]};
        if (by_feature) {
            margins_by_feature(blocks, *by_feature, query, wanted, out);
        } else {
            margins_by_block(blocks, query, wanted, out);
        }
    });
}

}  // namespace lw
