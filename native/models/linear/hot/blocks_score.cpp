// The scores of one row under all classifiers of a block.
#include "models/linear/blocks.hpp"
#include "simd.hpp"

namespace lw::LW_LEVEL {
namespace {

inline int count_bits(std::uint64_t bits) { return __builtin_popcountll(bits); }

// Weights of a row lie wherever the bytes before them end.
struct Halves {
    const std::uint8_t* at;
    float operator[](int i) const {
        std::uint16_t half;
        __builtin_memcpy(&half, at + 2 * i, 2);
        return half_to_float(half);
    }
};

inline void add_dense(const Halves& weights, int n, float value, float* scores) {
    int c = 0;
#if defined(__F16C__)
    const __m256 v = _mm256_set1_ps(value);
    for (; c + 8 <= n; c += 8) {
        const __m256 w = _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(weights.at + 2 * c)));
        _mm256_storeu_ps(scores + c, _mm256_add_ps(_mm256_loadu_ps(scores + c), _mm256_mul_ps(v, w)));
    }
    if (c + 4 <= n) {  // narrow trees have few children
        const __m128 w = _mm_cvtph_ps(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(weights.at + 2 * c)));
        _mm_storeu_ps(scores + c, _mm_add_ps(_mm_loadu_ps(scores + c), _mm_mul_ps(_mm256_castps256_ps128(v), w)));
        c += 4;
    }
#endif
    for (; c < n; ++c) scores[c] += value * weights[c];
}

inline void add_sparse(const std::uint8_t* children, const Halves& weights, int n, float value, float* scores) {
    int c = 0;
#if defined(__F16C__)
    // Eight weights are converted at once; the children they go to are scattered, one store each.
    alignas(32) float product[8];
    const __m256 v = _mm256_set1_ps(value);
    for (; c + 8 <= n; c += 8) {
        const __m256 w = _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(weights.at + 2 * c)));
        _mm256_store_ps(product, _mm256_mul_ps(v, w));
        for (int j = 0; j < 8; ++j) scores[children[c + j]] += product[j];
    }
#endif
    for (; c < n; ++c) scores[children[c]] += value * weights[c];
}

// The weights as bytes; the children's scales come in at the end, once for the whole row.
inline void add_dense(const std::int8_t* bytes, int n, float value, float* scores) {
    int c = 0;
#if defined(__AVX512F__)
    const __m512 wide = _mm512_set1_ps(value);
    for (; c + 16 <= n; c += 16) {
        // The masked forms with all lanes: GCC 12 warns of the plain ones.
        const __m128i packed = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + c));
        const __m512 w = _mm512_maskz_cvtepi32_ps(0xffff, _mm512_maskz_cvtepi8_epi32(0xffff, packed));
        _mm512_storeu_ps(scores + c, _mm512_add_ps(_mm512_loadu_ps(scores + c), _mm512_mul_ps(wide, w)));
    }
#endif
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

// The bytes of the rows before row `r` < 64 of a word, by their codes. room: bytes that may be read from the codes on.
inline std::uint64_t bytes_before(const std::uint8_t* codes, int r, std::uint64_t room, std::uint64_t of_full, std::uint64_t of_child) {
    std::uint64_t n_full = 0, children = 0;
#if defined(__AVX512BW__)
    (void)room;
    const __m512i some = _mm512_maskz_loadu_epi8((1ull << r) - 1, codes);
    const __mmask64 full = _mm512_cmpeq_epi8_mask(some, _mm512_set1_epi8(static_cast<char>(kFullRow)));
    n_full = static_cast<std::uint64_t>(count_bits(full));
    alignas(64) std::uint64_t parts[8];
    _mm512_store_si512(parts, _mm512_sad_epu8(_mm512_maskz_mov_epi8(~full, some), _mm512_setzero_si512()));
    for (const std::uint64_t part : parts) children += part;
#else
    int i = 0;
#if defined(__AVX2__)
    __m256i sums = _mm256_setzero_si256();
    for (; i < r && static_cast<std::uint64_t>(i) + 32 <= room; i += 32) {
        const std::uint32_t there = r - i >= 32 ? ~0u : (1u << (r - i)) - 1;
        // byte b of the mask is set if bit b of `there` is
        const __m256i spread = _mm256_shuffle_epi8(_mm256_set1_epi32(static_cast<int>(there)),
                                                   _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303));
        const __m256i bit = _mm256_set1_epi64x(static_cast<long long>(0x8040201008040201));
        const __m256i mask = _mm256_cmpeq_epi8(_mm256_and_si256(spread, bit), bit);
        const __m256i some = _mm256_and_si256(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(codes + i)), mask);
        const __m256i full = _mm256_cmpeq_epi8(some, _mm256_set1_epi8(static_cast<char>(kFullRow)));
        n_full += static_cast<std::uint64_t>(__builtin_popcount(static_cast<std::uint32_t>(_mm256_movemask_epi8(full))));
        sums = _mm256_add_epi64(sums, _mm256_sad_epu8(_mm256_andnot_si256(full, some), _mm256_setzero_si256()));
    }
    alignas(32) std::uint64_t parts[4];
    _mm256_store_si256(reinterpret_cast<__m256i*>(parts), sums);
    children = parts[0] + parts[1] + parts[2] + parts[3];
#endif
    (void)room;
    for (; i < r; ++i) {
        n_full += codes[i] == kFullRow;
        children += codes[i] == kFullRow ? 0 : codes[i];
    }
#endif
    return n_full * of_full + children * of_child;
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
    const FeatureWord* words = blocks.words + blocks.word_start[block];
    const std::uint64_t n_words = static_cast<std::uint64_t>(blocks.word_start[block + 1] - blocks.word_start[block]);
    const std::uint8_t* payload = blocks.payload + blocks.payload_start[block];
    const std::uint64_t n_payload =
        static_cast<std::uint64_t>(blocks.payload_start[block + 1] - blocks.payload_start[block]);
    const std::uint64_t size = scale ? 1 : 2, size_of_full = size * static_cast<std::uint64_t>(n_children);

    // A feature is found by way of its word, its word's codes and the row itself, each somewhere else in memory. So the
    // features go through these steps together, a few dozen at a time: a step asks for the memory of the next one, and
    // cache misses overlap instead of standing in line. Misses are dropped without a branch, which nobody could predict.
    constexpr int kTogether = 64;
    std::uint64_t place[kTogether];
    std::uint8_t which[kTogether], before[kTogether], n_rows[kTogether], code[kTogether];
    for (std::int32_t begin = 0; begin < query.n; begin += kTogether) {
        const int n = query.n - begin < kTogether ? query.n - begin : kTogether;
        const std::int32_t* features = query.features + begin;
        int n_words_found = 0;
        for (int q = 0; q < n; ++q) {
            const std::uint32_t word = static_cast<std::uint32_t>(features[q]) >> 6;
            const std::uint64_t top = top_bits[word >> 6];
            const std::uint64_t below = (1ull << (word & 63)) - 1;
            const std::uint64_t w = top_rank[word >> 6] + static_cast<std::uint64_t>(count_bits(top & below));
            __builtin_prefetch(words + w);
            place[n_words_found] = w;
            which[n_words_found] = static_cast<std::uint8_t>(q);
            n_words_found += static_cast<int>((top >> (word & 63)) & (w < n_words));
        }
        int n_found = 0;
        for (int i = 0; i < n_words_found; ++i) {
            const FeatureWord& word = words[place[i]];
            const std::uint64_t bits = word.bits();
            const int bit = features[which[i]] & 63;
            __builtin_prefetch(payload + word.offset);
            before[n_found] = static_cast<std::uint8_t>(count_bits(bits & ((1ull << bit) - 1)));
            n_rows[n_found] = static_cast<std::uint8_t>(count_bits(bits));
            which[n_found] = which[i];
            place[n_found] = word.offset;
            n_found += static_cast<int>((bits >> bit) & (word.offset + static_cast<std::uint64_t>(n_rows[n_found]) <= n_payload));
        }
        for (int i = 0; i < n_found; ++i) {
            const std::uint8_t* codes = payload + place[i];
            code[i] = codes[before[i]];
            place[i] += n_rows[i] + bytes_before(codes, before[i], n_payload - place[i], size_of_full, 1 + size);
            __builtin_prefetch(payload + place[i]);
        }
        for (int i = 0; i < n_found; ++i) {
            const bool full = code[i] == kFullRow;
            const int n_weights = full ? n_children : code[i];
            const std::uint64_t ids = full ? 0 : static_cast<std::uint64_t>(n_weights);
            if (place[i] + ids + size * static_cast<std::uint64_t>(n_weights) > n_payload) continue;
            const float value = query.values[begin + which[i]];
            const std::uint8_t* row = payload + place[i];
            const auto* bytes = reinterpret_cast<const std::int8_t*>(row + ids);
            if (full) {
                scale ? add_dense(bytes, n_weights, value, scores) : add_dense(Halves{row}, n_weights, value, scores);
            } else {
                scale ? add_sparse(row, bytes, n_weights, value, scores) : add_sparse(row, Halves{row + ids}, n_weights, value, scores);
            }
        }
    }
    if (scale)
        for (int c = 0; c < n_children; ++c) scores[c] = blocks.bias[first_child + c] + scale[c] * scores[c];
}

}  // namespace lw::LW_LEVEL
