// Label vectors and cover frequencies for Python.
#include <nanobind/stl/optional.h>

#include <optional>
#include <stdexcept>

#include "bind/bind.hpp"
#include "labelspace/cover.hpp"
#include "labelspace/pifa.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace lw {
namespace {

using Starts = In<std::int64_t>;
using Columns = In<std::int32_t>;

void check(bool holds, const char* message) {
    if (!holds) throw std::invalid_argument(message);
}

SparsePattern pattern(const Starts& starts, const Columns& columns, std::int64_t n_columns) {
    check(starts.shape(0) >= 1, "row pointers are empty");
    const std::int64_t n_rows = static_cast<std::int64_t>(starts.shape(0)) - 1;
    check(starts.data()[n_rows] == static_cast<std::int64_t>(columns.shape(0)), "row pointers do not fit the columns");
    for (std::size_t p = 0; p < columns.shape(0); ++p) {
        check(columns.data()[p] >= 0 && columns.data()[p] < n_columns, "a column number is outside the matrix");
    }
    return {starts.data(), columns.data(), n_rows, static_cast<std::int32_t>(n_columns)};
}

SparseRows rows(const Starts& starts, const Columns& columns, const In<float>& values, std::int32_t n_columns) {
    const SparsePattern p = pattern(starts, columns, n_columns);
    check(values.shape(0) == columns.shape(0), "values and columns differ in length");
    return {p.starts, p.columns, values.data(), p.n_rows, n_columns};
}

}  // namespace

void bind_labelspace(nb::module_& m) {
    m.def(
        "pifa_counts",
        [](Starts x_starts, Columns x_columns, In<float> x_values, std::int32_t n_features, Starts label_starts,
           Columns label_rows, std::int64_t max_features, int n_threads, Out<std::int64_t> counts) {
            const SparseRows x = rows(x_starts, x_columns, x_values, n_features);
            const SparsePattern labels = pattern(label_starts, label_rows, x.n_rows);
            check(static_cast<std::int64_t>(counts.shape(0)) == labels.n_rows, "counts must have one entry a label");
            WithoutGil released;
            pifa_counts(x, labels, max_features, n_threads, counts.data());
        },
        "x_starts"_a, "x_columns"_a, "x_values"_a, "n_features"_a, "label_starts"_a, "label_rows"_a, "max_features"_a,
        "n_threads"_a, "counts"_a, "Fill counts with the number of features that each label's vector keeps.");
    m.def(
        "pifa_fill",
        [](Starts x_starts, Columns x_columns, In<float> x_values, std::int32_t n_features, Starts label_starts,
           Columns label_rows, std::optional<In<float>> row_weights, Starts starts, int n_threads,
           Out<std::int32_t> columns, Out<float> values) {
            const SparseRows x = rows(x_starts, x_columns, x_values, n_features);
            const SparsePattern labels = pattern(label_starts, label_rows, x.n_rows);
            check(static_cast<std::int64_t>(starts.shape(0)) == labels.n_rows + 1 && columns.shape(0) == values.shape(0) &&
                      starts.data()[labels.n_rows] == static_cast<std::int64_t>(columns.shape(0)),
                  "the output arrays do not fit the row pointers");
            check(!row_weights || static_cast<std::int64_t>(row_weights->shape(0)) == x.n_rows, "one weight a row is needed");
            WithoutGil released;
            pifa_fill(x, labels, row_weights ? row_weights->data() : nullptr, starts.data(), n_threads, columns.data(),
                      values.data());
        },
        "x_starts"_a, "x_columns"_a, "x_values"_a, "n_features"_a, "label_starts"_a, "label_rows"_a,
        "row_weights"_a.none(), "starts"_a, "n_threads"_a, "columns"_a, "values"_a,
        "Fill columns and values with the label vectors whose row pointers come from pifa_counts.");
    m.def(
        "greedy_cover",
        [](Starts row_starts, Columns row_labels, Starts label_starts, Columns label_rows, In<double> row_weights,
           std::int32_t k, Out<double> cover) {
            const std::int64_t n_labels = static_cast<std::int64_t>(label_starts.shape(0)) - 1;
            const SparsePattern labels_of_rows = pattern(row_starts, row_labels, n_labels);
            const SparsePattern rows_of_labels = pattern(label_starts, label_rows, labels_of_rows.n_rows);
            check(static_cast<std::int64_t>(row_weights.shape(0)) == labels_of_rows.n_rows, "one weight a row is needed");
            check(static_cast<std::int64_t>(cover.shape(0)) == n_labels && k >= 1, "cover must have one entry a label, and k be positive");
            WithoutGil released;
            greedy_cover(labels_of_rows, rows_of_labels, row_weights.data(), k, cover.data());
        },
        "row_starts"_a, "row_labels"_a, "label_starts"_a, "label_rows"_a, "row_weights"_a, "k"_a, "cover"_a,
        "Fill cover with the greedy cover frequencies of the labels.");
}

}  // namespace lw
