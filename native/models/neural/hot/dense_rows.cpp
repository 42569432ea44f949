// One row of a product at a time; every output element is summed in the same order whatever the batch holds, so a
// row's answer does not depend on the rows beside it or on the number of threads.
#include "models/neural/dense_rows.hpp"

#include "simd.hpp"

namespace lw::LW_LEVEL {
namespace {

constexpr std::int64_t kAhead = 8;  // table rows asked for in advance: they are scattered

// Columns [c, c + 16 * W) of one sparse row times the table.
template <int W>
inline void sparse_piece(const std::int32_t* columns, const float* values, std::int64_t n, const DenseTable& table,
                         std::int64_t c, float* out) {
    F16 sum[W];
    for (int w = 0; w < W; ++w) sum[w] = F16::all(0.0f);
    for (std::int64_t i = 0; i < n; ++i) {
        if (i + kAhead < n) {
            const float* next = table.data + columns[i + kAhead] * table.dim + c;
            for (int w = 0; w < W; ++w) __builtin_prefetch(next + 16 * w);
        }
        const float* row = table.data + columns[i] * table.dim + c;
        const F16 value = F16::all(values[i]);
        for (int w = 0; w < W; ++w) sum[w] = sum[w] + value * F16::load(row + 16 * w);
    }
    for (int w = 0; w < W; ++w) sum[w].store(out + c + 16 * w);
}

// Columns [c, c + 16 * W) of R dense rows times the table.
template <int R, int W>
inline void dense_piece(const float* rows, const DenseTable& table, std::int64_t c, float* out) {
    F16 sum[R][W];
    for (int r = 0; r < R; ++r)
        for (int w = 0; w < W; ++w) sum[r][w] = F16::all(0.0f);
    for (std::int64_t i = 0; i < table.n_rows; ++i) {
        F16 loaded[W];
        for (int w = 0; w < W; ++w) loaded[w] = F16::load(table.data + i * table.dim + c + 16 * w);
        for (int r = 0; r < R; ++r) {
            const F16 value = F16::all(rows[r * table.n_rows + i]);
            for (int w = 0; w < W; ++w) sum[r][w] = sum[r][w] + value * loaded[w];
        }
    }
    for (int r = 0; r < R; ++r)
        for (int w = 0; w < W; ++w) sum[r][w].store(out + r * table.dim + c + 16 * w);
}

// The first table.dim / 16 * 16 columns of a single row times the table: every number of the table is read once, so it is
// read as it lies in memory, four table rows at a time, and the sums wait in `out`. The order of a sum is that of dense_piece.
inline std::int64_t single_row(const float* row, const DenseTable& table, float* out) {
    constexpr int kRows = 4;
    const std::int64_t width = table.dim / kLanes * kLanes;
    for (std::int64_t c = 0; c < width; ++c) out[c] = 0.0f;
    std::int64_t i = 0;
    for (; i + kRows <= table.n_rows; i += kRows) {
        const float* at = table.data + i * table.dim;
        F16 value[kRows];
        for (int r = 0; r < kRows; ++r) value[r] = F16::all(row[i + r]);
        for (std::int64_t c = 0; c < width; c += kLanes) {
            F16 sum = F16::load(out + c);
            for (int r = 0; r < kRows; ++r) sum = sum + value[r] * F16::load(at + r * table.dim + c);
            sum.store(out + c);
        }
    }
    for (; i < table.n_rows; ++i) {
        const F16 value = F16::all(row[i]);
        for (std::int64_t c = 0; c < width; c += kLanes) (F16::load(out + c) + value * F16::load(table.data + i * table.dim + c)).store(out + c);
    }
    return width;
}

template <int R>
inline void dense_rows_of(const float* rows, const DenseTable& table, float* out) {
    std::int64_t c = 0;
    if constexpr (R == 1) c = single_row(rows, table, out);
    for (; c + 16 <= table.dim; c += 16) dense_piece<R, 1>(rows, table, c, out);
    for (; c < table.dim; ++c) {
        for (int r = 0; r < R; ++r) {
            float sum = 0.0f;
            for (std::int64_t i = 0; i < table.n_rows; ++i) sum += rows[r * table.n_rows + i] * table.data[i * table.dim + c];
            out[r * table.dim + c] = sum;
        }
    }
}

}  // namespace

void sparse_row_times(const std::int32_t* columns, const float* values, std::int64_t n, const DenseTable& table, float* out) {
    std::int64_t c = 0;
    if constexpr (kPieces == 1)  // enough registers: one pass over the row, and whole table rows at a time
        for (; c + 256 <= table.dim; c += 256) sparse_piece<16>(columns, values, n, table, c, out);
    for (; c + 64 <= table.dim; c += 64) sparse_piece<4>(columns, values, n, table, c, out);
    for (; c + 16 <= table.dim; c += 16) sparse_piece<1>(columns, values, n, table, c, out);
    for (; c < table.dim; ++c) {
        float sum = 0.0f;
        for (std::int64_t i = 0; i < n; ++i) sum += values[i] * table.data[columns[i] * table.dim + c];
        out[c] = sum;
    }
}

void dense_rows_times(const float* rows, std::int64_t n, const DenseTable& table, float* out) {
    std::int64_t r = 0;
    for (; r + 4 <= n; r += 4) dense_rows_of<4>(rows + r * table.n_rows, table, out + r * table.dim);
    for (; r < n; ++r) dense_rows_of<1>(rows + r * table.n_rows, table, out + r * table.dim);
}

void adam_row(const float* gradient, std::int64_t dim, const AdamStep& step, float* weight, float* mean, float* square) {
    for (std::int64_t i = 0; i < dim; ++i) {
        const float g = gradient[i];
        const float m = step.beta1 * mean[i] + (1.0f - step.beta1) * g;
        const float v = step.beta2 * square[i] + (1.0f - step.beta2) * g * g;
        mean[i] = m;
        square[i] = v;
        weight[i] = step.decay * weight[i] - step.lr * m / (__builtin_sqrtf(v) * step.correction + step.eps);
    }
}

}  // namespace lw::LW_LEVEL
