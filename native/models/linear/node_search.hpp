// One level of a beam search for many rows: which nodes of the next level each row reaches.
#pragma once
#include <cstdint>

#include "models/linear/blocks.hpp"
#include "models/linear/link.hpp"

namespace lw {

// The nodes of one level and the weight blocks of their children; node v of the tree is number v - first_node here.
struct LevelNodes {
    std::int64_t first_node, n_nodes;
    const std::int32_t* first_child;   // of each, -1 in leaves
    const std::int64_t* first_block;   // n_nodes + 1
};

// From up to `beam` nodes of the level a row (-1 padded, with path scores) to the `beam` best of their children, best
// first, -1 padded; equal scores to the smaller node. Leaves lead nowhere.
void next_level(const WeightBlocks& blocks, const LevelNodes& level, Link link, std::int32_t beam, std::int64_t n_rows,
                const std::int64_t* indptr, const std::int32_t* indices, const float* data, int n_threads,
                const std::int32_t* nodes, const float* scores, std::int32_t* next_nodes, float* next_scores);

}  // namespace lw
