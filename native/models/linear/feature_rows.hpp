// The rows of the first blocks of a tree, feature after feature: those of a wide root, or all blocks of a small tree.
//
// In the blocks, the rows of one feature lie as far apart as the blocks, and each is found by four reads at random places. A wide
// root has many blocks, and all of them are asked for every query. A small tree may have a hundred leaves of a few labels: to look
// up all features of a query in five of them takes longer than to score all labels at once. So a copy is made when a model is
// loaded: what all blocks hold of a feature lies in one piece, first a code for each block (0: no row there), then the rows, as
// blocks.hpp describes them. Here a block may be several of the tree's that follow each other, up to 256 children.
#pragma once
#include <cstdint>
#include <vector>

#include "large_memory.hpp"
#include "models/linear/blocks.hpp"

namespace lw {

struct FeatureRows {
    std::int32_t n_blocks = 0;
    const std::int64_t* child_start = nullptr;  // n_blocks + 1, into the bias and scale of the tree's blocks
    const std::uint64_t* start = nullptr;  // n_features + 1, into bytes; a feature without a row has an empty piece
    const std::uint8_t* bytes = nullptr;   // and kReadAhead more behind the last piece
};

// Bytes behind the last piece that may be read, though they mean nothing.
inline constexpr std::uint64_t kReadAhead = 64;

// The memory of such a copy.
struct FeatureRowsArrays {
    std::vector<std::int64_t> child_start;
    std::vector<std::uint64_t> start;
    LargeMemory bytes;

    bool empty() const { return start.empty(); }
    FeatureRows view() const;
};

// The rows of the first n_blocks blocks; damaged ones are left out. join: blocks that follow each other become one where
// they have at most 256 children together.
FeatureRowsArrays made_feature_rows(const WeightBlocks& blocks, std::int64_t n_blocks, bool join);

}  // namespace lw
