// Weight blocks as earlier versions saved them; they are converted while their folder is loaded.
//
// A bitmap over words of 64 features says which words are present, its rank finds the word, the word's bits and rank find
// the feature's row by way of its offset. A row is a count, child ids (bytes, padded; none if all children follow) and
// weights: half floats, or bytes (padded) in blocks with a `scale`. Nothing in a damaged file can lead outside it.
#pragma once
#include <cstdint>

#include "models/linear/block_rows.hpp"

namespace lw {

struct OldBlocks {
    std::int64_t n_blocks;
    std::int32_t n_features;
    std::int32_t n_top;                  // words of the top bitmap: ceil(n_features / 4096)
    const std::int64_t* child_start;     // n_blocks + 1, into bias
    const float* bias;
    const std::uint64_t* top_bits;       // n_blocks x n_top
    const std::uint32_t* top_rank;       // n_blocks x n_top: words before this one in the block
    const std::int64_t* word_start;      // n_blocks + 1, into words
    const std::uint64_t* words;          // pairs: feature bits; first row (low half) and its payload offset (high half)
    const std::int64_t* row_start;       // n_blocks + 1, into row_offset
    const std::uint16_t* row_offset;     // payload offset of a row from that of its word
    const std::int64_t* payload_start;   // n_blocks + 1, into payload
    const std::uint16_t* payload;
    const float* scale = nullptr;        // one a child if weights are bytes; null: half floats
};

bool read_row(const OldBlocks& blocks, std::int64_t block, std::int32_t feature, BlockRow& row);

template <class Visit>
void for_each_feature(const OldBlocks& blocks, std::int64_t block, Visit&& visit) {
    const std::uint64_t* words = blocks.words + 2 * blocks.word_start[block];
    const std::int64_t n_words = blocks.word_start[block + 1] - blocks.word_start[block];
    std::int64_t word = 0;
    for (std::int32_t t = 0; t < blocks.n_top; ++t)
        for (std::uint64_t top = blocks.top_bits[block * blocks.n_top + t]; top && word < n_words; top &= top - 1, ++word)
            for (std::uint64_t bits = words[2 * word]; bits; bits &= bits - 1) {
                const std::int64_t feature = (static_cast<std::int64_t>(t) * 64 + __builtin_ctzll(top)) * 64 + __builtin_ctzll(bits);
                if (feature < blocks.n_features) visit(static_cast<std::int32_t>(feature));
            }
}

}  // namespace lw
