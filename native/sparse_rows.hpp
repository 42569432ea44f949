// Views of CSR matrices.
#pragma once
#include <cstdint>

namespace lw {

// float32 values; columns in any order but unique within a row.
struct SparseRows {
    const std::int64_t* starts;  // n_rows + 1
    const std::int32_t* columns;
    const float* values;
    std::int64_t n_rows;
    std::int32_t n_columns;
};

// Which columns are set in each row.
struct SparsePattern {
    const std::int64_t* starts;  // n_rows + 1
    const std::int32_t* columns;
    std::int64_t n_rows;
    std::int32_t n_columns;
};

}  // namespace lw
