#include "models/neural/elias/candidates.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "levels.hpp"
#include "parallel.hpp"
#include "topk.hpp"

namespace lw {
namespace {

constexpr std::int64_t kMostMargins = 1 << 22;  // of the rows that pass a block together: 16 MB a thread

// Write a row's shortlist and the candidates, both rising, as one list.
void join(const std::int32_t* labels, const float* log_p, std::int64_t room, const std::vector<std::int32_t>& candidates,
          float unknown_log_p, const std::int32_t* place, const float* all_margins, std::int64_t width, std::int32_t* out_labels,
          float* out_log_p, float* out_margins) {
    std::int64_t n_own = 0;
    float lowest = std::numeric_limits<float>::infinity();
    while (n_own < room && labels[n_own] >= 0) lowest = std::min(lowest, log_p[n_own++]);
    if (n_own == 0) lowest = unknown_log_p;
    std::int64_t i = 0, n = 0;
    std::size_t j = 0;
    while (i < n_own || j < candidates.size()) {
        const bool own = j == candidates.size() || (i < n_own && labels[i] <= candidates[j]);
        const std::int32_t label = own ? labels[i] : candidates[j];
        out_labels[n] = label;
        out_log_p[n] = own ? log_p[i] : lowest;
        out_margins[n] = all_margins[place[label]];
        if (own) ++i;
        if (j < candidates.size() && candidates[j] == label) ++j;
        ++n;
    }
    for (; n < width; ++n) {
        out_labels[n] = -1;
        out_log_p[n] = -std::numeric_limits<float>::infinity();
        out_margins[n] = 0;
    }
}

}  // namespace

void judge_shortlists(const WeightBlocks& blocks, const std::int32_t* order, const std::int32_t* place, std::int64_t n_rows,
                      const std::int64_t* indptr, const std::int32_t* indices, const float* data, const Shortlists& given,
                      std::int32_t n_candidates, float unknown_log_p, int n_threads, const Judged& out) {
    const Kernels& kernel = kernels();
    const std::int64_t n_labels = blocks.child_start[blocks.n_blocks], width = given.room + n_candidates;
    // Blocks outside, a few rows inside: a block's weights stay in the cache while the rows pass by.
    const std::int64_t together = std::clamp<std::int64_t>(kMostMargins / std::max<std::int64_t>(1, n_labels), 1, 64);
    parallel_for((n_rows + together - 1) / together, n_threads, 1, [&](std::int64_t part, int) {
        const std::int64_t begin = part * together, end = std::min(n_rows, begin + together);
        std::vector<float> margins(static_cast<std::size_t>((end - begin) * n_labels));
        alignas(64) float scores[kMaxChildren];
        for (std::int64_t b = 0; b < blocks.n_blocks; ++b) {
            check_interrupt();
            const std::int64_t first = blocks.child_start[b], n = blocks.child_start[b + 1] - first;
            for (std::int64_t r = begin; r < end; ++r) {
                const Query query{static_cast<std::int32_t>(indptr[r + 1] - indptr[r]), indices + indptr[r], data + indptr[r]};
                kernel.score_block(blocks, b, query, scores);
                std::copy_n(scores, n, margins.data() + (r - begin) * n_labels + first);
            }
        }
        std::vector<Scored> memory(static_cast<std::size_t>(n_candidates));
        std::vector<std::int32_t> candidates(static_cast<std::size_t>(n_candidates));
        for (std::int64_t r = begin; r < end; ++r) {
            const float* own = margins.data() + (r - begin) * n_labels;
            TopKHeap heap(memory.data(), n_candidates);
            for (std::int64_t c = 0; c < n_labels; ++c)
                if (!heap.full() || own[c] >= heap.worst()) heap.offer(own[c], static_cast<std::int32_t>(c));
            for (std::int32_t c = 0; c < n_candidates; ++c) candidates[static_cast<std::size_t>(c)] = order[memory[static_cast<std::size_t>(c)].label];
            std::sort(candidates.begin(), candidates.end());
            join(given.labels + r * given.room, given.log_p + r * given.room, given.room, candidates, unknown_log_p, place, own, width,
                 out.labels + r * width, out.log_p + r * width, out.margins + r * width);
        }
    });
}

}  // namespace lw
