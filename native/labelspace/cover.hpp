// Greedy cover frequencies: which labels answer all rows when the label that answers most is taken again and again.
#pragma once
#include <cstdint>

#include "sparse_rows.hpp"

namespace lw {

// Takes the label with the largest sum of weights over open rows (ties: the smaller label), gives it that sum, and closes
// the rows that have now seen k of their labels; until no open row has an untaken label. Fills cover (one a label).
void greedy_cover(const SparsePattern& labels_of_rows, const SparsePattern& rows_of_labels, const double* row_weights,
                  std::int32_t k, double* cover);

}  // namespace lw
