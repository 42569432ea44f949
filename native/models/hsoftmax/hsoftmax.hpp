// Hierarchical softmax over a binary label tree: fastText's supervised model (Joulin et al., 2017) on any tree.
//
// A row is the weighted mean h of its features' vectors. Every inner node has one vector u ("hs": the right child has the
// chance sigmoid(u.h), the left one the rest) or one for each child ("plt": both chances are free, so labels need not
// exclude each other). A label's score is the product along its path.
//
// The flat losses of fastText need no tree: every label has a vector of its own.
#pragma once
#include <cstdint>

#include "sparse_rows.hpp"

namespace lw {

// Inner nodes are numbered from the root, 0. A place is 2 * node + side; -1 is above the root.
struct CodeTree {
    std::int32_t n_labels, n_inner;
    const std::int32_t* child;           // by place: an inner node, or ~label
    const std::int32_t* place_of_label;  // n_labels
    const std::int32_t* place_of_inner;  // n_inner
};

// hs, plt: decisions down a tree. softmax: one label of the row, drawn, against all others. ova: a yes or no for every label.
// negatives: a drawn label of the row against a few labels drawn by chance.
enum class HsLoss { hs, plt, softmax, ova, negatives };

// Vectors in rows of `stride` values, a multiple of 16.
struct HsTraining {
    SparseRows rows;       // values: what a feature counts in the mean
    const float* bias;     // the same for the constant feature, whose vector is the last of `input`
    SparsePattern labels;
    CodeTree tree;  // hs and plt
    float* input;   // n_columns + 1 vectors
    float* output;  // n_inner vectors (hs), 2 * n_inner (plt), or one a label
    std::int32_t stride;
    HsLoss loss;
    float rate;            // at the first of `steps` visits; falls to 0 in a straight line
    std::int64_t steps;
    std::uint64_t seed;
    bool shuffle;          // the rows of every epoch in an order of its own
    const double* cumulative = nullptr;  // negatives: the running sum of what each label weighs in a draw
    std::int32_t n_negatives = 0;        // negatives: labels drawn a visit
};

// One thread's memory.
struct HsScratch {
    float* hidden;           // stride
    float* gradient;         // stride
    std::int32_t* nodes;     // n_inner: the relevant inner nodes of the row
    std::uint32_t* stamp;    // n_inner: the visit that found the node relevant, starting with zeros
    std::uint8_t* sides;     // n_inner: bit 0 left child relevant, bit 1 right child
    std::uint32_t visit;
    float* margins;          // softmax: n_labels
};

enum class HsStorage { floats, halves, bytes };

// Vectors as a model stores them; bytes are multiples of a scale of their row.
struct HsVectors {
    HsStorage storage;
    const void* data;
    const float* scale;
    std::int64_t n_rows;
    std::int32_t stride;
};

struct HsModel {
    CodeTree tree;
    HsVectors input, output;
    bool plt;
};

// All epochs over the rows of `order` (those with labels), shuffled in place if `shuffle`. progress(context, rows done, rows in all)
// returns false to stop. Several threads write to the same vectors without locks (Hogwild, Niu et al. 2011).
void hs_fit(const HsTraining& training, std::int32_t* order, std::int64_t n_order, std::int64_t epochs, int n_threads,
            bool (*progress)(void*, std::int64_t, std::int64_t), void* context);

// The k best labels of every row; n_visited: inner nodes evaluated for it.
void hs_top_k(const HsModel& model, const SparseRows& rows, const float* bias, std::int32_t k, int n_threads,
              std::int32_t* labels, float* scores, std::int32_t* n_visited);

}  // namespace lw
