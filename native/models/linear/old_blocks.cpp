#include "models/linear/old_blocks.hpp"

#include <bit>

#include "simd.hpp"

namespace lw {

bool read_row(const OldBlocks& blocks, std::int64_t block, std::int32_t feature, BlockRow& row) {
    row.n = 0;
    const std::uint32_t word = static_cast<std::uint32_t>(feature) >> 6;
    const std::uint64_t top = blocks.top_bits[block * blocks.n_top + (word >> 6)], word_bit = 1ull << (word & 63);
    if (!(top & word_bit)) return false;
    const std::int64_t w = blocks.top_rank[block * blocks.n_top + (word >> 6)] + std::popcount(top & (word_bit - 1));
    if (w >= blocks.word_start[block + 1] - blocks.word_start[block]) return false;
    const std::uint64_t* pair = blocks.words + 2 * (blocks.word_start[block] + w);
    const std::uint64_t bit = 1ull << (feature & 63);
    if (!(pair[0] & bit)) return false;
    const std::int64_t r = static_cast<std::int64_t>(pair[1] & 0xffffffffu) + std::popcount(pair[0] & (bit - 1));
    if (r >= blocks.row_start[block + 1] - blocks.row_start[block]) return false;
    const std::int64_t at = static_cast<std::int64_t>(pair[1] >> 32) + blocks.row_offset[blocks.row_start[block] + r];
    const std::int64_t n_payload = blocks.payload_start[block + 1] - blocks.payload_start[block];
    if (at >= n_payload) return false;
    const std::uint16_t* entry = blocks.payload + blocks.payload_start[block] + at;
    const std::int64_t first = blocks.child_start[block];
    const int n_children = static_cast<int>(blocks.child_start[block + 1] - first), n = entry[0];
    const int ids = n == n_children ? 0 : (n + 1) / 2, values = blocks.scale ? (n + 1) / 2 : n;
    if (n > n_children || 1 + ids + values > n_payload - at) return false;
    const auto* children = reinterpret_cast<const std::uint8_t*>(entry + 1);
    const std::uint16_t* halves = entry + 1 + ids;
    const auto* bytes = reinterpret_cast<const std::int8_t*>(halves);
    for (int i = 0; i < n; ++i) {
        const int child = ids ? children[i] : i;
        if (child >= n_children) continue;
        const float weight = blocks.scale ? static_cast<float>(bytes[i]) * blocks.scale[first + child] : half_to_float(halves[i]);
        if (weight == 0.0f) continue;  // a full row holds zeros for children that have no weight
        row.children[row.n] = static_cast<std::uint8_t>(child);
        row.weights[row.n++] = weight;
    }
    return row.n > 0;
}

}  // namespace lw
