// Sibling weight blocks: the compressed weights of up to 256 classifiers that are always asked together.
//
// A block keeps its features in words of 64. A bitmap says which words are there, its rank finds the word, the word's bits
// and rank find the feature's row. The rows of a word lie in one piece of the payload:
//
//     a byte for each row   its code: the number n of children that have a weight, or 255: all children follow
//     row after row         which children: their numbers (n bytes), a bitmap of all children if n is above an eighth of
//                           them, nothing for code 255; then as many weights
//
// A weight is a half float, or in blocks with a `scale` a byte -127..127: times the scale of its child. Rows have no
// offsets of their own: those of the rows before follow from their codes. Everything may be memory-mapped; nothing in a
// damaged file can lead outside it.
#pragma once
#include <cstdint>

namespace lw {

inline constexpr int kMaxChildren = 256;
inline constexpr std::uint8_t kFullRow = 255;   // code

// 64 features: which of them have a row (low half, high half), and where their rows begin in the block's payload.
struct FeatureWord {
    std::uint32_t low, high, offset;
    std::uint64_t bits() const { return low | static_cast<std::uint64_t>(high) << 32; }
};

// How the rows of a block are laid out.
struct RowSizes {
    int n_children, most_listed, bitmap, weight;  // bytes of a bitmap and of a weight

    RowSizes(int n_children, bool bytes)
        : n_children(n_children), most_listed(n_children / 8), bitmap((n_children + 7) / 8), weight(bytes ? 1 : 2) {}
    // Bytes before the weights of a row, and how many weights there are.
    int names(int code) const { return code == kFullRow ? 0 : code <= most_listed ? code : bitmap; }
    int weights(int code) const { return code == kFullRow ? n_children : code; }
    std::int64_t row(int code) const { return names(code) + static_cast<std::int64_t>(weight) * weights(code); }
};

struct WeightBlocks {
    std::int64_t n_blocks;
    std::int32_t n_features;
    std::int32_t n_top;                   // numbers in a block's bitmap of words: ceil(n_features / 4096)
    const std::int64_t* child_start;      // n_blocks + 1, into bias
    const float* bias;
    const std::uint64_t* top_bits;        // n_blocks x n_top
    const std::uint32_t* top_rank;        // n_blocks x n_top: words of the block before those of this number
    const std::int64_t* word_start;       // n_blocks + 1, into words
    const FeatureWord* words;
    const std::int64_t* payload_start;    // n_blocks + 1, into payload
    const std::uint8_t* payload;
    const float* scale = nullptr;         // one a child if weights are bytes; null: half floats
};

inline constexpr std::int32_t top_words(std::int64_t n_features) {
    return n_features <= 4096 ? 1 : static_cast<std::int32_t>((n_features + 4095) / 4096);
}

// One input row; features are the block's own ids, unknown ones already left out.
struct Query {
    std::int32_t n;
    const std::int32_t* features;
    const float* values;
};

}  // namespace lw
