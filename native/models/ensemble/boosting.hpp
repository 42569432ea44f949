// Boosted decision trees over features in bins: training with the logistic loss, and the margins that the trees give.
#pragma once
#include <cstdint>
#include <vector>

#include "models/ensemble/masked_trees.hpp"

namespace lw {

// Features of n_items by bin: bins[f * n_items + i] < n_bins[f] <= 256. hits: 1 for an item that is right, else 0.
struct BinnedItems {
    const std::uint8_t* bins;
    const std::int32_t* n_bins;
    const std::uint8_t* hits;
    std::int64_t n_items;
    std::int32_t n_features;
};

struct BoostingSettings {
    std::int32_t n_trees;
    std::int32_t n_leaves;
    std::int64_t min_items;  // of a leaf
    double rate;             // what every tree's answer is multiplied with
    double ridge;            // added to the second derivatives of a leaf
    double base;             // the margin before the first tree
    double negative_weight;  // how much an item counts that is not right
    double item_share;       // of the items that a tree learns from, drawn anew for every tree
    double feature_share;    // of the features that a tree may ask, at least one, drawn anew for every tree
    std::uint64_t seed;      // of both draws
    int n_threads;
};

// The trees as arrays (n_trees, 2 n_leaves - 1). Node 0 is the root. feature: -1 for a leaf. An item whose bin is at most
// `bin` goes to the node `left`, others to the next one. value: what the tree would answer at this node.
struct BoostedTrees {
    std::int32_t* feature;
    std::int32_t* bin;
    std::int32_t* left;
    float* value;
};

void train_boosting(const BinnedItems& items, const BoostingSettings& settings, const BoostedTrees& trees);

// The same trees with thresholds on the features themselves: an item goes left if its feature is at most the threshold.
struct FlatTrees {
    const std::int32_t* feature;
    const float* threshold;
    const std::int32_t* left;
    const float* value;
    std::int32_t n_trees;
    std::int32_t n_nodes;  // of a tree
};

// The trees packed for answering: sixteen items side by side. All nodes of small trees are asked at once; through larger ones
// items walk, and every leaf leads to itself, so that no step is a branch.
class QuickTrees {
public:
    // Every node must lead to nodes behind it within its tree.
    QuickTrees(const FlatTrees& trees, double base);

    // margins (n_items): base plus the leaves' values, for features (n_items, n_features).
    void margins(const float* features, std::int64_t n_items, std::int32_t n_features, float* margins) const;

    // Adds what the trees begin..end say of some items (their numbers) to the sums of these items, which begin with base().
    void add(const float* features, const std::int32_t* items, std::int64_t n_items, std::int32_t n_features, std::size_t begin,
             std::size_t end, double* sums) const;
    double base() const { return base_; }
    std::size_t n_trees() const { return n_trees_; }

private:
    struct Node {
        float threshold;
        std::int16_t feature, left;
    };
    bool mask(const FlatTrees& trees);
    std::uint32_t mask_below(const FlatTrees& trees, std::int64_t place, std::int64_t root, std::int32_t& n_leaves);
    void walk(const float* const* rows, std::size_t begin, std::size_t end, double* added) const;

    std::vector<MaskedNode> masked_;  // none: trees are too large
    std::vector<std::int32_t> first_masked_;
    std::vector<float> leaves_;
    std::vector<Node> nodes_;  // (n_trees, n_nodes)
    std::vector<float> values_;
    std::vector<std::int32_t> depths_;
    std::size_t n_trees_;
    std::int32_t n_nodes_;
    double base_;
};

}  // namespace lw
