// The scores of one row under all classifiers of a block.
#include "models/linear/blocks.hpp"
#include "simd.hpp"

namespace lw::LW_LEVEL {
namespace {

inline int count_bits(std::uint64_t bits) { return __builtin_popcountll(bits); }

inline void add_dense(const std::uint16_t* halves, int n, float value, float* scores) {
    int c = 0;
#if defined(__F16C__)
    const __m256 v = _mm256_set1_ps(value);
    for (; c + 8 <= n; c += 8) {
        const __m256 w = _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(halves + c)));
        _mm256_storeu_ps(scores + c, _mm256_add_ps(_mm256_loadu_ps(scores + c), _mm256_mul_ps(v, w)));
    }
    if (c + 4 <= n) {  // narrow trees have few children
        const __m128 w = _mm_cvtph_ps(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(halves + c)));
        _mm_storeu_ps(scores + c, _mm_add_ps(_mm_loadu_ps(scores + c), _mm_mul_ps(_mm256_castps256_ps128(v), w)));
        c += 4;
    }
#endif
    for (; c < n; ++c) scores[c] += value * half_to_float(halves[c]);
}

inline void add_sparse(const std::uint8_t* children, const std::uint16_t* halves, int n, float value, float* scores) {
    int c = 0;
#if defined(__F16C__)
    // Eight weights are converted at once; the children they go to are scattered, one store each.
    alignas(32) float product[8];
    const __m256 v = _mm256_set1_ps(value);
    for (; c + 8 <= n; c += 8) {
        const __m256 w = _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(halves + c)));
        _mm256_store_ps(product, _mm256_mul_ps(v, w));
        for (int j = 0; j < 8; ++j) scores[children[c + j]] += product[j];
    }
#endif
    for (; c < n; ++c) scores[children[c]] += value * half_to_float(halves[c]);
}

// The weights as bytes; the children's scales come in at the end, once for the whole row.
inline void add_dense(const std::int8_t* bytes, int n, float value, float* scores) {
    int c = 0;
#if defined(__AVX2__)
    const __m256 v = _mm256_set1_ps(value);
    for (; c + 8 <= n; c += 8) {
        const __m128i packed = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(bytes + c));
        const __m256 w = _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(packed));
        _mm256_storeu_ps(scores + c, _mm256_add_ps(_mm256_loadu_ps(scores + c), _mm256_mul_ps(v, w)));
    }
#endif
    for (; c < n; ++c) scores[c] += value * static_cast<float>(bytes[c]);
}

inline void add_sparse(const std::uint8_t* children, const std::int8_t* bytes, int n, float value, float* scores) {
    int c = 0;
#if defined(__AVX2__)
    alignas(32) float product[8];
    const __m256 v = _mm256_set1_ps(value);
    for (; c + 8 <= n; c += 8) {
        const __m128i packed = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(bytes + c));
        _mm256_store_ps(product, _mm256_mul_ps(v, _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(packed))));
        for (int j = 0; j < 8; ++j) scores[children[c + j]] += product[j];
    }
#endif
    for (; c < n; ++c) scores[children[c]] += value * static_cast<float>(bytes[c]);
}

inline const std::int8_t* weights_at(const std::uint16_t* units, const std::int8_t*) { return reinterpret_cast<const std::int8_t*>(units); }
inline const std::uint16_t* weights_at(const std::uint16_t* units, const std::uint16_t*) { return units; }

// Adds one row of the block, if it lies within the payload. Weight: std::uint16_t (half floats) or std::int8_t.
template <class Weight>
inline void add_entry(const std::uint16_t* entry, std::uint64_t room, int n_children, float value, float* scores) {
    const int n = entry[0];
    const std::uint64_t size = sizeof(Weight) == 1 ? static_cast<std::uint64_t>((n + 1) / 2) : static_cast<std::uint64_t>(n);
    constexpr const Weight* kind = nullptr;
    if (n == n_children) {
        if (size <= room) add_dense(weights_at(entry + 1, kind), n, value, scores);
    } else {
        const std::uint64_t ids = static_cast<std::uint64_t>((n + 1) / 2);
        if (ids + size <= room)
            add_sparse(reinterpret_cast<const std::uint8_t*>(entry + 1), weights_at(entry + 1 + ids, kind), n, value, scores);
    }
}

}  // namespace

// `scores` has room for 256 floats, whatever the block holds: a child id is one byte, so it cannot lead outside.
void score_block(const WeightBlocks& blocks, std::int64_t block, const Query& query, float* scores) {
    const std::int64_t first_child = blocks.child_start[block];
    const int n_children = static_cast<int>(blocks.child_start[block + 1] - first_child);
    const float* scale = blocks.scale ? blocks.scale + first_child : nullptr;
    for (int c = 0; c < n_children; ++c) scores[c] = scale ? 0.0f : blocks.bias[first_child + c];
    const std::uint64_t* top_bits = blocks.top_bits + block * blocks.n_top;
    const std::uint32_t* top_rank = blocks.top_rank + block * blocks.n_top;
    const std::uint64_t* words = blocks.words + 2 * blocks.word_start[block];
    const std::uint64_t n_words = static_cast<std::uint64_t>(blocks.word_start[block + 1] - blocks.word_start[block]);
    const std::uint16_t* row_offset = blocks.row_offset + blocks.row_start[block];
    const std::uint64_t n_rows = static_cast<std::uint64_t>(blocks.row_start[block + 1] - blocks.row_start[block]);
    const std::uint16_t* payload = blocks.payload + blocks.payload_start[block];
    const std::uint64_t n_payload =
        static_cast<std::uint64_t>(blocks.payload_start[block + 1] - blocks.payload_start[block]);

    // A feature is found by way of its word, its row's offset and the row itself, each somewhere else in memory. So the
    // features go through these steps together, a few dozen at a time: a step asks for the memory of the next one, and
    // cache misses overlap instead of standing in line. Misses are dropped without a branch, which nobody could predict.
    constexpr int kTogether = 64;
    std::uint64_t place[kTogether], start[kTogether];
    std::uint8_t which[kTogether];
    for (std::int32_t begin = 0; begin < query.n; begin += kTogether) {
        const int n = query.n - begin < kTogether ? query.n - begin : kTogether;
        const std::int32_t* features = query.features + begin;
        int n_words_found = 0;
        for (int q = 0; q < n; ++q) {
            const std::uint32_t word = static_cast<std::uint32_t>(features[q]) >> 6;
            const std::uint64_t top = top_bits[word >> 6];
            const std::uint64_t below = (1ull << (word & 63)) - 1;
            const std::uint64_t w = top_rank[word >> 6] + static_cast<std::uint64_t>(count_bits(top & below));
            __builtin_prefetch(words + 2 * w);
            place[n_words_found] = w;
            which[n_words_found] = static_cast<std::uint8_t>(q);
            n_words_found += static_cast<int>((top >> (word & 63)) & (w < n_words));
        }
        int n_found = 0;
        for (int i = 0; i < n_words_found; ++i) {
            const std::uint64_t* word = words + 2 * place[i];
            const int bit = features[which[i]] & 63;
            const std::uint64_t row = (word[1] & 0xffffffffu) + static_cast<std::uint64_t>(count_bits(word[0] & ((1ull << bit) - 1)));
            __builtin_prefetch(row_offset + row);
            place[n_found] = row;
            start[n_found] = word[1] >> 32;
            which[n_found] = which[i];
            n_found += static_cast<int>((word[0] >> bit) & (row < n_rows));
        }
        for (int i = 0; i < n_found; ++i) {
            place[i] = start[i] + row_offset[place[i]];
            __builtin_prefetch(payload + place[i]);
        }
        for (int i = 0; i < n_found; ++i) {
            if (place[i] >= n_payload) continue;
            const std::uint64_t room = n_payload - place[i] - 1;
            const float value = query.values[begin + which[i]];
            if (scale) {
                add_entry<std::int8_t>(payload + place[i], room, n_children, value, scores);
            } else {
                add_entry<std::uint16_t>(payload + place[i], room, n_children, value, scores);
            }
        }
    }
    if (scale)
        for (int c = 0; c < n_children; ++c) scores[c] = blocks.bias[first_child + c] + scale[c] * scores[c];
}

}  // namespace lw::LW_LEVEL
