// MaskedTrees: small decision trees whose questions are all asked at once: no step waits for the one before it.
#pragma once
#include <cstdint>

namespace lw {

inline constexpr std::int32_t kItemsAtOnce = 16, kMostLeaves = 31;

// An inner node: an item whose feature is above the threshold reaches none of the leaves under its left child.
struct MaskedNode {
    float threshold;
    std::int32_t feature;
    std::uint32_t left_leaves;
};

// Leaves of a tree are numbered from left to right. The first that no node takes away is the one that an item reaches
// (Lucchese et al., QuickScorer, SIGIR 2015).
struct MaskedTrees {
    const MaskedNode* nodes;
    const std::int32_t* first_nodes;  // (n_trees + 1)
    const float* leaves;              // (n_trees, kMostLeaves)
};

}  // namespace lw
