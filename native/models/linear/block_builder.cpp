#include "models/linear/block_builder.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>

#include "models/linear/block_rows.hpp"
#include "models/linear/solver.hpp"
#include "parallel.hpp"
#include "simd.hpp"

namespace lw {
namespace {

// A row that more than this share of the children have a weight for is stored densely: no child list, vector adds.
constexpr double kDenseShare = 0.6;
constexpr double kDenseShareBytes = 0.5;  // where a child id is as long as a weight
constexpr float kLargestByte = 127.0f;

struct Block {
    std::vector<std::uint64_t> top_bits, words;
    std::vector<std::uint32_t> top_rank;
    std::vector<std::uint16_t> row_offset, payload;
    std::vector<float> bias, scale;
};

// Walks the groups of a block in parallel order of features.
struct Cursor {
    std::size_t feature = 0, half = 0;
};

// Bytes two to a unit, lower address first on every machine; an odd last unit is padded with 0.
void append_bytes(std::vector<std::uint16_t>& payload, const std::vector<std::uint8_t>& bytes) {
    for (std::size_t i = 0; i < bytes.size(); i += 2) {
        const std::uint8_t pair[2] = {bytes[i], i + 1 < bytes.size() ? bytes[i + 1] : std::uint8_t{0}};
        payload.push_back(std::bit_cast<std::uint16_t>(pair));
    }
}

// values: half floats, or bytes (each in its own unit) if the block has scales.
void append_row(Block& block, const std::vector<std::uint8_t>& children, std::vector<std::uint16_t>& values, int n_children) {
    const int n = static_cast<int>(children.size());
    const bool bytes = !block.scale.empty();
    const double share = bytes ? kDenseShareBytes : kDenseShare;
    const bool dense = n == n_children || (n_children > 4 && n > share * n_children);
    block.payload.push_back(static_cast<std::uint16_t>(dense ? n_children : n));
    if (dense) {
        std::vector<std::uint16_t> full(static_cast<std::size_t>(n_children), 0);
        for (int i = 0; i < n; ++i) full[children[i]] = values[i];
        values.swap(full);
    } else {
        append_bytes(block.payload, children);
    }
    if (bytes) {
        append_bytes(block.payload, std::vector<std::uint8_t>(values.begin(), values.end()));
    } else {
        block.payload.insert(block.payload.end(), values.begin(), values.end());
    }
}

// The step of every child's bytes: its largest weight is 127 of them.
std::vector<float> scales_of(const GroupWeights* groups, std::int64_t n_groups) {
    std::vector<float> scales;
    for (std::int64_t g = 0; g < n_groups; ++g) {
        float largest[kGroup] = {};
        std::size_t half = 0;
        for (const std::uint16_t row : groups[g].masks)
            for (unsigned mask = row; mask; mask &= mask - 1) {
                float& most = largest[std::countr_zero(mask)];
                most = std::max(most, std::fabs(half_to_float(groups[g].halves[half++])));
            }
        for (std::size_t l = 0; l < groups[g].bias.size(); ++l) scales.push_back(largest[l] / kLargestByte);
    }
    return scales;
}

// Half floats become bytes; weights that round to 0 are left out.
void to_bytes(const std::vector<float>& scale, std::vector<std::uint8_t>& children, std::vector<std::uint16_t>& values) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < children.size(); ++i) {
        const long steps = std::lround(half_to_float(values[i]) / scale[children[i]]);
        if (steps == 0) continue;
        children[kept] = children[i];
        values[kept++] = static_cast<std::uint8_t>(static_cast<std::int8_t>(steps));
    }
    children.resize(kept);
    values.resize(kept);
}

Block build_block(GroupWeights* groups, std::int64_t n_groups, std::int32_t n_features, std::int32_t n_top, bool bytes) {
    Block block;
    if (bytes) block.scale = scales_of(groups, n_groups);
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
    Pulse pulse;
    while (true) {
        pulse.beat();
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
        if (bytes) to_bytes(block.scale, children, halves);
        if (children.empty()) continue;
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
                         std::int32_t n_features, bool bytes, int n_threads) {
    const std::int64_t n_blocks = static_cast<std::int64_t>(group_start.size()) - 1;
    BlockArrays out;
    out.n_features = n_features;
    out.n_top = std::max(1, (n_features + 4095) / 4096);
    std::vector<Block> blocks(static_cast<std::size_t>(n_blocks));
    parallel_for(n_blocks, n_threads, 1, [&](std::int64_t b, int) {
        blocks[b] = build_block(groups.data() + group_start[b], group_start[b + 1] - group_start[b], n_features, out.n_top, bytes);
    });
    for (auto* start : {&out.child_start, &out.word_start, &out.row_start, &out.payload_start}) start->push_back(0);
    for (Block& block : blocks) {
        check_interrupt();
        append(out.bias, block.bias);
        append(out.scale, block.scale);
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

BlockArrays rebuilt_blocks(const WeightBlocks& blocks, float prune, bool bytes, int n_threads) {
    std::vector<std::int64_t> group_start(1, 0);
    for (std::int64_t b = 0; b < blocks.n_blocks; ++b)
        group_start.push_back(group_start.back() + (blocks.child_start[b + 1] - blocks.child_start[b] + kGroup - 1) / kGroup);
    std::vector<GroupWeights> groups(static_cast<std::size_t>(group_start.back()));
    parallel_for(blocks.n_blocks, n_threads, 1, [&](std::int64_t b, int) {
        GroupWeights* own = groups.data() + group_start[b];
        for (std::int64_t c = blocks.child_start[b]; c < blocks.child_start[b + 1]; ++c)
            own[(c - blocks.child_start[b]) / kGroup].bias.push_back(blocks.bias[c]);
        BlockRow row;
        Pulse pulse;
        for_each_feature(blocks, b, [&](std::int32_t feature) {
            pulse.beat();
            read_row(blocks, b, feature, row);
            for (int i = 0; i < row.n; ++i) {
                if (std::fabs(row.weights[i]) < prune) continue;
                GroupWeights& group = own[row.children[i] / kGroup];
                if (group.features.empty() || group.features.back() != feature) {
                    group.features.push_back(feature);
                    group.masks.push_back(0);
                }
                group.masks.back() = static_cast<std::uint16_t>(group.masks.back() | 1u << (row.children[i] % kGroup));
                group.halves.push_back(float_to_half(row.weights[i]));
            }
        });
    });
    return build_blocks(groups, group_start, blocks.n_features, bytes, n_threads);
}

}  // namespace lw
