// From solved groups of 16 classifiers to compressed weight blocks.
#pragma once
#include <cstdint>
#include <vector>

#include "models/linear/blocks.hpp"

namespace lw {

// The surviving weights of one group of up to 16 sibling classifiers, feature by feature.
struct GroupWeights {
    std::vector<std::int32_t> features;   // ascending
    std::vector<std::uint16_t> masks;     // which of the 16 have a weight
    std::vector<std::uint16_t> halves;    // the weights of the set bits, in order
    std::vector<float> bias;              // one a classifier
};

// The arrays of WeightBlocks while they are made.
struct BlockArrays {
    std::int32_t n_features = 0;
    std::int32_t n_top = 0;
    std::vector<std::int64_t> child_start, word_start, row_start, payload_start;
    std::vector<float> bias, scale;   // scale: empty for half floats
    std::vector<std::uint64_t> top_bits, words;
    std::vector<std::uint32_t> top_rank;
    std::vector<std::uint16_t> row_offset, payload;
};

// One block per entry of group_start (groups group_start[b] .. group_start[b+1]); groups are emptied as they are used.
// bytes: one byte a weight and a scale for every child, in place of half floats.
BlockArrays build_blocks(std::vector<GroupWeights>& groups, const std::vector<std::int64_t>& group_start,
                         std::int32_t n_features, bool bytes, int n_threads);

// The same classifiers without the weights whose size is below `prune`, stored as asked.
BlockArrays rebuilt_blocks(const WeightBlocks& blocks, float prune, bool bytes, int n_threads);

}  // namespace lw
