#include "neighbors/sparse_neighbors.hpp"

#include <vector>

#include "parallel.hpp"
#include "topk.hpp"

namespace lw {

void search_sparse(const SparseRows& columns, const SparseRows& queries, std::int32_t k, int n_threads, std::int32_t* found,
                   float* products) {
    struct Room {
        std::vector<float> sums;
        std::vector<std::int32_t> touched;
        std::vector<Scored> best;
    };
    std::vector<Room> rooms(n_threads < 1 ? max_threads() : n_threads);
    parallel_for(queries.n_rows, n_threads, 8, [&](std::int64_t query, int thread) {
        Room& room = rooms[thread];
        if (room.sums.empty()) {
            room.sums.assign(columns.n_columns, 0.0f);
            room.best.resize(k);
        }
        room.touched.clear();
        for (std::int64_t q = queries.starts[query]; q < queries.starts[query + 1]; ++q) {
            const float value = queries.values[q];
            const std::int32_t column = queries.columns[q];
            for (std::int64_t p = columns.starts[column]; p < columns.starts[column + 1]; ++p) {
                const std::int32_t row = columns.columns[p];
                // A sum that comes back to 0 lets a row in twice: the second time it is 0 and is left out below.
                if (room.sums[row] == 0.0f) room.touched.push_back(row);
                room.sums[row] += value * columns.values[p];
            }
        }
        TopKHeap heap(room.best.data(), k);
        for (const std::int32_t row : room.touched) {
            if (room.sums[row] > 0.0f && !(heap.full() && room.sums[row] < heap.worst())) heap.offer(room.sums[row], row);
            room.sums[row] = 0.0f;
        }
        const std::int32_t n = heap.size();
        const Scored* best = heap.sorted();
        for (std::int32_t i = 0; i < k; ++i) {
            found[query * k + i] = i < n ? best[i].label : -1;
            products[query * k + i] = i < n ? best[i].score : 0.0f;
        }
    });
}

}  // namespace lw
