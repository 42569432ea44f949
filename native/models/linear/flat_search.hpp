// Top-k of every row over all blocks: exact one-vs-all prediction.
#pragma once
#include <cstdint>

#include "models/linear/blocks.hpp"

namespace lw {

// Rows in block feature ids, unknown features already dropped. Writes n_rows x k labels and margins; k <= all children.
void flat_top_k(const WeightBlocks& blocks, std::int64_t n_rows, const std::int64_t* indptr, const std::int32_t* indices,
                const float* data, std::int32_t k, int n_threads, std::int32_t* labels, float* margins);

}  // namespace lw
