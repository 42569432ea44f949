#include "models/linear/block_builder.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "models/linear/block_rows.hpp"
#include "models/linear/solver.hpp"
#include "parallel.hpp"
#include "simd.hpp"

namespace lw {
namespace {

// A row that more than this share of the children have a weight for is stored whole: hardly longer, and quicker to add.
constexpr double kFullShare = 0.75;
constexpr float kLargestByte = 127.0f;

// Walks the groups of a block in parallel order of features.
struct Cursor {
    std::size_t feature = 0, half = 0;
};

// The rows of one word while they are collected.
struct OpenWord {
    std::int64_t number = -1;
    std::uint64_t bits = 0;
    std::vector<std::uint8_t> codes, rows;
};

void append_weights(const std::vector<std::uint16_t>& values, bool bytes, std::vector<std::uint8_t>& rows) {
    for (const std::uint16_t value : values) {
        const auto pair = std::bit_cast<std::array<std::uint8_t, 2>>(value);
        if (bytes) {
            rows.push_back(static_cast<std::uint8_t>(value));
        } else {
            rows.insert(rows.end(), pair.begin(), pair.end());
        }
    }
}

// values: half floats, or bytes (each in a number of its own) if the block has scales.
void append_row(OpenWord& word, int feature, const std::vector<std::uint8_t>& children, std::vector<std::uint16_t>& values, int n_children, bool bytes) {
    const int n = static_cast<int>(children.size());
    const RowSizes sizes(n_children, bytes);
    const bool full = n == n_children || (n_children > 4 && n > kFullShare * n_children);
    word.bits |= 1ull << (feature & 63);
    word.codes.push_back(full ? kFullRow : static_cast<std::uint8_t>(n));
    if (full) {
        std::vector<std::uint16_t> all(static_cast<std::size_t>(n_children), 0);
        for (int i = 0; i < n; ++i) all[children[i]] = values[i];
        values.swap(all);
    } else if (n <= sizes.most_listed) {
        word.rows.insert(word.rows.end(), children.begin(), children.end());
    } else {
        const std::size_t first = word.rows.size();
        word.rows.resize(first + static_cast<std::size_t>(sizes.bitmap), 0);
        for (const std::uint8_t child : children) {
            std::uint8_t& byte = word.rows[first + (child >> 3)];
            byte = static_cast<std::uint8_t>(byte | 1u << (child & 7));
        }
    }
    append_weights(values, bytes, word.rows);
}

// Writes the word into the block and empties it.
void close(OpenWord& word, BuiltBlock& block) {
    if (word.codes.empty()) return;
    if (block.payload.size() > std::numeric_limits<std::uint32_t>::max()) throw std::length_error("a weight block holds at most 4 GB");
    for (const std::uint64_t number : {word.bits & 0xffffffffu, word.bits >> 32, static_cast<std::uint64_t>(block.payload.size())})
        block.words.push_back(static_cast<std::uint32_t>(number));
    block.top_bits[static_cast<std::size_t>(word.number >> 6)] |= 1ull << (word.number & 63);
    word.bits = 0;
    for (std::vector<std::uint8_t>* part : {&word.codes, &word.rows}) {
        block.payload.insert(block.payload.end(), part->begin(), part->end());
        part->clear();
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

template <class T>
void append(std::vector<T>& all, std::vector<T>& part) {
    all.insert(all.end(), part.begin(), part.end());
    part = std::vector<T>();
}

}  // namespace

BuiltBlock build_block(GroupWeights* groups, std::int64_t n_groups, std::int32_t n_features, bool bytes) {
    BuiltBlock block;
    const std::int32_t n_top = top_words(n_features);
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
    OpenWord word;
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
        if (feature >> 6 != word.number) {
            close(word, block);
            word.number = feature >> 6;
        }
        append_row(word, feature, children, halves, n_children, bytes);
    }
    close(word, block);
    std::uint32_t before = 0;
    for (std::int32_t t = 0; t < n_top; ++t) {
        block.top_rank[static_cast<std::size_t>(t)] = before;
        before += static_cast<std::uint32_t>(std::popcount(block.top_bits[static_cast<std::size_t>(t)]));
    }
    for (std::int64_t g = 0; g < n_groups; ++g) groups[g] = GroupWeights{};
    return block;
}

BlockArrays joined(std::vector<BuiltBlock>& blocks, std::int32_t n_features) {
    BlockArrays out;
    out.n_features = n_features;
    out.n_top = top_words(n_features);
    // Room for all at once: growing would hold everything twice.
    std::size_t n_children = 0, n_words = 0, n_payload = 0;
    for (const BuiltBlock& block : blocks) {
        n_children += block.bias.size();
        n_words += block.words.size();
        n_payload += block.payload.size();
    }
    out.bias.reserve(n_children);
    out.words.reserve(n_words);
    out.payload.reserve(n_payload);
    for (auto* start : {&out.child_start, &out.word_start, &out.payload_start}) start->push_back(0);
    for (BuiltBlock& block : blocks) {
        check_interrupt();
        append(out.bias, block.bias);
        append(out.scale, block.scale);
        append(out.top_bits, block.top_bits);
        append(out.top_rank, block.top_rank);
        append(out.words, block.words);
        append(out.payload, block.payload);
        out.child_start.push_back(static_cast<std::int64_t>(out.bias.size()));
        out.word_start.push_back(static_cast<std::int64_t>(out.words.size() / 3));
        out.payload_start.push_back(static_cast<std::int64_t>(out.payload.size()));
    }
    return out;
}

namespace {

// One block of either kind read row by row into groups, without weights below `prune`.
template <class Blocks>
std::vector<GroupWeights> groups_of(const Blocks& blocks, std::int64_t b, float prune) {
    const std::int64_t n_groups = (blocks.child_start[b + 1] - blocks.child_start[b] + kGroup - 1) / kGroup;
    std::vector<GroupWeights> own(static_cast<std::size_t>(n_groups));
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
    return own;
}

template <class Blocks>
BlockArrays from_rows(const Blocks& blocks, float prune, bool bytes, int n_threads) {
    std::vector<BuiltBlock> built(static_cast<std::size_t>(blocks.n_blocks));
    parallel_for(blocks.n_blocks, n_threads, 1, [&](std::int64_t b, int) {
        std::vector<GroupWeights> own = groups_of(blocks, b, prune);
        built[static_cast<std::size_t>(b)] = build_block(own.data(), static_cast<std::int64_t>(own.size()), blocks.n_features, bytes);
    });
    return joined(built, blocks.n_features);
}

}  // namespace

BlockArrays rebuilt_blocks(const WeightBlocks& blocks, float prune, bool bytes, int n_threads) {
    return from_rows(blocks, prune, bytes, n_threads);
}

BlockArrays merged_block(const std::vector<const WeightBlocks*>& parts, bool bytes) {
    std::vector<GroupWeights> groups;
    for (const WeightBlocks* part : parts)
        for (std::int64_t b = 0; b < part->n_blocks; ++b)
            for (GroupWeights& group : groups_of(*part, b, 0.0f)) groups.push_back(std::move(group));
    std::vector<BuiltBlock> built(1);
    built[0] = build_block(groups.data(), static_cast<std::int64_t>(groups.size()), parts.front()->n_features, bytes);
    return joined(built, parts.front()->n_features);
}

BlockArrays converted_blocks(const OldBlocks& blocks, int n_threads) { return from_rows(blocks, 0.0f, blocks.scale != nullptr, n_threads); }

}  // namespace lw
