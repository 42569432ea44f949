// The scores of one row under some classifiers, from a copy of the blocks in the order of the features.
#include "models/linear/feature_rows.hpp"
#include "simd.hpp"

namespace lw::LW_LEVEL {
namespace {

// The rows of one feature that the chosen classifiers may have weights in: where each lies, and which of the chosen blocks it is of.
struct Found {
    const std::uint8_t** row;
    std::int32_t* chosen;
    std::uint8_t* code;
    std::int32_t n;
};

inline void find_rows(const FeatureRows& rows, const std::uint16_t* sizes, const ChosenChildren& chosen, std::int32_t feature, Found& out) {
    const std::uint8_t* codes = rows.bytes + rows.start[feature];
    out.n = 0;
    if (rows.start[feature] == rows.start[feature + 1]) return;
    std::uint64_t at = static_cast<std::uint64_t>(rows.n_blocks);
    std::int32_t b = 0;
    for (std::int32_t i = 0; i < chosen.n_blocks; ++i) {
        for (; b < chosen.block[i]; ++b) at += sizes[codes[b]];
        out.row[out.n] = codes + at;
        out.chosen[out.n] = i;
        out.code[out.n] = codes[b];
        __builtin_prefetch(codes + at);
        out.n += codes[b] != 0;
    }
}

// The place of a child's weight among those of a row that lists its children; n: there is none.
inline int listed_place(const std::uint8_t* children, int n, std::uint8_t child) {
#if defined(__AVX2__)
    // 32 bytes may be read wherever a row begins (kReadAhead).
    const __m256i equal = _mm256_cmpeq_epi8(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(children)), _mm256_set1_epi8(static_cast<char>(child)));
    const unsigned there = n < 32 ? (1u << n) - 1 : ~0u;
    const unsigned same = static_cast<unsigned>(_mm256_movemask_epi8(equal)) & there;
    return same ? __builtin_ctz(same) : n;
#else
    int i = 0;
    while (i < n && children[i] != child) ++i;
    return i;
#endif
}

// The same by a bitmap of all children. n: weights there are; a damaged bitmap that names more has none beyond them.
inline int mapped_place(const std::uint8_t* bitmap, int n, std::uint8_t child) {
    if (!(bitmap[child >> 3] >> (child & 7) & 1)) return n;
    int before = 0, byte = 0;
    for (; byte + 8 <= child >> 3; byte += 8) {
        std::uint64_t word;
        __builtin_memcpy(&word, bitmap + byte, 8);
        before += __builtin_popcountll(word);
    }
    std::uint64_t word;  // the last bytes of it may lie behind the bitmap
    __builtin_memcpy(&word, bitmap + byte, 8);
    before += __builtin_popcountll(word & ((1ull << (child - 8 * byte)) - 1));
    return before < n ? before : n;
}

template <bool bytes>
inline void add_rows(const RowSizes (&sizes_of)[2], std::int32_t last_block, const ChosenChildren& chosen, const Found& found, float value, float* scores) {
    for (std::int32_t f = 0; f < found.n; ++f) {
        const int code = found.code[f];
        const std::int32_t i = found.chosen[f];
        const RowSizes& sizes = sizes_of[chosen.block[i] == last_block];
        const std::uint8_t* const row = found.row[f];
        const std::uint8_t* const weights = row + sizes.names(code);
        const int n = sizes.weights(code);
        for (std::int32_t j = chosen.start[i]; j < chosen.start[i + 1]; ++j) {
            const std::uint8_t child = chosen.child[j];
            const int place = code == kFullRow ? child : code <= sizes.most_listed ? listed_place(row, code, child) : mapped_place(row, code, child);
            if (place >= n) continue;
            if constexpr (bytes) {
                scores[j] += value * static_cast<float>(static_cast<std::int8_t>(weights[place]));
            } else {
                std::uint16_t half;
                __builtin_memcpy(&half, weights + 2 * place, 2);
                scores[j] += value * half_to_float(half);
            }
        }
    }
}

}  // namespace

// Sums are taken in the order of score_block, so they have its bits. The rows of a feature are found, and asked for, while those
// of the feature before it are added.
void score_chosen(const WeightBlocks& blocks, const FeatureRows& rows, const Query& query, const ChosenChildren& chosen,
                  const ChosenRoom& room, float* scores) {
    // The rows of all blocks but the last one, which have equally many children, and of the last one.
    const std::int32_t last = rows.n_blocks - 1;
    const RowSizes of_row[2] = {{static_cast<int>(rows.child_start[1]), blocks.scale != nullptr},
                                {static_cast<int>(rows.child_start[last + 1] - rows.child_start[last]), blocks.scale != nullptr}};
    std::uint16_t sizes[256];  // bytes by code
    for (int code = 0; code < 256; ++code) sizes[code] = code == 0 ? 0 : static_cast<std::uint16_t>(of_row[0].row(code));
    for (std::int32_t i = 0; i < chosen.n_blocks; ++i) {
        const std::int64_t first = rows.child_start[chosen.block[i]];
        for (std::int32_t j = chosen.start[i]; j < chosen.start[i + 1]; ++j) scores[j] = blocks.scale ? 0.0f : blocks.bias[first + chosen.child[j]];
    }
    const std::int32_t n = chosen.n_blocks;
    Found found[2] = {{room.row, room.chosen, room.code, 0}, {room.row + n, room.chosen + n, room.code + n, 0}};
    for (std::int32_t q = 0; q < query.n; ++q) __builtin_prefetch(rows.start + query.features[q]);
    for (std::int32_t q = 0; q <= query.n; ++q) {
        if (q + 1 < query.n) {
            const std::uint8_t* codes = rows.bytes + rows.start[query.features[q + 1]];
            for (std::int32_t b = 0; b < rows.n_blocks; b += 64) __builtin_prefetch(codes + b);
        }
        if (q < query.n) find_rows(rows, sizes, chosen, query.features[q], found[q & 1]);
        if (q == 0) continue;
        if (blocks.scale) {
            add_rows<true>(of_row, last, chosen, found[(q - 1) & 1], query.values[q - 1], scores);
        } else {
            add_rows<false>(of_row, last, chosen, found[(q - 1) & 1], query.values[q - 1], scores);
        }
    }
    if (!blocks.scale) return;
    for (std::int32_t i = 0; i < chosen.n_blocks; ++i) {
        const std::int64_t first = rows.child_start[chosen.block[i]];
        for (std::int32_t j = chosen.start[i]; j < chosen.start[i + 1]; ++j) {
            const std::int64_t place = first + chosen.child[j];
            scores[j] = blocks.bias[place] + blocks.scale[place] * scores[j];
        }
    }
}

}  // namespace lw::LW_LEVEL
