// The scores of one row under all classifiers of a block.
#include "../blocks.hpp"
#include "../simd.hpp"

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

    // Two sweeps over the row, a few dozen features at a time: the first finds the rows of the block and asks for
    // their memory, the second adds them up; so cache misses overlap instead of standing in line.
    constexpr int kSweep = 64;
    std::uint64_t found[kSweep];
    float values[kSweep];
    for (std::int32_t begin = 0; begin < query.n; begin += kSweep) {
        const std::int32_t end = begin + kSweep < query.n ? begin + kSweep : query.n;
        int n_found = 0;
        for (std::int32_t q = begin; q < end; ++q) {
            const std::uint32_t feature = static_cast<std::uint32_t>(query.features[q]);
            const std::uint32_t word = feature >> 6;
            const std::uint64_t top = top_bits[word >> 6];
            const std::uint64_t word_bit = 1ull << (word & 63);
            if (!(top & word_bit)) continue;
            const std::uint64_t w = top_rank[word >> 6] + static_cast<std::uint64_t>(count_bits(top & (word_bit - 1)));
            if (w >= n_words) continue;
            const std::uint64_t bits = words[2 * w];
            const std::uint64_t bit = 1ull << (feature & 63);
            if (!(bits & bit)) continue;
            const std::uint64_t place = words[2 * w + 1];
            const std::uint64_t row = (place & 0xffffffffu) + static_cast<std::uint64_t>(count_bits(bits & (bit - 1)));
            if (row >= n_rows) continue;
            const std::uint64_t at = (place >> 32) + row_offset[row];
            if (at >= n_payload) continue;
            __builtin_prefetch(payload + at);
            found[n_found] = at;
            values[n_found++] = query.values[q];
        }
        for (int i = 0; i < n_found; ++i) {
            const std::uint64_t room = n_payload - found[i] - 1;
            if (scale) {
                add_entry<std::int8_t>(payload + found[i], room, n_children, values[i], scores);
            } else {
                add_entry<std::uint16_t>(payload + found[i], room, n_children, values[i], scores);
            }
        }
    }
    if (scale)
        for (int c = 0; c < n_children; ++c) scores[c] = blocks.bias[first_child + c] + scale[c] * scores[c];
}

}  // namespace lw::LW_LEVEL
