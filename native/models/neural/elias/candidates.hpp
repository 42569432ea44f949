// Shortlists of an index with the best labels of its ranker added, and what the ranker says of all of them.
#pragma once
#include <cstdint>

#include "models/linear/blocks.hpp"

namespace lw {

// n_rows x room labels, rising with -1 last, and the log of their probabilities.
struct Shortlists {
    std::int64_t room;
    const std::int32_t* labels;
    const float* log_p;
};

// n_rows x (room + n_candidates) labels, rising with -1 last; log p (-inf at padding) and margins (0 at padding).
struct Judged {
    std::int32_t* labels;
    float* log_p;
    float* margins;
};

// Rows in block feature ids, unknown features already dropped. order: the label of every classifier; place: the classifier of
// every label. A label that joins gets the smallest log p of its row's shortlist, or unknown_log_p if that is empty.
void judge_shortlists(const WeightBlocks& blocks, const std::int32_t* order, const std::int32_t* place, std::int64_t n_rows,
                      const std::int64_t* indptr, const std::int32_t* indices, const float* data, const Shortlists& given,
                      std::int32_t n_candidates, float unknown_log_p, int n_threads, const Judged& out);

}  // namespace lw
