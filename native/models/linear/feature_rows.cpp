#include "models/linear/feature_rows.hpp"

#include <bit>
#include <cstring>

#include "interrupt.hpp"

namespace lw {
namespace {

// The rows of 64 features in one block.
struct WordRows {
    std::uint64_t bits = 0;                        // features that have a row
    const std::uint8_t *codes = nullptr, *row = nullptr;  // of the next of them
};

// The rows of word `word` of a block; none where they would lead outside the block.
WordRows rows_of_word(const WeightBlocks& blocks, std::int64_t b, std::int64_t word) {
    const std::int64_t top = b * blocks.n_top + (word >> 6);
    const std::uint64_t bit = 1ull << (word & 63);
    if (!(blocks.top_bits[top] & bit)) return {};
    const std::uint64_t w = blocks.top_rank[top] + static_cast<std::uint64_t>(std::popcount(blocks.top_bits[top] & (bit - 1)));
    if (w >= static_cast<std::uint64_t>(blocks.word_start[b + 1] - blocks.word_start[b])) return {};
    const FeatureWord& found = blocks.words[blocks.word_start[b] + static_cast<std::int64_t>(w)];
    const auto n_rows = static_cast<std::uint64_t>(std::popcount(found.bits()));
    const auto n_payload = static_cast<std::uint64_t>(blocks.payload_start[b + 1] - blocks.payload_start[b]);
    if (found.offset + n_rows > n_payload) return {};
    const std::uint8_t* codes = blocks.payload + blocks.payload_start[b] + found.offset;
    return {found.bits(), codes, codes + n_rows};
}

}  // namespace

FeatureRowsArrays made_feature_rows(const WeightBlocks& blocks, std::int64_t n_blocks) {
    FeatureRowsArrays made;
    if (n_blocks < 2) return made;
    const auto n_features = static_cast<std::uint64_t>(blocks.n_features);
    // From above; memory that is never written to is never there.
    made.bytes = LargeMemory(static_cast<std::uint64_t>(blocks.payload_start[n_blocks]) + n_features * static_cast<std::uint64_t>(n_blocks) + kReadAhead);
    made.start.reserve(n_features + 1);
    std::vector<RowSizes> sizes;
    for (std::int64_t b = 0; b < n_blocks; ++b)
        sizes.emplace_back(static_cast<int>(blocks.child_start[b + 1] - blocks.child_start[b]), blocks.scale != nullptr);
    std::vector<WordRows> words(static_cast<std::size_t>(n_blocks));
    std::uint8_t* const begin = made.bytes.data();
    std::uint8_t* end = begin;
    std::int64_t room = blocks.payload_start[n_blocks];  // rows of a damaged file may lie in each other and come to more
    for (std::uint64_t feature = 0; feature < n_features; ++feature) {
        if (feature % 64 == 0) {
            check_interrupt();
            for (std::int64_t b = 0; b < n_blocks; ++b) words[static_cast<std::size_t>(b)] = rows_of_word(blocks, b, static_cast<std::int64_t>(feature / 64));
        }
        made.start.push_back(static_cast<std::uint64_t>(end - begin));
        std::uint8_t* const codes = end;
        std::uint8_t* row = codes + n_blocks;
        for (std::int64_t b = 0; b < n_blocks; ++b) {
            WordRows& word = words[static_cast<std::size_t>(b)];
            codes[b] = 0;
            if (!(word.bits >> (feature % 64) & 1)) continue;
            const std::uint8_t code = *word.codes++;
            const std::int64_t n = sizes[static_cast<std::size_t>(b)].row(code);
            if (n > blocks.payload + blocks.payload_start[b + 1] - word.row || n > room) {
                word.bits = 0;  // nor are the rows behind it inside
                continue;
            }
            std::memcpy(row, word.row, static_cast<std::size_t>(n));
            codes[b] = code;
            row += n;
            word.row += n;
            room -= n;
        }
        if (row > codes + n_blocks) end = row;
    }
    made.start.push_back(static_cast<std::uint64_t>(end - begin));
    return made;
}

}  // namespace lw
