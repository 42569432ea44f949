// Products with dense tables and the optimiser step on rows, for Python.
#include <cmath>
#include <stdexcept>

#include "bind/bind.hpp"
#include "levels.hpp"
#include "parallel.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace lw {
namespace {

constexpr std::int64_t kRowsAtOnce = 16;

void sparse_rows_times_dense(In<std::int64_t> starts, In<std::int32_t> columns, In<float> values, In2<float> table,
                             Out2<float> out, int n_threads) {
    const std::int64_t n_rows = static_cast<std::int64_t>(starts.shape(0)) - 1;
    const DenseTable dense{table.data(), static_cast<std::int64_t>(table.shape(0)), static_cast<std::int64_t>(table.shape(1))};
    const std::int64_t* start = starts.data();
    const std::int64_t n_values = static_cast<std::int64_t>(columns.shape(0));
    if (n_rows < 0 || values.shape(0) != columns.shape(0) || static_cast<std::int64_t>(out.shape(0)) != n_rows ||
        static_cast<std::int64_t>(out.shape(1)) != dense.dim || start[0] != 0 || start[n_rows] != n_values)
        throw std::invalid_argument("the sparse rows, the table and the output do not fit together");
    for (std::int64_t i = 0; i < n_rows; ++i)
        if (start[i] > start[i + 1]) throw std::invalid_argument("row starts must not decrease");
    for (std::int64_t i = 0; i < n_values; ++i)
        if (columns.data()[i] < 0 || columns.data()[i] >= dense.n_rows)
            throw std::invalid_argument("a column lies outside the table");
    WithoutGil released;
    const Kernels& hot = kernels();
    parallel_for(n_rows, n_threads, kRowsAtOnce, [&](std::int64_t row, int) {
        hot.sparse_row_times(columns.data() + start[row], values.data() + start[row], start[row + 1] - start[row], dense,
                             out.data() + row * dense.dim);
    });
}

void dense_rows_times_dense(In2<float> rows, In2<float> table, Out2<float> out, int n_threads) {
    const DenseTable dense{table.data(), static_cast<std::int64_t>(table.shape(0)), static_cast<std::int64_t>(table.shape(1))};
    if (rows.shape(1) != table.shape(0) || out.shape(0) != rows.shape(0) || out.shape(1) != table.shape(1))
        throw std::invalid_argument("the rows, the table and the output do not fit together");
    const std::int64_t n_rows = static_cast<std::int64_t>(rows.shape(0));
    WithoutGil released;
    const Kernels& hot = kernels();
    parallel_for((n_rows + kRowsAtOnce - 1) / kRowsAtOnce, n_threads, 1, [&](std::int64_t piece, int) {
        const std::int64_t first = piece * kRowsAtOnce;
        const std::int64_t n = first + kRowsAtOnce <= n_rows ? kRowsAtOnce : n_rows - first;
        hot.dense_rows_times(rows.data() + first * dense.n_rows, n, dense, out.data() + first * dense.dim);
    });
}

void adam_rows(In<std::int64_t> rows, In2<float> gradient, Out2<float> weight, Out2<float> mean, Out2<float> square, double lr,
               double beta1, double beta2, double eps, double weight_decay, std::int64_t t, int n_threads) {
    const std::size_t n = rows.shape(0), dim = weight.shape(1), n_table = weight.shape(0);
    if (gradient.shape(0) != n || gradient.shape(1) != dim || mean.shape(0) != n_table || mean.shape(1) != dim ||
        square.shape(0) != n_table || square.shape(1) != dim || t < 1)
        throw std::invalid_argument("the gradient, the weights and their moments do not fit together");
    for (std::size_t i = 0; i < n; ++i)
        if (rows.data()[i] < 0 || rows.data()[i] >= static_cast<std::int64_t>(n_table) || (i && rows.data()[i] <= rows.data()[i - 1]))
            throw std::invalid_argument("the rows must be distinct, in order and inside the table");
    const double first = 1.0 - std::pow(beta1, static_cast<double>(t)), second = 1.0 - std::pow(beta2, static_cast<double>(t));
    const AdamStep step{static_cast<float>(lr / first), static_cast<float>(beta1), static_cast<float>(beta2),
                        static_cast<float>(1.0 / std::sqrt(second)), static_cast<float>(eps),
                        static_cast<float>(1.0 - lr * weight_decay)};
    WithoutGil released;
    const Kernels& hot = kernels();
    const std::int64_t width = static_cast<std::int64_t>(dim);
    parallel_for(static_cast<std::int64_t>(n), n_threads, 64, [&](std::int64_t i, int) {
        const std::int64_t at = rows.data()[i] * width;
        hot.adam_row(gradient.data() + i * width, width, step, weight.data() + at, mean.data() + at, square.data() + at);
    });
}

}  // namespace

void bind_dense_rows(nb::module_& m) {
    m.def("sparse_rows_times_dense", &sparse_rows_times_dense, "starts"_a, "columns"_a, "values"_a, "table"_a, "out"_a,
          "n_threads"_a, "CSR rows times a float32 table (n_columns, dim), written to out (n_rows, dim).");
    m.def("dense_rows_times_dense", &dense_rows_times_dense, "rows"_a, "table"_a, "out"_a, "n_threads"_a,
          "Dense rows times a float32 table (n_columns, dim), written to out; a row's result is the same in any batch.");
    m.def("adam_rows", &adam_rows, "rows"_a, "gradient"_a, "weight"_a, "mean"_a, "square"_a, "lr"_a, "beta1"_a, "beta2"_a,
          "eps"_a, "weight_decay"_a, "t"_a, "n_threads"_a,
          "Step t of Adam on the given distinct rows of a table, in place; rows that are not named are left alone.");
}

}  // namespace lw
