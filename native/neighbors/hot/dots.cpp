// Inner products of a few queries with many dense rows. Sixteen lanes are summed up in one fixed order, so a product
// has the same bits on every instruction level, alone or in a batch.
#include "neighbors/dots.hpp"

#include "simd.hpp"

namespace lw::LW_LEVEL {
namespace {

inline float sum_lanes(const F16& a) {
    float lanes[kLanes];
    a.store(lanes);
    for (int width = kLanes / 2; width > 0; width /= 2) {
        for (int i = 0; i < width; ++i) lanes[i] += lanes[i + width];
    }
    return lanes[0];
}

// R rows against one query: their loads and sums overlap. The last dim % 16 products go to the first lanes. coming: rows
// that are asked for meanwhile, as they lie anywhere in memory.
template <int R>
inline void some_dots(const float* query, const float* const* rows, const float* const* coming, std::int64_t dim, float* const* out) {
    F16 sum[R];
    for (int r = 0; r < R; ++r) sum[r] = F16::all(0.0f);
    std::int64_t j = 0;
    for (; j + kLanes <= dim; j += kLanes) {
        const F16 v = F16::load(query + j);
        for (int r = 0; r < R; ++r) {
            __builtin_prefetch(coming[r] + j);
            sum[r] = sum[r] + v * F16::load(rows[r] + j);
        }
    }
    for (int r = 0; r < R; ++r) {
        float lanes[kLanes];
        sum[r].store(lanes);
        for (std::int64_t i = j; i < dim; ++i) lanes[i - j] += query[i] * rows[r][i];
        for (int width = kLanes / 2; width > 0; width /= 2)
            for (int i = 0; i < width; ++i) lanes[i] += lanes[i + width];
        *out[r] = lanes[0];
    }
}

}  // namespace

// out[i] = query . table[ids[i]] (n_ids of them, any dim); 0 where an id is negative.
void gathered_dots(const float* query, const float* table, const std::int32_t* ids, std::int64_t n_ids, std::int64_t dim, float* out) {
    constexpr int kRows = 4;
    const float* rows[kRows];
    const float* coming[kRows];
    float* places[kRows];
    int n = 0;
    for (std::int64_t i = 0; i < n_ids; ++i) {
        if (ids[i] < 0) {
            out[i] = 0.0f;
            continue;
        }
        const std::int32_t later = i + kRows < n_ids ? ids[i + kRows] : -1;
        rows[n] = table + ids[i] * dim;
        coming[n] = later < 0 ? rows[n] : table + later * dim;
        places[n] = out + i;
        if (++n == kRows) {
            some_dots<kRows>(query, rows, coming, dim, places);
            n = 0;
        }
    }
    for (int r = 0; r < n; ++r) some_dots<1>(query, rows + r, coming + r, dim, places + r);
}

// out[q * n_rows + r] = queries[q] . rows[r]; n_queries is 1..4 and dim a multiple of 16.
void dots(const float* queries, int n_queries, const float* rows, std::int64_t n_rows, std::int32_t dim, float* out) {
    if (n_queries == kQueriesAtOnce) {
        // Four queries share each load of the row: 3x the rate of one at a time.
        for (std::int64_t r = 0; r < n_rows; ++r) {
            const float* row = rows + r * dim;
            F16 sum[kQueriesAtOnce];
            for (int q = 0; q < kQueriesAtOnce; ++q) sum[q] = F16::all(0.0f);
            for (std::int32_t j = 0; j < dim; j += kLanes) {
                const F16 v = F16::load(row + j);
                for (int q = 0; q < kQueriesAtOnce; ++q) sum[q] = sum[q] + v * F16::load(queries + q * dim + j);
            }
            for (int q = 0; q < kQueriesAtOnce; ++q) out[q * n_rows + r] = sum_lanes(sum[q]);
        }
        return;
    }
    for (int q = 0; q < n_queries; ++q) {
        for (std::int64_t r = 0; r < n_rows; ++r) {
            const float* row = rows + r * dim;
            F16 sum = F16::all(0.0f);
            for (std::int32_t j = 0; j < dim; j += kLanes) sum = sum + F16::load(row + j) * F16::load(queries + q * dim + j);
            out[q * n_rows + r] = sum_lanes(sum);
        }
    }
}

}  // namespace lw::LW_LEVEL
