// The rows of the first blocks of a tree, those of its root, feature after feature.
//
// In the blocks, the rows of one feature lie as far apart as the blocks, and each is found by four reads at random places. A wide
// root has many blocks, and all of them are asked for every query. So a copy is made when a model is loaded: what all blocks hold
// of a feature lies in one piece, first a code for each block (0: no row there), then the rows, as blocks.hpp describes them.
#pragma once
#include <cstdint>
#include <vector>

#include "large_memory.hpp"
#include "models/linear/blocks.hpp"

namespace lw {

struct FeatureRows {
    std::int32_t n_blocks = 0;
    const std::uint64_t* start = nullptr;  // n_features + 1, into bytes; a feature without a row has an empty piece
    const std::uint8_t* bytes = nullptr;   // and kReadAhead more behind the last piece
};

// Bytes behind the last piece that may be read, though they mean nothing.
inline constexpr std::uint64_t kReadAhead = 64;

// The memory of such a copy.
struct FeatureRowsArrays {
    std::vector<std::uint64_t> start;
    LargeMemory bytes;
};

// The rows of the first n_blocks blocks; damaged ones are left out. Empty for a single block, which is in this order already.
FeatureRowsArrays made_feature_rows(const WeightBlocks& blocks, std::int64_t n_blocks);

}  // namespace lw
