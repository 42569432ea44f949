// Rows of features as the weight blocks number them, scaled to length 1 if asked.
#pragma once
#include <cmath>
#include <cstdint>

#include "parallel.hpp"

namespace lw {

// One row: writes the features that have a number (rank >= 0) and their scaled values, returns how many there are.
// One query and a batch of rows go through here, so that both give the same answer to the last bit.
inline std::int64_t rank_row(std::int64_t n, const std::int32_t* columns, const float* values, const std::int32_t* rank, bool normalize,
                             std::int32_t* features, float* scaled) {
    double square = 0;
    std::int64_t kept = 0;
    for (std::int64_t i = 0; i < n; ++i) {
        square += static_cast<double>(values[i]) * values[i];
        const std::int32_t feature = rank[columns[i]];
        features[kept] = feature;
        scaled[kept] = values[i];
        kept += feature >= 0;  // what has no number is overwritten by the next
    }
    if (normalize && square > 0) {
        const double length = std::sqrt(square);
        for (std::int64_t i = 0; i < kept; ++i) scaled[i] = static_cast<float>(scaled[i] / length);
    }
    return kept;
}

// All rows; features and scaled have room for every entry, starts (n_rows + 1) says where each row begins.
inline std::int64_t rank_rows(std::int64_t n_rows, const std::int64_t* indptr, const std::int32_t* columns, const float* values,
                              const std::int32_t* rank, bool normalize, std::int64_t* starts, std::int32_t* features, float* scaled) {
    starts[0] = 0;
    Pulse pulse;
    for (std::int64_t r = 0; r < n_rows; ++r) {
        pulse.beat();
        starts[r + 1] = starts[r] + rank_row(indptr[r + 1] - indptr[r], columns + indptr[r], values + indptr[r], rank, normalize,
                                             features + starts[r], scaled + starts[r]);
    }
    return starts[n_rows];
}

}  // namespace lw
