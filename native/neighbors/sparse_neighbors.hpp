// The k rows of a sparse matrix with the largest inner products with sparse queries, by its columns.
#pragma once
#include <cstdint>

#include "sparse_rows.hpp"

namespace lw {

// columns: the matrix transposed, one row for each of its columns, so columns.n_columns is the number of its rows.
// found (n queries x k), best first, equal products to the smaller row; only rows that share a column with the query,
// padded with -1 and 0.
void search_sparse(const SparseRows& columns, const SparseRows& queries, std::int32_t k, int n_threads, std::int32_t* found,
                   float* products);

}  // namespace lw
