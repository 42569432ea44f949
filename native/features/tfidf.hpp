// Counts -> tf-idf values.
#pragma once
#include <cstdint>

namespace lw {

enum class Norm { none, l1, l2 };

// values[j] = tf(counts[j]) * idf[columns[j]], rows then scaled to length 1; tf(c) = 1 + ln c if sublinear, else c.
// idf may be null (all ones). Sums in double, values rounded to float once.
void weigh_rows(std::int64_t n_rows, const std::int64_t* pointers, const std::int32_t* columns, const std::int32_t* counts,
                const double* idf, bool sublinear, Norm norm, int n_threads, float* values);

}  // namespace lw
