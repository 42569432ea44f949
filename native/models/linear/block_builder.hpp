// From solved groups of 16 classifiers to compressed weight blocks.
#pragma once
#include <cstdint>
#include <vector>

#include "models/linear/blocks.hpp"
#include "models/linear/old_blocks.hpp"

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
    std::vector<std::int64_t> child_start, word_start, payload_start;
    std::vector<float> bias, scale;   // scale: empty for half floats
    std::vector<std::uint64_t> top_bits;
    std::vector<std::uint32_t> top_rank, words;  // words: three numbers each, see FeatureWord
    std::vector<std::uint8_t> payload;
};

// One block while the others are made.
struct BuiltBlock {
    std::vector<std::uint64_t> top_bits;
    std::vector<std::uint32_t> top_rank, words;  // words: three numbers each, see FeatureWord
    std::vector<std::uint8_t> payload;
    std::vector<float> bias, scale;
};

// The block of some groups of siblings, which are emptied: their weights take several times its room.
// bytes: one byte a weight and a scale for every child, in place of half floats.
BuiltBlock build_block(GroupWeights* groups, std::int64_t n_groups, std::int32_t n_features, bool bytes);

// All blocks in a row; they are emptied one after the other.
BlockArrays joined(std::vector<BuiltBlock>& blocks, std::int32_t n_features);

// The same classifiers without the weights whose size is below `prune`, stored as asked.
BlockArrays rebuilt_blocks(const WeightBlocks& blocks, float prune, bool bytes, int n_threads);

// One block of the classifiers of all parts (at least one, all over the same features, at most 256 classifiers in all), stored as
// asked. Of parts with half floats it is what training their children together gives.
BlockArrays merged_block(const std::vector<const WeightBlocks*>& parts, bool bytes);

// The classifiers of a model that an earlier version saved, with the same weights.
BlockArrays converted_blocks(const OldBlocks& blocks, int n_threads);

}  // namespace lw
