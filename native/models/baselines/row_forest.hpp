// FastXML's trees over rows (Prabhu and Varma, KDD 2014): how a node's rows are cut in two, and how a forest answers.
#pragma once
#include <cstdint>
#include <vector>

#include "sparse_rows.hpp"

namespace lw {

struct RowSplitSettings {
    double cost;              // of the log loss, beside |w|_1
    std::int32_t max_passes;  // over the weights
    double eps;               // how far from the optimum, as a share of where it began
};

// Cuts the rows of one node after the other; keeps room for all features and labels, so one thread uses it at a time.
class RowSplitter {
public:
    // label_weights: what each label counts in the gain of a ranking, n_labels.
    RowSplitter(SparseRows x, SparsePattern y, const float* label_weights, RowSplitSettings settings);

    // sides[i] of rows[i]: 1 right, 0 left. The separator has n_weights (returned) entries, columns[j] with weights[j];
    // column n_columns is the constant. columns and weights have room for n_columns + 1.
    std::int32_t split(const std::int32_t* rows, std::int32_t n_rows, std::uint64_t seed, std::uint8_t* sides,
                       std::int32_t* columns, float* weights);

private:
    void rank(const std::int32_t* rows, std::int32_t n_rows, std::uint64_t seed, std::uint8_t* sides);
    void gather(const std::int32_t* rows, std::int32_t n_rows);
    void separate(std::int32_t n_rows, std::uint64_t seed, const std::uint8_t* sides);

    SparseRows x_;
    SparsePattern y_;
    const float* label_weights_;
    RowSplitSettings settings_;
    std::vector<std::int32_t> local_;            // of a feature or label, -1 where the node has none
    std::vector<std::int32_t> features_;         // local -> column
    std::vector<std::int64_t> starts_;           // the node's rows by local feature
    std::vector<std::int32_t> entry_rows_;
    std::vector<double> entry_values_;
    std::vector<double> weights_, margins_, chances_, steps_;
};

// A forest: node n has the children left[n] and left[n] + 1, or is a leaf (-1). Separators and leaf labels as CSR.
struct RowForest {
    const std::int32_t* roots;  // n_trees
    std::int32_t n_trees;
    const std::int32_t* left;
    const std::int64_t* weight_starts;
    const std::int32_t* weight_columns;  // n_features: the constant
    const float* weights;
    const std::int64_t* label_starts;
    const std::int32_t* labels;
    const float* shares;
    std::int32_t n_features, n_labels;
};

// The k labels with the largest mean shares over the leaves of each row; -1 and -inf where the leaves name fewer.
void forest_top_k(const RowForest& forest, const SparseRows& rows, std::int32_t k, int n_threads, std::int32_t* labels, float* scores);

// The leaf of each row in each tree, (n_rows, n_trees).
void forest_leaves(const RowForest& forest, const SparseRows& rows, int n_threads, std::int32_t* leaves);

}  // namespace lw
