#include "models/linear/feature_rows.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "interrupt.hpp"
#include "levels.hpp"

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

// The weights of one feature in one block of the copy, which may come from several blocks.
class JoinedRow {
public:
    JoinedRow(int n_children, bool bytes) : sizes_(n_children, bytes) {}

    void clear() { n_ = 0; }
    // A row as it is in a block, whose first child is child `first` here.
    void add(const RowSizes& sizes, int code, const std::uint8_t* row, int first) {
        const std::uint8_t* weights = row + sizes.names(code);
        const int n = sizes.weights(code);
        const bool full = code == kFullRow, mapped = !full && code > sizes.most_listed;
        for (int i = 0, child = 0; i < n; ++i, ++child) {
            if (mapped)
                while (child < sizes.n_children && !(row[child >> 3] >> (child & 7) & 1)) ++child;
            const int named = full || mapped ? child : row[i];
            if (named >= sizes.n_children || n_ == kMaxChildren) continue;  // damaged
            std::uint16_t weight = 0;
            std::memcpy(&weight, weights + sizes.weight * i, static_cast<std::size_t>(sizes.weight));
            if (weight == 0) continue;  // a full row holds zeros for children that have no weight
            children_[n_] = static_cast<std::uint8_t>(first + named);
            weights_[n_++] = weight;
        }
    }
    // Writes the row and returns its code; 0 if it is empty. `end` becomes the end of the row.
    std::uint8_t write(std::uint8_t*& end) const {
        if (n_ == 0) return 0;
        const bool full = 2 * n_ > sizes_.n_children;  // quicker to add than by a bitmap; small trees can afford the room
        const int code = full ? kFullRow : n_;
        std::memset(end, 0, static_cast<std::size_t>(sizes_.row(code)));
        const bool mapped = !full && code > sizes_.most_listed;
        for (int i = 0; i < n_; ++i) {
            const int child = children_[i];
            if (mapped) end[child >> 3] = static_cast<std::uint8_t>(end[child >> 3] | 1u << (child & 7));
            if (!mapped && !full) end[i] = children_[i];
            std::memcpy(end + sizes_.names(code) + sizes_.weight * (full ? child : i), &weights_[i], static_cast<std::size_t>(sizes_.weight));
        }
        end += sizes_.row(code);
        return static_cast<std::uint8_t>(code);
    }

private:
    RowSizes sizes_;
    int n_ = 0;
    std::uint8_t children_[kMaxChildren];
    std::uint16_t weights_[kMaxChildren];
};

}  // namespace

FeatureRows FeatureRowsArrays::view() const {
    if (empty()) return {};
    return {static_cast<std::int32_t>(child_start.size() - 1), child_start.data(), start.data(), bytes.data()};
}

void chosen_margins(const WeightBlocks& blocks, const FeatureRows& rows, const Query& query, std::int64_t n, const std::int32_t* places,
                    ChosenMemory& memory, float* margins) {
    memory.block.clear();
    memory.start.clear();
    memory.child.clear();
    const std::int64_t each = rows.child_start[1];
    for (std::int64_t j = 0; j < n; ++j) {
        const auto block = static_cast<std::int32_t>(std::min<std::int64_t>(places[j] / each, rows.n_blocks - 1));
        if (memory.block.empty() || memory.block.back() != block) {
            memory.block.push_back(block);
            memory.start.push_back(static_cast<std::int32_t>(j));
        }
        memory.child.push_back(static_cast<std::uint8_t>(places[j] - rows.child_start[block]));
    }
    memory.start.push_back(static_cast<std::int32_t>(n));
    memory.rows.resize(2 * memory.block.size());
    memory.chosen.resize(memory.rows.size());
    memory.codes.resize(memory.rows.size());
    const ChosenChildren chosen{static_cast<std::int32_t>(memory.block.size()), memory.block.data(), memory.start.data(), memory.child.data()};
    kernels().score_chosen(blocks, rows, query, chosen, {memory.rows.data(), memory.chosen.data(), memory.codes.data()}, margins);
}

FeatureRowsArrays made_feature_rows(const WeightBlocks& blocks, std::int64_t n_blocks, bool join) {
    FeatureRowsArrays made;
    const bool bytes = blocks.scale != nullptr;
    std::vector<RowSizes> sizes;
    std::vector<std::size_t> part_of;  // which block of the copy a block goes into
    for (std::int64_t b = 0; b < n_blocks; ++b) {
        sizes.emplace_back(static_cast<int>(blocks.child_start[b + 1] - blocks.child_start[b]), bytes);
        if (b == 0 || !join || blocks.child_start[b + 1] - made.child_start.back() > kMaxChildren) made.child_start.push_back(blocks.child_start[b]);
        part_of.push_back(made.child_start.size() - 1);
    }
    const std::size_t n_parts = made.child_start.size();
    made.child_start.push_back(blocks.child_start[n_blocks]);
    std::vector<JoinedRow> joined;
    for (std::size_t part = 0; part < n_parts; ++part)
        joined.emplace_back(static_cast<int>(made.child_start[part + 1] - made.child_start[part]), bytes);

    const auto n_features = static_cast<std::uint64_t>(blocks.n_features);
    std::int64_t room = blocks.payload_start[n_blocks];  // rows of a damaged file may lie in each other and come to more
    // From above: a joined row has at most two bytes for each byte of the weights in it. Memory that is never written to is
    // never there.
    made.bytes = LargeMemory(static_cast<std::uint64_t>(join ? 2 * room : room) + n_features * n_parts + kReadAhead);
    made.start.reserve(n_features + 1);
    std::vector<WordRows> words(static_cast<std::size_t>(n_blocks));
    std::uint8_t* const begin = made.bytes.data();
    std::uint8_t* end = begin;
    for (std::uint64_t feature = 0; feature < n_features; ++feature) {
        if (feature % 64 == 0) {
            check_interrupt();
            for (std::int64_t b = 0; b < n_blocks; ++b) words[static_cast<std::size_t>(b)] = rows_of_word(blocks, b, static_cast<std::int64_t>(feature / 64));
        }
        made.start.push_back(static_cast<std::uint64_t>(end - begin));
        std::uint8_t* const codes = end;
        std::uint8_t* row = codes + n_parts;
        for (std::int64_t b = 0; b < n_blocks; ++b) {
            WordRows& word = words[static_cast<std::size_t>(b)];
            const RowSizes& own = sizes[static_cast<std::size_t>(b)];
            const std::size_t part = part_of[static_cast<std::size_t>(b)];
            const bool first = b == 0 || part_of[static_cast<std::size_t>(b) - 1] != part, last = b + 1 == n_blocks || part_of[static_cast<std::size_t>(b) + 1] != part;
            if (first) {
                codes[part] = 0;
                joined[part].clear();
            }
            if (word.bits >> (feature % 64) & 1) {
                const std::uint8_t code = *word.codes++;
                const std::int64_t n = own.row(code);
                if (n > blocks.payload + blocks.payload_start[b + 1] - word.row || n > room) {
                    word.bits = 0;  // nor are the rows behind it inside
                } else {
                    if (first && last) {
                        std::memcpy(row, word.row, static_cast<std::size_t>(n));
                        codes[part] = code;
                        row += n;
                    } else {
                        joined[part].add(own, code, word.row, static_cast<int>(blocks.child_start[b] - made.child_start[part]));
                    }
                    word.row += n;
                    room -= n;
                }
            }
            if (last && !first) codes[part] = joined[part].write(row);
        }
        if (row > codes + n_parts) end = row;
    }
    made.start.push_back(static_cast<std::uint64_t>(end - begin));
    return made;
}

}  // namespace lw
