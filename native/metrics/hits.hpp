// Which predicted labels are true, and the best that a row's true labels could have given.
#pragma once
#include <cstdint>

namespace lw {

// hits[i * k + j] = 1 if labels[i * k + j] is among the sorted true labels indices[indptr[i] .. indptr[i + 1]); padding
// (a negative label) never hits. Gives back the first row that holds a label >= n_labels or one label twice, or -1.
std::int64_t hit_matrix(const std::int32_t* labels, std::int64_t n_rows, std::int64_t k, const std::int64_t* indptr,
                        const std::int32_t* indices, std::int64_t n_labels, std::uint8_t* hits, int n_threads);

// best[i * k + j] = the j-th largest weight among the true labels of row i, 0 where there are fewer.
void best_weights(const std::int64_t* indptr, const std::int32_t* indices, const double* weights, std::int64_t n_rows,
                  std::int64_t k, double* best, int n_threads);

}  // namespace lw
