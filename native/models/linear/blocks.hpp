// Sibling weight blocks: the compressed weights of up to 256 classifiers that are always asked together.
//
// Finding a feature in a block takes two bit tests and no search: a top bitmap over words of 64 features says which
// words are present, its rank finds the word, the word's bits and rank find the feature's row. A row lists the children
// that have a weight for the feature (one byte each) and their weights as half floats; a row that nearly all children
// share is stored without the list. Blocks with a `scale` keep whole numbers -127..127 in one byte each instead: a weight
// is that number times the scale of its child. Everything may be memory-mapped; nothing in a damaged file can lead
// outside it.
#pragma once
#include <cstdint>

namespace lw {

inline constexpr int kMaxChildren = 256;

struct WeightBlocks {
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
    const std::uint16_t* payload;        // per row: count, child ids (bytes, padded), half floats or bytes (padded)
    const float* scale = nullptr;        // one a child if weights are bytes; null: half floats
};

// One input row; features are the block's own ids, unknown ones already left out.
struct Query {
    std::int32_t n;
    const std::int32_t* features;
    const float* values;
};

}  // namespace lw
