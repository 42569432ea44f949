#include "models/linear/flat_search.hpp"

#include <algorithm>
#include <vector>

#include "levels.hpp"
#include "parallel.hpp"
#include "topk.hpp"

namespace lw {

void flat_top_k(const WeightBlocks& blocks, std::int64_t n_rows, const std::int64_t* indptr, const std::int32_t* indices,
                const float* data, std::int32_t k, int n_threads, std::int32_t* labels, float* margins) {
    // Blocks outside, a few rows inside: a block's weights stay in the cache while the rows pass by.
    constexpr std::int64_t kRows = 64;
    const Kernels& kernel = kernels();
    parallel_for((n_rows + kRows - 1) / kRows, n_threads, 1, [&](std::int64_t part, int) {
        const std::int64_t begin = part * kRows, end = std::min(n_rows, begin + kRows);
        std::vector<Scored> memory(static_cast<std::size_t>((end - begin) * k));
        std::vector<TopKHeap> heaps;
        for (std::int64_t r = begin; r < end; ++r) heaps.emplace_back(memory.data() + (r - begin) * k, k);
        alignas(64) float scores[kMaxChildren];
        for (std::int64_t b = 0; b < blocks.n_blocks; ++b) {
            check_interrupt();
            const std::int32_t first = static_cast<std::int32_t>(blocks.child_start[b]);
            const std::int32_t n = static_cast<std::int32_t>(blocks.child_start[b + 1]) - first;
            for (std::int64_t r = begin; r < end; ++r) {
                const Query query{static_cast<std::int32_t>(indptr[r + 1] - indptr[r]), indices + indptr[r], data + indptr[r]};
                kernel.score_block(blocks, b, query, scores);
                TopKHeap& heap = heaps[static_cast<std::size_t>(r - begin)];
                for (std::int32_t c = 0; c < n; ++c)
                    if (!heap.full() || scores[c] >= heap.worst()) heap.offer(scores[c], first + c);
            }
        }
        for (std::int64_t r = begin; r < end; ++r) {
            TopKHeap& heap = heaps[static_cast<std::size_t>(r - begin)];
            const Scored* best = heap.sorted();
            for (std::int32_t j = 0; j < heap.size(); ++j) {
                labels[r * k + j] = best[j].label;
                margins[r * k + j] = best[j].score;
            }
        }
    });
}

}  // namespace lw
