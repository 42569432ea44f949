// The scores of one row under all classifiers of a block.
#include <type_traits>

#include "models/linear/blocks.hpp"
#include "models/linear/feature_rows.hpp"
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

#if defined(__AVX512BW__) && defined(__AVX512VL__)
// Sixteen weights; those behind the last of the row are whatever follows it. The masked forms with all lanes: GCC 12 warns of
// the plain ones.
inline __m512 weights_at(const std::int8_t* bytes, int at) {
    const __m128i packed = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + at));
    return _mm512_maskz_cvtepi32_ps(0xffff, _mm512_maskz_cvtepi8_epi32(0xffff, packed));
}
inline __m512 weights_at(const Halves& halves, int at) {
    return _mm512_maskz_cvtph_ps(0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(halves.at + 2 * at)));
}
#endif

#if defined(__AVX512VBMI2__)
// Bytes by a bitmap, 64 children at a time; those without a weight get 0, which changes no sum, for none is -0. False if the row is
// so near the end that eight bytes of the bitmap may not be read.
inline bool add_mapped_bytes(const std::uint8_t* bitmap, const std::int8_t* weights, int n, const RowSizes& sizes, std::uint64_t readable, float value, float* scores) {
    if (static_cast<std::uint64_t>(sizes.row(n)) + 8 > readable) return false;
    const __m512 v = _mm512_set1_ps(value);
    const int n_children = sizes.n_children;
    int used = 0;
    for (int c = 0; c < n_children; c += 64) {
        std::uint64_t bits;
        __builtin_memcpy(&bits, bitmap + (c >> 3), 8);
        if (n_children - c < 64) bits &= (1ull << (n_children - c)) - 1;
        const int before = used;
        used += count_bits(bits);
        if (used > n) return true;
        const __m512i packed = _mm512_maskz_loadu_epi8(_bzhi_u64(~0ull, static_cast<unsigned>(used - before)), weights + before);
        const __m512i spread = _mm512_maskz_expand_epi8(bits, packed);
        // The masked forms with all lanes: GCC 12 warns of the plain ones.
        const __m128i parts[4] = {_mm512_maskz_extracti32x4_epi32(0xf, spread, 0), _mm512_maskz_extracti32x4_epi32(0xf, spread, 1),
                                  _mm512_maskz_extracti32x4_epi32(0xf, spread, 2), _mm512_maskz_extracti32x4_epi32(0xf, spread, 3)};
        for (int j = 0; j < 4; ++j) {
            if (c + 16 * j >= n_children) break;
            const __m512 w = _mm512_maskz_cvtepi32_ps(0xffff, _mm512_maskz_cvtepi8_epi32(0xffff, parts[j]));
            float* to = scores + c + 16 * j;
            _mm512_storeu_ps(to, _mm512_add_ps(_mm512_loadu_ps(to), _mm512_mul_ps(v, w)));
        }
    }
    return true;
}
#endif

// Children by a bitmap. n: weights there are; a damaged bitmap that names more ends there. readable: bytes that may be read
// from the bitmap on. Not inline: most rows list their children, and the loop over them needs the registers.
template <class Weights>
__attribute__((noinline)) void add_mapped(const std::uint8_t* bitmap, const Weights& weights, int n, const RowSizes& sizes, std::uint64_t readable, float value, float* scores) {
    const int n_children = sizes.n_children;
    int used = 0, c = 0;
#if defined(__AVX512VBMI2__)
    if constexpr (std::is_same_v<Weights, const std::int8_t*>)
        if (add_mapped_bytes(bitmap, weights, n, sizes, readable, value, scores)) return;
#endif
#if defined(__AVX512BW__) && defined(__AVX512VL__)
    // Sixteen weights are read wherever one is, and a bitmap that ends with a byte by two.
    const bool roomy = static_cast<std::uint64_t>(sizes.row(n)) + 16 * static_cast<std::uint64_t>(sizes.weight) <= readable;
    const __m512 v = _mm512_set1_ps(value);
    for (; roomy && c < n_children; c += 16) {
        std::uint16_t pair;
        __builtin_memcpy(&pair, bitmap + (c >> 3), 2);
        unsigned bits = pair;
        if (n_children - c < 16) bits &= (1u << (n_children - c)) - 1;
        const __m512 w = weights_at(weights, used);
        used += __builtin_popcount(bits);
        if (used > n) return;
        const __mmask16 there = static_cast<__mmask16>(bits);
        const __m512 old = _mm512_loadu_ps(scores + c);  // scores have room for 256
        _mm512_storeu_ps(scores + c, _mm512_mask_add_ps(old, there, old, _mm512_mul_ps(v, _mm512_maskz_expand_ps(there, w))));
    }
#else
    (void)readable;
#endif
    for (; c < n_children; c += 8) {
        unsigned bits = bitmap[c >> 3];
        if (n_children - c < 8) bits &= (1u << (n_children - c)) - 1;
        for (; bits; bits &= bits - 1) {
            if (used == n) return;
            scores[c + __builtin_ctz(bits)] += value * static_cast<float>(weights[used++]);
        }
    }
}

// The bytes of the rows before row `r` < 64 of a word, by their codes. room: bytes that may be read from the codes on.
inline std::uint64_t bytes_before(const std::uint8_t* codes, int r, std::uint64_t room, const RowSizes& sizes) {
    std::uint64_t n_full = 0, n_mapped = 0, n_weights = 0, n_listed = 0;
#if defined(__AVX512BW__)
    (void)room;
    const __m512i some = _mm512_maskz_loadu_epi8((1ull << r) - 1, codes);
    const __mmask64 full = _mm512_cmpeq_epi8_mask(some, _mm512_set1_epi8(static_cast<char>(kFullRow)));
    const __mmask64 named = _mm512_cmpgt_epu8_mask(some, _mm512_set1_epi8(static_cast<char>(sizes.most_listed)));  // mapped or full
    n_full = static_cast<std::uint64_t>(count_bits(full));
    n_mapped = static_cast<std::uint64_t>(count_bits(named)) - n_full;
    const __m512i nothing = _mm512_setzero_si512();
    // Sums of eight codes each: those of all weights in the low halves, those of listed children in the high ones.
    const __m512i weights = _mm512_sad_epu8(_mm512_maskz_mov_epi8(~full, some), nothing);
    const __m512i listed = _mm512_sad_epu8(_mm512_maskz_mov_epi8(~named, some), nothing);
    const __m512i parts = _mm512_add_epi64(weights, _mm512_maskz_slli_epi64(0xff, listed, 32));
    const __m256i four = _mm256_add_epi64(_mm512_maskz_extracti64x4_epi64(0xf, parts, 0), _mm512_maskz_extracti64x4_epi64(0xf, parts, 1));
    const __m128i two = _mm_add_epi64(_mm256_castsi256_si128(four), _mm256_extracti128_si256(four, 1));
    const std::uint64_t both = static_cast<std::uint64_t>(_mm_cvtsi128_si64(two)) + static_cast<std::uint64_t>(_mm_extract_epi64(two, 1));
    n_weights = both & 0xffffffffu;
    n_listed = both >> 32;
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
        const __m256i limit = _mm256_set1_epi8(static_cast<char>(sizes.most_listed));
        const __m256i listed = _mm256_cmpeq_epi8(_mm256_max_epu8(some, limit), limit);
        const int n_here = __builtin_popcount(static_cast<std::uint32_t>(_mm256_movemask_epi8(full)));
        n_full += static_cast<std::uint64_t>(n_here);
        n_mapped += static_cast<std::uint64_t>(32 - __builtin_popcount(static_cast<std::uint32_t>(_mm256_movemask_epi8(listed))) - n_here);
        const __m256i weights_here = _mm256_sad_epu8(_mm256_andnot_si256(full, some), _mm256_setzero_si256());
        const __m256i listed_here = _mm256_sad_epu8(_mm256_and_si256(listed, some), _mm256_setzero_si256());
        sums = _mm256_add_epi64(sums, _mm256_add_epi64(weights_here, _mm256_slli_epi64(listed_here, 32)));
    }
    alignas(32) std::uint64_t parts[4];
    _mm256_store_si256(reinterpret_cast<__m256i*>(parts), sums);
    const std::uint64_t both = parts[0] + parts[1] + parts[2] + parts[3];
    n_weights = both & 0xffffffffu;
    n_listed = both >> 32;
#endif
    (void)room;
    for (; i < r; ++i) {
        const bool full = codes[i] == kFullRow, listed = codes[i] <= sizes.most_listed;
        n_full += full;
        n_mapped += !full && !listed;
        n_weights += full ? 0 : codes[i];
        n_listed += listed ? codes[i] : 0;
    }
#endif
    n_weights += n_full * static_cast<std::uint64_t>(sizes.n_children);
    return n_weights * static_cast<std::uint64_t>(sizes.weight) + n_listed + n_mapped * static_cast<std::uint64_t>(sizes.bitmap);
}

// Where the features of a block are.
struct View {
    const std::uint64_t* top_bits;
    const std::uint32_t* top_rank;
    const FeatureWord* words;
    std::uint64_t n_words;
    const std::uint8_t* payload;
    std::uint64_t n_payload;
};

inline View view_of(const WeightBlocks& blocks, std::int64_t block) {
    return {blocks.top_bits + block * blocks.n_top,
            blocks.top_rank + block * blocks.n_top,
            blocks.words + blocks.word_start[block],
            static_cast<std::uint64_t>(blocks.word_start[block + 1] - blocks.word_start[block]),
            blocks.payload + blocks.payload_start[block],
            static_cast<std::uint64_t>(blocks.payload_start[block + 1] - blocks.payload_start[block])};
}

// A feature is found by way of its word, its word's codes and the row itself, each somewhere else in memory. So features go
// through these steps together, a few dozen at a time: a step asks for the memory of the next one, and cache misses overlap
// instead of standing in line. Misses are dropped without a branch, which nobody could predict.
constexpr int kTogether = 64;

// Features on their way.
struct OnTheWay {
    std::uint64_t place[kTogether];
    std::uint8_t which[kTogether], before[kTogether], n_rows[kTogether], code[kTogether];
};

// A step returns how many of the features are still on their way.
inline int find_words(const View& view, const std::int32_t* features, int n, OnTheWay& way) {
    int end = 0;
    for (int q = 0; q < n; ++q) {
        const std::uint32_t word = static_cast<std::uint32_t>(features[q]) >> 6;
        const std::uint64_t top = view.top_bits[word >> 6];
        const std::uint64_t below = (1ull << (word & 63)) - 1;
        const std::uint64_t w = view.top_rank[word >> 6] + static_cast<std::uint64_t>(count_bits(top & below));
        __builtin_prefetch(view.words + w);
        way.place[end] = w;
        way.which[end] = static_cast<std::uint8_t>(q);
        end += static_cast<int>((top >> (word & 63)) & (w < view.n_words));
    }
    return end;
}

inline int find_codes(const View& view, const std::int32_t* features, int n, OnTheWay& way) {
    int end = 0;
    for (int i = 0; i < n; ++i) {
        const FeatureWord& word = view.words[way.place[i]];
        const std::uint64_t bits = word.bits();
        const int bit = features[way.which[i]] & 63;
        const auto n_rows = static_cast<std::uint64_t>(count_bits(bits));
        __builtin_prefetch(view.payload + word.offset);
        way.before[end] = static_cast<std::uint8_t>(count_bits(bits & ((1ull << bit) - 1)));
        way.n_rows[end] = static_cast<std::uint8_t>(n_rows);
        way.which[end] = way.which[i];
        way.place[end] = word.offset;
        end += static_cast<int>((bits >> bit) & (word.offset + n_rows <= view.n_payload));
    }
    return end;
}

inline void find_rows(const View& view, const RowSizes& sizes, int n, OnTheWay& way) {
    for (int i = 0; i < n; ++i) {
        const std::uint8_t* codes = view.payload + way.place[i];
        way.code[i] = codes[way.before[i]];
        way.place[i] += way.n_rows[i] + bytes_before(codes, way.before[i], view.n_payload - way.place[i], sizes);
        __builtin_prefetch(view.payload + way.place[i]);
        __builtin_prefetch(view.payload + way.place[i] + 64);  // rows of bitmaps and full ones are longer than a line
    }
}

template <class Weights>
inline void add_row(const RowSizes& sizes, int code, const std::uint8_t* row, std::uint64_t readable, const Weights& weights, float value, float* scores) {
    if (code == kFullRow) {
        add_dense(weights, sizes.n_children, value, scores);
    } else if (code <= sizes.most_listed) {
        add_sparse(row, weights, code, value, scores);
    } else {
        add_mapped(row, weights, code, sizes, readable, value, scores);
    }
}

__attribute__((always_inline)) inline void add_rows(const View& view, const RowSizes& sizes, const float* values, int n, const OnTheWay& way, float* scores) {
    for (int i = 0; i < n; ++i) {
        const int code = way.code[i];
        if (way.place[i] + static_cast<std::uint64_t>(sizes.row(code)) > view.n_payload) continue;
        const float value = values[way.which[i]];
        const std::uint8_t* row = view.payload + way.place[i];
        const std::uint8_t* weights = row + sizes.names(code);
        const std::uint64_t readable = view.n_payload - way.place[i];
        if (sizes.weight == 1) {
            add_row(sizes, code, row, readable, reinterpret_cast<const std::int8_t*>(weights), value, scores);
        } else {
            add_row(sizes, code, row, readable, Halves{weights}, value, scores);
        }
    }
}

}  // namespace

// Asks for the words that a block will be looked up in.
void ask_for_words(const WeightBlocks& blocks, std::int64_t block, const Query& query) {
    const View view = view_of(blocks, block);
    for (std::int32_t q = 0; q < query.n; ++q) {
        const std::uint32_t word = static_cast<std::uint32_t>(query.features[q]) >> 6;
        const int before = count_bits(view.top_bits[word >> 6] & ((1ull << (word & 63)) - 1));
        __builtin_prefetch(view.words + view.top_rank[word >> 6] + before);
    }
}

// Asks for the codes of the rows that a block has; its words should have come.
void ask_for_codes(const WeightBlocks& blocks, std::int64_t block, const Query& query) {
    const View view = view_of(blocks, block);
    OnTheWay way;
    for (std::int32_t begin = 0; begin < query.n; begin += kTogether) {
        const std::int32_t* features = query.features + begin;
        int n = query.n - begin < kTogether ? query.n - begin : kTogether;
        n = find_words(view, features, n, way);
        int end = 0;
        for (int i = 0; i < n; ++i) {
            const FeatureWord& word = view.words[way.place[i]];
            way.place[end] = word.offset;
            end += static_cast<int>((word.bits() >> (features[way.which[i]] & 63)) & 1);
        }
        for (int i = 0; i < end; ++i) {
            __builtin_prefetch(view.payload + way.place[i]);
            __builtin_prefetch(view.payload + way.place[i] + 64);
        }
    }
}

// The scores of the row under all children of the copy's blocks. `room` has 256 floats for each block. While the rows of one
// feature are added, those of the next are asked for, a part with every block: they are many lines where a root is wide.
void score_feature_rows(const WeightBlocks& blocks, const FeatureRows& rows, const Query& query, float* room, float* scores) {
    for (std::int32_t q = 0; q < query.n; ++q) __builtin_prefetch(rows.start + query.features[q]);
    for (std::int32_t b = 0; b < rows.n_blocks; ++b) {
        const std::int64_t first = rows.child_start[b], n = rows.child_start[b + 1] - first;
        for (std::int64_t c = 0; c < n; ++c) room[b * kMaxChildren + c] = blocks.scale ? 0.0f : blocks.bias[first + c];
    }
    const std::uint8_t* const last = rows.bytes + rows.start[blocks.n_features] + kReadAhead;
    for (std::int32_t q = 0; q < query.n; ++q) {
        const std::uint64_t begin = rows.start[query.features[q]];
        const std::int32_t next = query.features[q + 1 < query.n ? q + 1 : q];
        const std::uint8_t* ask = rows.bytes + rows.start[next];
        const std::uint64_t n_next = rows.start[next + 1] - rows.start[next];
        const std::uint64_t each = (n_next / static_cast<std::uint64_t>(rows.n_blocks) & ~63ull) + 64;
        const std::uint8_t* const ask_end = ask + n_next;
        if (begin == rows.start[query.features[q] + 1]) {
            for (; ask < ask_end; ask += 64) __builtin_prefetch(ask);
            continue;
        }
        const std::uint8_t* const codes = rows.bytes + begin;
        const std::uint8_t* row = codes + rows.n_blocks;
        const float value = query.values[q];
        for (std::int32_t b = 0; b < rows.n_blocks; ++b) {
            const std::uint8_t* const part_end = ask + each < ask_end ? ask + each : ask_end;
            for (; ask < part_end; ask += 64) __builtin_prefetch(ask);
            const int code = codes[b];
            if (code == 0) continue;
            const RowSizes sizes(static_cast<int>(rows.child_start[b + 1] - rows.child_start[b]), blocks.scale != nullptr);
            const std::uint8_t* weights = row + sizes.names(code);
            const auto readable = static_cast<std::uint64_t>(last - row);
            float* own = room + b * kMaxChildren;
            if (sizes.weight == 1) {
                add_row(sizes, code, row, readable, reinterpret_cast<const std::int8_t*>(weights), value, own);
            } else {
                add_row(sizes, code, row, readable, Halves{weights}, value, own);
            }
            row += sizes.row(code);
        }
    }
    for (std::int32_t b = 0; b < rows.n_blocks; ++b) {
        const std::int64_t first = rows.child_start[b], n = rows.child_start[b + 1] - first;
        const float* __restrict own = room + b * kMaxChildren;
        const float* bias = blocks.bias + first;
        const float* scale = blocks.scale ? blocks.scale + first : nullptr;
        float* __restrict out = scores + first;
        for (std::int64_t c = 0; c < n; ++c) out[c] = scale ? bias[c] + scale[c] * own[c] : own[c];
    }
}

// `scores` has room for 256 floats, whatever the block holds: a child id is one byte, so it cannot lead outside.
void score_block(const WeightBlocks& blocks, std::int64_t block, const Query& query, float* scores) {
    const View view = view_of(blocks, block);
    const std::int64_t first = blocks.child_start[block];
    const RowSizes sizes(static_cast<int>(blocks.child_start[block + 1] - first), blocks.scale != nullptr);
    const float* scale = blocks.scale ? blocks.scale + first : nullptr;
    for (int c = 0; c < sizes.n_children; ++c) scores[c] = scale ? 0.0f : blocks.bias[first + c];
    OnTheWay way;
    for (std::int32_t begin = 0; begin < query.n; begin += kTogether) {
        const std::int32_t* features = query.features + begin;
        int n = query.n - begin < kTogether ? query.n - begin : kTogether;
        n = find_words(view, features, n, way);
        n = find_codes(view, features, n, way);
        find_rows(view, sizes, n, way);
        add_rows(view, sizes, query.values + begin, n, way, scores);
    }
    if (scale)
        for (int c = 0; c < sizes.n_children; ++c) scores[c] = blocks.bias[first + c] + scale[c] * scores[c];
}

}  // namespace lw::LW_LEVEL
