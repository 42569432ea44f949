#include "metrics/hits.hpp"

#include <algorithm>
#include <atomic>
#include <vector>

#include "parallel.hpp"

namespace lw {
namespace {

constexpr std::int64_t kBlock = 2048;  // rows a thread takes at once
constexpr std::int64_t kPairwise = 16;  // up to here comparing all pairs beats sorting a copy

bool repeats(const std::int32_t* row, std::int64_t k, std::vector<std::int32_t>& copy) {
    if (k <= kPairwise) {
        for (std::int64_t a = 1; a < k; ++a) {
            if (row[a] < 0) continue;
            for (std::int64_t b = 0; b < a; ++b) {
                if (row[a] == row[b]) return true;
            }
        }
        return false;
    }
    copy.assign(row, row + k);
    std::sort(copy.begin(), copy.end());
    for (std::int64_t a = 1; a < k; ++a) {
        if (copy[a] >= 0 && copy[a] == copy[a - 1]) return true;
    }
    return false;
}

}  // namespace

std::int64_t hit_matrix(const std::int32_t* labels, std::int64_t n_rows, std::int64_t k, const std::int64_t* indptr,
                        const std::int32_t* indices, std::int64_t n_labels, std::uint8_t* hits, int n_threads) {
    std::atomic<std::int64_t> first_bad{n_rows};
    const std::int64_t n_blocks = (n_rows + kBlock - 1) / kBlock;
    parallel_for(n_blocks, n_threads, 1, [&](std::int64_t block, int) {
        std::vector<std::int32_t> copy;
        Pulse pulse;
        const std::int64_t end = std::min(n_rows, (block + 1) * kBlock);
        for (std::int64_t i = block * kBlock; i < end; ++i) {
            const std::int32_t* row = labels + i * k;
            pulse.beat();
            const std::int32_t* from = indices + indptr[i];
            const std::int32_t* to = indices + indptr[i + 1];
            bool bad = repeats(row, k, copy);
            for (std::int64_t j = 0; j < k; ++j) {
                bad = bad || row[j] >= n_labels;
                hits[i * k + j] = row[j] >= 0 && std::binary_search(from, to, row[j]);
            }
            if (bad) {  // the smallest row wins, whichever thread came first
                std::int64_t known = first_bad.load();
                while (i < known && !first_bad.compare_exchange_weak(known, i)) {
                }
                return;
            }
        }
    });
    return first_bad.load() < n_rows ? first_bad.load() : -1;
}

void best_weights(const std::int64_t* indptr, const std::int32_t* indices, const double* weights, std::int64_t n_rows,
                  std::int64_t k, double* best, int n_threads) {
    if (k == 0) return;
    const std::int64_t n_blocks = (n_rows + kBlock - 1) / kBlock;
    parallel_for(n_blocks, n_threads, 1, [&](std::int64_t block, int) {
        const std::int64_t end = std::min(n_rows, (block + 1) * kBlock);
        for (std::int64_t i = block * kBlock; i < end; ++i) {
            // Insertion into k sorted places: k is small, and most weights fall behind the last place at once.
            double* row = best + i * k;
            std::fill(row, row + k, 0.0);
            std::int64_t filled = 0;
            for (std::int64_t at = indptr[i]; at < indptr[i + 1]; ++at) {
                const double weight = weights[indices[at]];
                if (filled == k && weight <= row[k - 1]) continue;
                std::int64_t place = filled < k ? filled++ : k - 1;
                for (; place > 0 && row[place - 1] < weight; --place) row[place] = row[place - 1];
                row[place] = weight;
            }
        }
    });
}

}  // namespace lw
