#include "models/linear/node_search.hpp"

#include <vector>

#include "levels.hpp"
#include "parallel.hpp"
#include "topk.hpp"

namespace lw {

void next_level(const WeightBlocks& blocks, const LevelNodes& level, Link link, std::int32_t beam, std::int64_t n_rows,
                const std::int64_t* indptr, const std::int32_t* indices, const float* data, int n_threads,
                const std::int32_t* nodes, const float* scores, std::int32_t* next_nodes, float* next_scores) {
    parallel_for(n_rows, n_threads, 16, [&](std::int64_t r, int) {
        const Query query{static_cast<std::int32_t>(indptr[r + 1] - indptr[r]), indices + indptr[r], data + indptr[r]};
        std::vector<Scored> memory(static_cast<std::size_t>(beam));
        TopKHeap best(memory.data(), beam);
        alignas(64) float margins[kMaxChildren];
        for (std::int32_t i = 0; i < beam && nodes[r * beam + i] >= 0; ++i) {
            const std::int64_t node = nodes[r * beam + i] - level.first_node;
            std::int32_t child = level.first_child[node];
            if (child < 0) continue;
            for (std::int64_t b = level.first_block[node]; b < level.first_block[node + 1]; ++b) {
                kernels().score_block(blocks, b, query, margins);
                const std::int64_t n = blocks.child_start[b + 1] - blocks.child_start[b];
                for (std::int64_t c = 0; c < n; ++c, ++child) best.offer(path_score(link, scores[r * beam + i], margins[c]), child);
            }
        }
        const Scored* sorted = best.sorted();
        for (std::int32_t i = 0; i < beam; ++i) {
            next_nodes[r * beam + i] = i < best.size() ? sorted[i].label : -1;
            next_scores[r * beam + i] = i < best.size() ? sorted[i].score : kLowestScore;
        }
    });
}

}  // namespace lw
