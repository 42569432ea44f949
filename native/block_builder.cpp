#include "block_builder.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>

#include "parallel.hpp"
#include "solver.hpp"

namespace lw {
namespace {

// A row that more than this share of the children have a weight for is stored densely: no child list, vector adds.
constexpr double kDenseShare = 0.6;

struct Block {
    std::vector<std::uint64_t> top_bits, words;
    std::vector<std::uint32_t> top_rank;
    std::vector<std::uint16_t> row_offset, payload;
    std::vector<float> bias;
};

// Walks the groups of a block in parallel order of features.
struct Cursor {
    std::size_t feature = 0, half = 0;
};

void append_row(Block& block, const std::vector<std::uint8_t>& children, const std::vector<std::uint16_t>& halves,
                int n_children) {
    const int n = static_cast<int>(children.size());
    if (n == n_children || (n_children > 4 && n > kDenseShare * n_children)) {
        block.payload.push_back(static_cast<std::uint16_t>(n_children));
        const std::size_t at = block.payload.size();
        block.payload.resize(at + static_cast<std::size_t>(n_children), 0);
        for (int i = 0; i < n; ++i) block.payload[at + children[i]] = halves[i];
        return;
    }
    block.payload.push_back(static_cast<std::uint16_t>(n));
    for (int i = 0; i < n; i += 2) {  // two child ids in one unit, lower address first on every machine
        const std::uint8_t pair[2] = {children[i], i + 1 < n ? children[i + 1] : std::uint8_t{0}};
        block.payload.push_back(std::bit_cast<std::uint16_t>(pair));
    }
    block.payload.insert(block.payload.end(), halves.begin(), halves.end());
}

Block build_block(GroupWeights* groups, std::int64_t n_groups, std::int32_t n_features, std::int32_t n_top) {
    Block block;
    block.top_bits.assign(static_cast<std::size_t>(n_top), 0);
    block.top_rank.assign(static_cast<std::size_t>(n_top), 0);
    int n_children = 0;
    std::vector<int> first_child;
    for (std::int64_t g = 0; g < n_groups; ++g) {
        first_child.push_back(n_children);
        n_children += static_cast<int>(groups[g].bias.size());
        block.bias.insert(block.bias.end(), groups[g].bias.begin(), groups[g].bias.end());
    }
    if (n_children > kMaxChildren) throw std::logic_error("a weight block holds at most 256 classifiers");
    std::vector<Cursor> cursors(static_cast<std::size_t>(n_groups));
    std::vector<std::uint8_t> children;
    std::vector<std::uint16_t> halves;
    std::int64_t word = -1;
    std::size_t word_payload = 0;
    while (true) {
        std::int32_t feature = n_features;
        for (std::int64_t g = 0; g < n_groups; ++g)
            if (cursors[g].feature < groups[g].features.size())
                feature = std::min(feature, groups[g].features[cursors[g].feature]);
        if (feature == n_features) break;
        children.clear();
        halves.clear();
        for (std::int64_t g = 0; g < n_groups; ++g) {
            Cursor& cursor = cursors[g];
            if (cursor.feature >= groups[g].features.size() || groups[g].features[cursor.feature] != feature) continue;
            for (unsigned mask = groups[g].masks[cursor.feature]; mask; mask &= mask - 1) {
                children.push_back(static_cast<std::uint8_t>(first_child[g] + std::countr_zero(mask)));
                halves.push_back(groups[g].halves[cursor.half++]);
            }
            ++cursor.feature;
        }
        if (feature >> 6 != word) {
            word = feature >> 6;
            word_payload = block.payload.size();
            const std::uint64_t row = block.row_offset.size();
            block.words.push_back(0);
            block.words.push_back(row | static_cast<std::uint64_t>(word_payload) << 32);
            block.top_bits[static_cast<std::size_t>(word >> 6)] |= 1ull << (word & 63);
        }
        block.words[block.words.size() - 2] |= 1ull << (feature & 63);
        block.row_offset.push_back(static_cast<std::uint16_t>(block.payload.size() - word_payload));
        append_row(block, children, halves, n_children);
    }
    std::uint32_t before = 0;
    for (std::int32_t t = 0; t < n_top; ++t) {
        block.top_rank[static_cast<std::size_t>(t)] = before;
        before += static_cast<std::uint32_t>(std::popcount(block.top_bits[static_cast<std::size_t>(t)]));
    }
    for (std::int64_t g = 0; g < n_groups; ++g) groups[g] = GroupWeights{};
    return block;
}

template <class T>
void append(std::vector<T>& all, std::vector<T>& part) {
    all.insert(all.end(), part.begin(), part.end());
    part = std::vector<T>();
}

}  // namespace

BlockArrays build_blocks(std::vector<GroupWeights>& groups, const std::vector<std::int64_t>& group_start,
                         std::int32_t n_features, int n_threads) {
    const std::int64_t n_blocks = static_cast<std::int64_t>(group_start.size()) - 1;
    BlockArrays out;
    out.n_features = n_features;
    out.n_top = std::max(1, (n_features + 4095) / 4096);
    std::vector<Block> blocks(static_cast<std::size_t>(n_blocks));
    parallel_for(n_blocks, n_threads, 1, [&](std::int64_t b, int) {
        blocks[b] = build_block(groups.data() + group_start[b], group_start[b + 1] - group_start[b], n_features, out.n_top);
    });
    for (auto* start : {&out.child_start, &out.word_start, &out.row_start, &out.payload_start}) start->push_back(0);
    for (Block& block : blocks) {
        append(out.bias, block.bias);
        append(out.top_bits, block.top_bits);
        append(out.top_rank, block.top_rank);
        append(out.words, block.words);
        append(out.row_offset, block.row_offset);
        append(out.payload, block.payload);
        out.child_start.push_back(static_cast<std::int64_t>(out.bias.size()));
        out.word_start.push_back(static_cast<std::int64_t>(out.words.size() / 2));
        out.row_start.push_back(static_cast<std::int64_t>(out.row_offset.size()));
        out.payload_start.push_back(static_cast<std::int64_t>(out.payload.size()));
    }
    return out;
}

}  // namespace lw
