// Reading weight blocks row by row: what training starts from, and what blocks are rebuilt from.
#pragma once
#include <cstdint>

#include "models/linear/blocks.hpp"

namespace lw {

// The weights of one feature in a block, decoded.
struct BlockRow {
    int n = 0;
    std::uint8_t children[kMaxChildren];
    float weights[kMaxChildren];
};

// True if the block has weights for the feature; a damaged row counts as none.
bool read_row(const WeightBlocks& blocks, std::int64_t block, std::int32_t feature, BlockRow& row);

// visit(feature) for every feature that the block has a row for, ascending.
template <class Visit>
void for_each_feature(const WeightBlocks& blocks, std::int64_t block, Visit&& visit) {
    const FeatureWord* words = blocks.words + blocks.word_start[block];
    const std::int64_t n_words = blocks.word_start[block + 1] - blocks.word_start[block];
    std::int64_t word = 0;
    for (std::int32_t t = 0; t < blocks.n_top; ++t)
        for (std::uint64_t top = blocks.top_bits[block * blocks.n_top + t]; top && word < n_words; top &= top - 1, ++word)
            for (std::uint64_t bits = words[word].bits(); bits; bits &= bits - 1) {
                const std::int64_t feature = (static_cast<std::int64_t>(t) * 64 + __builtin_ctzll(top)) * 64 + __builtin_ctzll(bits);
                if (feature < blocks.n_features) visit(static_cast<std::int32_t>(feature));
            }
}

}  // namespace lw
