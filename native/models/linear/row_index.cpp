#include "models/linear/row_index.hpp"

#include <bit>


namespace lw {
namespace {

void add_block(const WeightBlocks& blocks, std::int64_t b, std::int64_t n_blocks, RowIndexArrays& made) {
    const FeatureWord* words = blocks.words + blocks.word_start[b];
    const auto n_words = static_cast<std::uint64_t>(blocks.word_start[b + 1] - blocks.word_start[b]);
    const std::uint8_t* payload = blocks.payload + blocks.payload_start[b];
    const auto n_payload = static_cast<std::uint64_t>(blocks.payload_start[b + 1] - blocks.payload_start[b]);
    const RowSizes sizes(static_cast<int>(blocks.child_start[b + 1] - blocks.child_start[b]), blocks.scale != nullptr);
    for (std::int32_t t = 0; t < blocks.n_top; ++t) {
        std::uint64_t w = blocks.top_rank[b * blocks.n_top + t];
        for (std::uint64_t top = blocks.top_bits[b * blocks.n_top + t]; top && w < n_words; top &= top - 1, ++w) {
            const std::uint64_t bits = words[w].bits();
            const auto n_rows = static_cast<std::uint64_t>(std::popcount(bits));
            const std::uint8_t* codes = payload + words[w].offset;
            std::uint64_t at = words[w].offset + n_rows;
            if (at > n_payload) continue;
            for (std::uint64_t left = bits, r = 0; left; left &= left - 1, ++r) {
                const std::int64_t feature = (static_cast<std::int64_t>(t) * 64 + std::countr_zero(top)) * 64 + std::countr_zero(left);
                const std::uint64_t end = at + static_cast<std::uint64_t>(sizes.row(codes[r]));
                if (feature < blocks.n_features && end <= n_payload) {
                    made.offset[static_cast<std::size_t>(feature * n_blocks + b)] = static_cast<std::uint32_t>(at);
                    made.code[static_cast<std::size_t>(feature * n_blocks + b)] = codes[r];
                }
                at = end;
            }
        }
    }
}

}  // namespace

RowIndexArrays made_row_index(const WeightBlocks& blocks, std::int64_t n_blocks) {
    RowIndexArrays made;
    const std::int64_t size = n_blocks * blocks.n_features;
    constexpr std::int64_t kBytes = 5;
    if (n_blocks < 2 || size * kBytes > blocks.payload_start[n_blocks] / 4) return made;
    made.offset.assign(static_cast<std::size_t>(size), 0);
    made.code.assign(static_cast<std::size_t>(size), 0);
    for (std::int64_t b = 0; b < n_blocks; ++b) add_block(blocks, b, n_blocks, made);
    return made;
}

}  // namespace lw
