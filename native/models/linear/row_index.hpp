// Where the rows of every feature lie in the first blocks of a tree, those of its root.
//
// Finding a row by way of its word and the codes before it takes four reads at random places, and a wide root has many blocks.
// The index is made when a model is loaded: one read a feature finds its rows in all of them.
#pragma once
#include <cstdint>
#include <vector>

#include "models/linear/blocks.hpp"

namespace lw {

struct RowIndex {
    std::int32_t n_blocks = 0;
    const std::uint32_t* offset = nullptr;  // n_features x n_blocks, into the block's payload
    const std::uint8_t* code = nullptr;     // n_features x n_blocks; 0: the feature has no row there
};

// The memory of an index.
struct RowIndexArrays {
    std::vector<std::uint32_t> offset;
    std::vector<std::uint8_t> code;
};

// The index of the first n_blocks blocks; damaged rows are left out. Empty where it would not pay: for a single block, or if it
// were as large as a quarter of the weights.
RowIndexArrays made_row_index(const WeightBlocks& blocks, std::int64_t n_blocks);

}  // namespace lw
