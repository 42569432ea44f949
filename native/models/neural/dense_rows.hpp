// Products of sparse and dense rows with a dense table, and the optimiser step on some rows of a table.
#pragma once
#include <cstdint>

namespace lw {

// A row-major table of floats: n_rows x dim.
struct DenseTable {
    const float* data;
    std::int64_t n_rows;
    std::int64_t dim;
};

struct AdamStep {
    float lr;          // with the schedule and the bias correction of the first moment
    float beta1;
    float beta2;
    float correction;  // 1 / sqrt(1 - beta2^t)
    float eps;
    float decay;       // 1 - lr * weight_decay: decoupled, only on the rows that are touched
};

}  // namespace lw
