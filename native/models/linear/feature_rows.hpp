// The rows of the first blocks of a tree, feature after feature: those of a wide root, or all blocks of a small tree.
//
// In the blocks, the rows of one feature lie as far apart as the blocks, and each is found by four reads at random places. A wide
// root has many blocks, and all of them are asked for every query. A small tree may have a hundred leaves of a few labels: to look
// up all features of a query in five of them takes longer than to score all labels at once. So a copy is made when a model is
// loaded: what all blocks hold of a feature lies in one piece, first a code for each block (0: no row there), then the rows, as
// blocks.hpp describes them. Here a block may be several of the tree's that follow each other, up to 256 children.
//
// It also serves queries that want a few classifiers of many blocks: what one feature holds then lies in a page or two, and not
// in as many as there are blocks.
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

// Some classifiers, block by block: child[start[i]] .. child[start[i + 1] - 1] of block[i], which rise.
struct ChosenChildren {
    std::int32_t n_blocks;
    const std::int32_t *block, *start;
    const std::uint8_t* child;
};

// Memory for twice as many rows as blocks are chosen.
struct ChosenRoom {
    const std::uint8_t** row;
    std::int32_t* chosen;
    std::uint8_t* code;
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

// Writes the margins of a row under some classifiers (places[j] rising and less than their number), from a copy of all blocks,
// of which all but the last have equally many children.
struct ChosenMemory {
    std::vector<std::int32_t> block, start, chosen;
    std::vector<std::uint8_t> child, codes;
    std::vector<const std::uint8_t*> rows;
};
void chosen_margins(const WeightBlocks& blocks, const FeatureRows& rows, const Query& query, std::int64_t n, const std::int32_t* places,
                    ChosenMemory& memory, float* margins);

// The rows of the first n_blocks blocks; damaged ones are left out. join: blocks that follow each other become one where
// they have at most 256 children together.
FeatureRowsArrays made_feature_rows(const WeightBlocks& blocks, std::int64_t n_blocks, bool join);

}  // namespace lw
