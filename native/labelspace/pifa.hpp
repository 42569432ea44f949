// Label vectors: the sum of the features of a label's rows, to unit length (positive instance feature aggregation).
#pragma once
#include <cstdint>

#include "sparse_rows.hpp"

namespace lw {

// rows_of_labels: row l lists the training rows of label l. max_features: keep only so many of the largest values of a
// label (ties: the smaller feature), 0 for all.

// counts[l]: how many features the vector of label l keeps.
void pifa_counts(const SparseRows& x, const SparsePattern& rows_of_labels, std::int64_t max_features, int n_threads,
                 std::int64_t* counts);

// Fills the vectors, features ascending, at starts[l] .. starts[l] + counts[l] - 1. row_weights: a factor a training row,
// or null for 1. The length is 1 after the smaller values are dropped; labels without features stay empty.
void pifa_fill(const SparseRows& x, const SparsePattern& rows_of_labels, const float* row_weights,
               const std::int64_t* starts, int n_threads, std::int32_t* columns, float* values);

}  // namespace lw
