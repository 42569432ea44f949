// Weight blocks as Python holds them: arrays made by the native code, and checked views of arrays that may be mapped.
#pragma once
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bind/bind.hpp"
#include "models/linear/block_builder.hpp"
#include "models/linear/blocks.hpp"

namespace lw {

// A NumPy array that takes over a vector's memory.
template <class T>
nanobind::ndarray<nanobind::numpy, T, nanobind::ndim<1>> owned(std::vector<T>&& values) {
    auto* kept = new std::vector<T>(std::move(values));
    nanobind::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return nanobind::ndarray<nanobind::numpy, T, nanobind::ndim<1>>(kept->data(), {kept->size()}, owner);
}

inline nanobind::dict arrays_of(BlockArrays&& made) {
    nanobind::dict out;
    out["child_start"] = owned(std::move(made.child_start));
    out["bias"] = owned(std::move(made.bias));
    out["top_bits"] = owned(std::move(made.top_bits));
    out["top_rank"] = owned(std::move(made.top_rank));
    out["word_start"] = owned(std::move(made.word_start));
    out["words"] = owned(std::move(made.words));
    out["payload_start"] = owned(std::move(made.payload_start));
    out["payload"] = owned(std::move(made.payload));
    if (!made.scale.empty()) out["scale"] = owned(std::move(made.scale));
    return out;
}

inline void check_starts(const In<std::int64_t>& starts, std::size_t n_blocks, std::size_t size, const char* name) {
    bool good = starts.size() == n_blocks + 1 && starts(0) == 0 && starts(n_blocks) == static_cast<std::int64_t>(size);
    for (std::size_t b = 0; good && b < n_blocks; ++b) good = starts(b) <= starts(b + 1);
    if (!good) throw nanobind::value_error((std::string(name) + " does not fit its array").c_str());
}

inline void check_children(std::int32_t n_features, const In<std::int64_t>& child_start, const In<float>& bias, const std::optional<In<float>>& scale) {
    if (n_features < 0 || child_start.size() < 2) throw nanobind::value_error("a model needs at least one weight block");
    const std::size_t n_blocks = child_start.size() - 1;
    check_starts(child_start, n_blocks, bias.size(), "child_start");
    for (std::size_t b = 0; b < n_blocks; ++b)
        if (child_start(b + 1) - child_start(b) > kMaxChildren)
            throw nanobind::value_error("a weight block holds at most 256 classifiers");
    if (scale && scale->size() != bias.size()) throw nanobind::value_error("there must be one scale for every classifier");
}

// Views of the arrays of a model, checked so that no query can read outside them.
struct BlocksHolder {
    In<std::int64_t> child_start;
    In<float> bias;
    In<std::uint64_t> top_bits;
    In<std::uint32_t> top_rank;
    In<std::int64_t> word_start;
    In<std::uint32_t> words;
    In<std::int64_t> payload_start;
    In<std::uint8_t> payload;
    std::optional<In<float>> scale;
    WeightBlocks view{};

    BlocksHolder(std::int32_t n_features, In<std::int64_t> child_start, In<float> bias, In<std::uint64_t> top_bits,
                 In<std::uint32_t> top_rank, In<std::int64_t> word_start, In<std::uint32_t> words,
                 In<std::int64_t> payload_start, In<std::uint8_t> payload, std::optional<In<float>> scale)
        : child_start(child_start), bias(bias), top_bits(top_bits), top_rank(top_rank), word_start(word_start),
          words(words), payload_start(payload_start), payload(payload), scale(scale) {
        check_children(n_features, child_start, bias, scale);
        const std::size_t n_blocks = child_start.size() - 1;
        const std::int32_t n_top = top_words(n_features);
        check_starts(word_start, n_blocks, words.size() / 3, "word_start");
        check_starts(payload_start, n_blocks, payload.size(), "payload_start");
        if (words.size() % 3 || top_bits.size() != n_blocks * static_cast<std::size_t>(n_top) || top_rank.size() != top_bits.size())
            throw nanobind::value_error("the bitmaps do not fit the number of features");
        view = WeightBlocks{static_cast<std::int64_t>(n_blocks), n_features, n_top, child_start.data(), bias.data(),
                            top_bits.data(), top_rank.data(), word_start.data(), reinterpret_cast<const FeatureWord*>(words.data()),
                            payload_start.data(), payload.data(), scale ? scale->data() : nullptr};
    }
};

// The arrays of a model of an earlier version as arrays of today's, checked alike.
inline nanobind::dict converted(std::int32_t n_features, In<std::int64_t> child_start, In<float> bias, In<std::uint64_t> top_bits,
                                In<std::uint32_t> top_rank, In<std::int64_t> word_start, In<std::uint64_t> words,
                                In<std::int64_t> row_start, In<std::uint16_t> row_offset, In<std::int64_t> payload_start,
                                In<std::uint16_t> payload, std::optional<In<float>> scale) {
    check_children(n_features, child_start, bias, scale);
    const std::size_t n_blocks = child_start.size() - 1;
    const std::int32_t n_top = std::max(1, static_cast<std::int32_t>((static_cast<std::int64_t>(n_features) + 4095) / 4096));
    check_starts(word_start, n_blocks, words.size() / 2, "word_start");
    check_starts(row_start, n_blocks, row_offset.size(), "row_start");
    check_starts(payload_start, n_blocks, payload.size(), "payload_start");
    if (words.size() % 2 || top_bits.size() != n_blocks * static_cast<std::size_t>(n_top) || top_rank.size() != top_bits.size())
        throw nanobind::value_error("the bitmaps do not fit the number of features");
    const OldBlocks old{static_cast<std::int64_t>(n_blocks), n_features, n_top, child_start.data(), bias.data(),
                        top_bits.data(), top_rank.data(), word_start.data(), words.data(), row_start.data(),
                        row_offset.data(), payload_start.data(), payload.data(), scale ? scale->data() : nullptr};
    BlockArrays made;
    {
        WithoutGil released;
        made = converted_blocks(old, 0);
    }
    return arrays_of(std::move(made));
}

inline void check_rows(const In<std::int64_t>& indptr, const In<std::int32_t>& indices, const In<float>& data, std::int32_t n_features) {
    if (indptr.size() < 1 || indices.size() != data.size() || indptr(0) != 0 || indptr(indptr.size() - 1) != static_cast<std::int64_t>(data.size()))
        throw nanobind::value_error("the row pointers do not fit the values");
    for (std::size_t i = 0; i + 1 < indptr.size(); ++i)
        if (indptr(i) > indptr(i + 1)) throw nanobind::value_error("the row pointers must not fall");
    for (std::size_t i = 0; i < indices.size(); ++i)
        if (indices(i) < 0 || indices(i) >= n_features) throw nanobind::value_error("a feature is outside the model's range");
}

}  // namespace lw
