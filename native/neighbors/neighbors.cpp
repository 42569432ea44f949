#include "neighbors/neighbors.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "levels.hpp"
#include "neighbors/dots.hpp"
#include "parallel.hpp"
#include "topk.hpp"

namespace lw {
namespace {

constexpr std::int64_t kTile = 64;             // vectors scored at once: 64 x 256 floats stay in the second cache
constexpr std::int64_t kQueriesPerTask = 32;   // that share the tiles of a range

// Vectors begin .. begin + n - 1 as floats: the stored ones, or decoded into the buffer.
const float* decoded(const VectorStore& store, std::int64_t begin, std::int64_t n, std::vector<float>& buffer) {
    const std::int64_t first = begin * store.dim, size = n * store.dim;
    if (store.kind == Stored::float32) return static_cast<const float*>(store.data) + first;
    if (static_cast<std::int64_t>(buffer.size()) < size) buffer.resize(size);
    if (store.kind == Stored::bfloat16) {
        const std::uint16_t* halves = static_cast<const std::uint16_t*>(store.data) + first;
        for (std::int64_t i = 0; i < size; ++i) {
            const std::uint32_t bits = static_cast<std::uint32_t>(halves[i]) << 16;
            std::memcpy(&buffer[i], &bits, 4);
        }
    } else {
        const std::int8_t* numbers = static_cast<const std::int8_t*>(store.data) + first;
        for (std::int64_t row = 0; row < n; ++row) {
            const float scale = store.scale[begin + row];
            for (std::int32_t j = 0; j < store.dim; ++j)
                buffer[row * store.dim + j] = static_cast<float>(numbers[row * store.dim + j]) * scale;
        }
    }
    return buffer.data();
}

// The heaps of some queries and the memory to score tiles for them.
class Searcher {
public:
    Searcher(const VectorStore& store, std::int64_t n_queries, std::int32_t k)
        : store_(store), k_(k), entries_(static_cast<std::size_t>(n_queries * k)) {
        for (std::int64_t q = 0; q < n_queries; ++q) heaps_.emplace_back(entries_.data() + q * k, k);
        products_.resize(kQueriesAtOnce * kTile);
    }

    // Vectors begin .. end - 1 for the queries first, first + 1, ... (n of them, next to each other in memory).
    void scan(std::int64_t begin, std::int64_t end, const float* queries, std::int64_t first, std::int64_t n,
              const std::int32_t* ids) {
        for (std::int64_t tile = begin; tile < end; tile += kTile) {
            const std::int64_t size = std::min(kTile, end - tile);
            check_interrupt();
            const float* rows = decoded(store_, tile, size, buffer_);
            for (std::int64_t q = 0; q < n;) {
                const int now = n - q >= kQueriesAtOnce ? kQueriesAtOnce : 1;
                kernels().dots(queries + q * store_.dim, now, rows, size, store_.dim, products_.data());
                for (int j = 0; j < now; ++j) offer(first + q + j, products_.data() + j * size, tile, size, ids);
                q += now;
            }
        }
    }

    void offer(std::int64_t query, const float* products, std::int64_t begin, std::int64_t n, const std::int32_t* ids) {
        TopKHeap& heap = heaps_[query];
        for (std::int64_t i = 0; i < n; ++i) {
            const float score = store_.bias ? products[i] + store_.bias[begin + i] : products[i];
            if (heap.full() && score < heap.worst()) continue;
            heap.offer(score, ids ? ids[begin + i] : static_cast<std::int32_t>(begin + i));
        }
    }

    void write(std::int64_t query, std::int32_t* found, float* scores) {
        const std::int32_t n = heaps_[query].size();
        const Scored* best = heaps_[query].sorted();
        for (std::int32_t i = 0; i < k_; ++i) {
            found[i] = i < n ? best[i].label : -1;
            scores[i] = i < n ? best[i].score : -std::numeric_limits<float>::infinity();
        }
    }

private:
    const VectorStore& store_;
    std::int32_t k_;
    std::vector<Scored> entries_;
    std::vector<TopKHeap> heaps_;
    std::vector<float> products_, buffer_;
};

}  // namespace

void search_ranges(const VectorStore& store, const VectorRanges& ranges, const NeighborQueries& queries, std::int32_t* found,
                   float* scores) {
    // Without probes all queries read the same vectors, so several of them share each tile.
    const std::int64_t per_task = ranges.probes ? 1 : kQueriesPerTask;
    const std::int64_t n_tasks = (queries.n + per_task - 1) / per_task;
    parallel_for(n_tasks, queries.n_threads, 1, [&](std::int64_t task, int) {
        const std::int64_t first = task * per_task, n = std::min(per_task, queries.n - first);
        const float* values = queries.values + first * store.dim;
        Searcher searcher(store, n, queries.k);
        if (ranges.probes) {
            for (std::int32_t p = 0; p < ranges.n_probes; ++p) {
                const std::int32_t range = ranges.probes[first * ranges.n_probes + p];
                if (range >= 0) searcher.scan(ranges.starts[range], ranges.starts[range + 1], values, 0, 1, ranges.ids);
            }
        } else {
            searcher.scan(ranges.starts[0], ranges.starts[ranges.n_ranges], values, 0, n, ranges.ids);
        }
        for (std::int64_t q = 0; q < n; ++q)
            searcher.write(q, found + (first + q) * queries.k, scores + (first + q) * queries.k);
    });
}

void search_candidates(const VectorStore& store, const std::int64_t* candidates, std::int32_t n_candidates,
                       const NeighborQueries& queries, std::int32_t* found, float* scores) {
    parallel_for(queries.n, queries.n_threads, 4, [&](std::int64_t query, int) {
        Searcher searcher(store, 1, queries.k);
        std::vector<float> buffer;
        const std::int64_t* mine = candidates + query * n_candidates;
        for (std::int32_t c = 0; c < n_candidates; ++c) {
            if (mine[c] < 0) continue;
            const float* row = decoded(store, mine[c], 1, buffer);
            float product;
            kernels().dots(queries.values + query * store.dim, 1, row, 1, store.dim, &product);
            searcher.offer(0, &product, mine[c], 1, nullptr);
        }
        searcher.write(0, found + query * queries.k, scores + query * queries.k);
    });
}

}  // namespace lw
