#include "models/linear/block_rows.hpp"

#include <bit>
#include <cstring>

#include "simd.hpp"

namespace lw {
bool read_row(const WeightBlocks& blocks, std::int64_t block, std::int32_t feature, BlockRow& row) {
    row.n = 0;
    const std::uint32_t number = static_cast<std::uint32_t>(feature) >> 6;
    const std::uint64_t top = blocks.top_bits[block * blocks.n_top + (number >> 6)], word_bit = 1ull << (number & 63);
    if (!(top & word_bit)) return false;
    const std::int64_t w = blocks.top_rank[block * blocks.n_top + (number >> 6)] + std::popcount(top & (word_bit - 1));
    if (w >= blocks.word_start[block + 1] - blocks.word_start[block]) return false;
    const FeatureWord& word = blocks.words[blocks.word_start[block] + w];
    const std::uint64_t bits = word.bits(), bit = 1ull << (feature & 63);
    if (!(bits & bit)) return false;
    const int r = std::popcount(bits & (bit - 1)), n_rows = std::popcount(bits);
    std::int64_t room = blocks.payload_start[block + 1] - blocks.payload_start[block] - word.offset;
    if (n_rows > room) return false;
    const std::uint8_t* codes = blocks.payload + blocks.payload_start[block] + word.offset;
    room -= n_rows;
    const std::int64_t first = blocks.child_start[block];
    const int n_children = static_cast<int>(blocks.child_start[block + 1] - first);
    const RowSizes sizes(n_children, blocks.scale != nullptr);
    std::int64_t before = 0;
    for (int i = 0; i < r; ++i) before += sizes.row(codes[i]);
    const int code = codes[r], n = sizes.weights(code), names = sizes.names(code);
    if (n > n_children || before + sizes.row(code) > room) return false;
    const std::uint8_t* children = codes + n_rows + before;
    const std::uint8_t* weights = children + names;
    const bool full = code == kFullRow, mapped = !full && code > sizes.most_listed;
    for (int i = 0, next = 0; i < n; ++i) {
        if (mapped)
            while (next < n_children && !(children[next >> 3] >> (next & 7) & 1)) ++next;
        const int child = full ? i : mapped ? next++ : children[i];
        if (child >= n_children) continue;
        float weight;
        if (blocks.scale) {
            weight = static_cast<float>(static_cast<std::int8_t>(weights[i])) * blocks.scale[first + child];
        } else {
            std::uint16_t half;
            std::memcpy(&half, weights + 2 * i, 2);
            weight = half_to_float(half);
        }
        if (weight == 0.0f) continue;  // a full row holds zeros for children that have no weight
        row.children[row.n] = static_cast<std::uint8_t>(child);
        row.weights[row.n++] = weight;
    }
    return row.n > 0;
}

}  // namespace lw
