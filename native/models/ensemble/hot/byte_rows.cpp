// One row times a table of bytes: a sparse one, whose output elements are summed in the order of the row, and one of bytes, in whole numbers.
#include "models/ensemble/byte_table.hpp"
#include "simd.hpp"

namespace lw::LW_LEVEL {
namespace {

constexpr std::int64_t kAhead = 8;  // table rows asked for in advance: they are scattered

typedef std::int8_t bpiece __attribute__((vector_size(16 / kPieces)));
typedef std::int8_t loose_bpiece __attribute__((vector_size(16 / kPieces), aligned(1), may_alias));

inline F16 load_bytes(const std::int8_t* p) {
    F16 r;
    for (int i = 0; i < kPieces; ++i) {
        const bpiece bytes = *reinterpret_cast<const loose_bpiece*>(p + i * kPieceLanes);
        r.part[i] = __builtin_convertvector(bytes, fpiece);
    }
    return r;
}

// Columns [c, c + 16 * W).
template <int W>
inline void piece(const std::int32_t* columns, const float* values, std::int64_t n, const ByteTable& table, std::int64_t c, float* out) {
    F16 sum[W];
    for (int w = 0; w < W; ++w) sum[w] = F16::all(0.0f);
    for (std::int64_t i = 0; i < n; ++i) {
        if (i + kAhead < n) __builtin_prefetch(table.data + columns[i + kAhead] * table.dim + c);
        const std::int8_t* row = table.data + columns[i] * table.dim + c;
        const F16 value = F16::all(values[i]);
        for (int w = 0; w < W; ++w) sum[w] = sum[w] + value * load_bytes(row + 16 * w);
    }
    for (int w = 0; w < W; ++w) sum[w].store(out + c + 16 * w);
}

// What `query` has in common with R lines, side by side. Two bytes' product fits in 16 bits, so pairs of products are added in one step.
template <int R>
inline void some_dots(const std::int16_t* query, const std::int8_t* lines, std::int64_t dim, std::int32_t* sums) {
    std::int32_t sum[R] = {};
    for (std::int64_t d = 0; d < dim; ++d)
        for (int r = 0; r < R; ++r) sum[r] += query[d] * static_cast<std::int16_t>(lines[r * dim + d]);
    for (int r = 0; r < R; ++r) sums[r] = sum[r];
}

}  // namespace

void byte_lines_times(const std::int16_t* query, const ByteTable& table, float by, const float* scale, float* out) {
    constexpr int kLines = 4;
    std::int32_t sums[kLines];
    std::int64_t line = 0;
    for (; line + kLines <= table.n_rows; line += kLines) {
        some_dots<kLines>(query, table.data + line * table.dim, table.dim, sums);
        for (int r = 0; r < kLines; ++r) out[line + r] = by * scale[line + r] * static_cast<float>(sums[r]);
    }
    for (; line < table.n_rows; ++line) {
        some_dots<1>(query, table.data + line * table.dim, table.dim, sums);
        out[line] = by * scale[line] * static_cast<float>(sums[0]);
    }
}

void byte_row_times(const std::int32_t* columns, const float* values, std::int64_t n, const ByteTable& table, float* out) {
    std::int64_t c = 0;
    for (; c + 64 <= table.dim; c += 64) piece<4>(columns, values, n, table, c, out);
    for (; c + 16 <= table.dim; c += 16) piece<1>(columns, values, n, table, c, out);
    for (; c < table.dim; ++c) {
        float sum = 0.0f;
        for (std::int64_t i = 0; i < n; ++i) sum += values[i] * static_cast<float>(table.data[columns[i] * table.dim + c]);
        out[c] = sum;
    }
}

}  // namespace lw::LW_LEVEL
