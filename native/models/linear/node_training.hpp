// Trains the child classifiers of label-tree nodes: rows are gathered once per node, children solved 16 at a time.
#pragma once
#include <cstdint>
#include <vector>

#include "models/linear/block_builder.hpp"
#include "models/linear/solver.hpp"

namespace lw {

// Training rows in feature ids 0..n_features-1 (best: by falling frequency), and the rows of each label in tree order.
// With `numbers` the indices are columns 0..n_columns-1 instead, and their numbers are the feature ids; with `row_scale`
// the values are still to be scaled. So the caller's matrix serves as it is, without a copy.
struct TrainingData {
    std::int64_t n_rows;
    std::int32_t n_features;
    const std::int64_t* indptr;
    const std::int32_t* indices;
    const float* data;
    std::int64_t n_labels;
    const std::int64_t* label_start;  // n_labels + 1, into label_rows
    const std::int32_t* label_rows;
    const float* row_cost = nullptr;  // factor of the cost of each row's errors, 0: the row is left out; null: 1
    const float* row_scale = nullptr;  // factor of each row's values; null: 1
    const std::int32_t* numbers = nullptr;  // the feature of each column, -1 for columns that no row has; null: the column
    std::int32_t n_columns = 0;             // entries of numbers
};

// Node n has children child_bound[child_start[n]] .. : child c owns label places child_bound[c] to child_bound[c + 1]
// (nodes do not share bounds: a node with m children has m + 1 of them).
struct TrainingNodes {
    std::int64_t n_nodes;
    const std::int64_t* child_start;  // n_nodes + 1, into child_bound
    const std::int64_t* child_bound;
    const std::int64_t* extra_start;  // n_nodes + 1, into extra_rows: rows that are added as negatives
    const std::int32_t* extra_rows;
    bool all_rows;                    // every row takes part in every node (one-vs-all)
    bool extra_alone = false;         // only extra rows are negatives; the others count where they are positive
    const float* child_cost = nullptr;          // beside child_bound: factor of a child's positive cost; null: 1
};

// Weights that training starts from, if `blocks` is there; child c of a node starts from child c of its earlier blocks.
struct TrainingStart {
    const WeightBlocks* blocks = nullptr;
    std::int64_t first_new_row = 0;             // rows from here on are not behind those weights
    const std::int64_t* first_block = nullptr;  // one a node: its first block there, -1 for none
    const std::int64_t* n_children = nullptr;   // one a node: how many children those blocks have
};

// The number of positive rows for which the costs are taken as they are given.
inline constexpr double kRareRows = 20.0;

struct TrainingOptions {
    Loss loss;
    float eps;
    int max_passes;
    float bias;
    float prune;                       // weights below are dropped
    float untrained;                   // bias of a child that has no positive row
    float cost_positive;               // C of a positive and a negative row of a cluster, or of a label with kRareRows
    float cost_negative;               // positive rows; a label with n of them gets C (kRareRows / n)^rare_power
    float rare_power;
    float cluster_cost;                // factor of C for a child with several labels
    std::uint64_t seed;
    int n_threads;
    bool bytes = false;                // weights are kept as bytes with a scale for each child; false: as half floats
    TrainingStart start = {};
    // Groups of nodes that come before these in the whole: nodes trained in parts are then as if trained together.
    std::int64_t groups_before = 0;
};

struct TrainingReport {
    std::int64_t groups = 0, passes = 0;
};

// Called now and then with the share of the work done, from one thread at a time; false stops the training.
using TrainingProgress = bool (*)(void* context, std::int64_t done, std::int64_t total);

// One block per node, or several where a node has more than 256 children.
BlockArrays train_nodes(const TrainingData& data, const TrainingNodes& nodes, const TrainingOptions& options,
                        TrainingProgress progress, void* context, TrainingReport* report);

}  // namespace lw
