// Counts of tokens -> counts of the columns that the tokens fall into.
#pragma once
#include <cstdint>

#include "features/tokens.hpp"

namespace lw {

// Every entry moves to column_of[its column], which is below n_columns or -1 (left out); those of a row that meet are
// added up. Columns of a row ascend. Throws std::invalid_argument if a column or a target is out of range.
CountRows merge_counts(std::int64_t n_rows, const std::int64_t* pointers, const std::int32_t* columns, const std::int32_t* counts,
                       std::int64_t n_old, const std::int32_t* column_of, std::int32_t n_columns, int n_threads);

}  // namespace lw
