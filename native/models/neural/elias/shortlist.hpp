// Label shortlists from a sparse graph of clusters and labels (ELIAS), and the scores of the labels on them.
#pragma once
#include <cstdint>
#include <vector>

#include "models/linear/blocks.hpp"
#include "models/linear/feature_rows.hpp"
#include "topk.hpp"

namespace lw {

// Cluster c has the labels[c * width ..] with these edge scores; rows are filled from the left, -1 ends a row.
struct EdgeTable {
    std::int64_t n_clusters, width, n_labels;
    const std::int32_t* labels;
    const float* scores;
};

// Which clusters and labels a training row takes along, whatever their scores; null pointers: none.
struct Forced {
    const std::int64_t* cluster_start = nullptr;
    const std::int32_t* clusters = nullptr;
    const std::int64_t* label_start = nullptr;
    const std::int32_t* labels = nullptr;
};

// Memory of one thread: the best path of every label, reset after each row by the list of touched labels. listed: a bit for
// every label, all of them 0 between rows.
struct PathMemory {
    std::vector<float> best;
    std::vector<std::int64_t> path;
    std::vector<std::int32_t> touched;
    std::vector<std::uint64_t> keys, listed;
    std::vector<std::uint8_t> chosen, kept;
};

// For every row the `room` labels with the largest max over clusters of (cluster score * edge score), where clusters are
// the row's `beam` best and the forced ones. Written in ascending label order, padded with -1: labels, the edge of the
// best path (its place in the table; equal paths: the first place), and that path's score.
void shortlist_rows(const EdgeTable& edges, const Forced& forced, std::int64_t n_rows, const float* cluster_scores, std::int32_t beam,
                    std::int64_t room, int n_threads, std::int32_t* labels, std::int64_t* paths, float* scores);

// The same for one row, number `row` of `forced`; cluster_scores, labels, paths (null: not asked for) and scores are its own.
void shortlist_row(const EdgeTable& edges, const Forced& forced, std::int64_t row, const float* cluster_scores, std::int32_t beam,
                   std::int64_t room, PathMemory& memory, std::int32_t* labels, std::int64_t* paths, float* scores);

// Writes the `most` most likely labels of a row's shortlist (`room` labels, rising, -1 last; equally likely: the smaller one)
// and the labels that others name (each once, -1 last), rising and padded with -1 and -inf up to `width` places, which must
// hold them all. A named label keeps its log p if the shortlist has it; else it gets the least one there, `unknown` if empty.
void narrow_row(std::int64_t room, const std::int32_t* labels, const float* log_p, std::int64_t most, std::int64_t n_named,
                const std::int32_t* named, float unknown, std::int64_t width, std::vector<Scored>& memory, std::int32_t* out_labels,
                float* out_log_p);

// out[r, j] = vectors[r] . weights[labels[r, j]] + bias; 0 at padding. The order of the sum is fixed.
void shortlist_products(std::int64_t n_rows, std::int64_t room, std::int64_t dim, const std::int32_t* labels, const float* vectors,
                        const float* weights, const float* bias, int n_threads, float* out);

// margins[r, j] of the classifier places[r, j] (-1: padding, margin 0), evaluated block by block, or feature by feature where
// there is a copy of all blocks in that order (by_feature; null: none): the same bits.
void shortlist_margins(const WeightBlocks& blocks, std::int64_t n_rows, const std::int64_t* indptr, const std::int32_t* indices,
                       const float* data, std::int64_t room, const std::int32_t* places, const FeatureRows* by_feature, int n_threads,
                       float* margins);

}  // namespace lw
