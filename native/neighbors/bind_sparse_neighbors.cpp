// Nearest rows of sparse matrices for Python.
#include <stdexcept>

#include "bind/bind.hpp"
#include "neighbors/sparse_neighbors.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace lw {
namespace {

void need(bool fits, const char* what) {
    if (!fits) throw std::invalid_argument(what);
}

SparseRows checked_rows(const In<std::int64_t>& starts, const In<std::int32_t>& columns, const In<float>& values,
                        std::int32_t n_columns, bool every_column) {
    need(starts.shape(0) >= 1 && starts.data()[0] == 0, "row pointers begin with 0");
    const std::int64_t n_rows = static_cast<std::int64_t>(starts.shape(0)) - 1;
    for (std::int64_t row = 0; row < n_rows; ++row) need(starts.data()[row] <= starts.data()[row + 1], "row pointers rise");
    need(starts.data()[n_rows] == static_cast<std::int64_t>(columns.shape(0)) && columns.shape(0) == values.shape(0),
         "row pointers do not fit the columns and values");
    for (std::size_t p = 0; every_column && p < columns.shape(0); ++p)
        need(columns.data()[p] >= 0 && columns.data()[p] < n_columns, "a column number is outside the matrix");
    return {starts.data(), columns.data(), values.data(), n_rows, n_columns};
}

}  // namespace

void bind_sparse_neighbors(nb::module_& m) {
    m.def(
        "search_sparse",
        [](In<std::int64_t> starts, In<std::int32_t> rows, In<float> values, std::int32_t n_rows,
           In<std::int64_t> query_starts, In<std::int32_t> query_columns, In<float> query_values, int n_threads,
           Out2<std::int32_t> found, Out2<float> products) {
            // The caller has checked the row numbers when it got the matrix: reading them for every query would cost more
            // than the search.
            const SparseRows columns = checked_rows(starts, rows, values, n_rows, false);
            const SparseRows queries = checked_rows(query_starts, query_columns, query_values,
                                                    static_cast<std::int32_t>(columns.n_rows), true);
            need(static_cast<std::int64_t>(found.shape(0)) == queries.n_rows && found.shape(1) >= 1 &&
                     products.shape(0) == found.shape(0) && products.shape(1) == found.shape(1),
                 "found and products must be (n queries, k)");
            WithoutGil released;
            search_sparse(columns, queries, static_cast<std::int32_t>(found.shape(1)), n_threads, found.data(), products.data());
        },
        "starts"_a, "rows"_a, "values"_a, "n_rows"_a, "query_starts"_a, "query_columns"_a, "query_values"_a, "n_threads"_a,
        "found"_a, "products"_a,
        "Fill found and products (n, k) with the rows of a matrix, given by its columns, nearest to sparse queries.");
}

}  // namespace lw
