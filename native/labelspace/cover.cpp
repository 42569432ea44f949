#include "labelspace/cover.hpp"

#include <algorithm>
#include <vector>

#include "parallel.hpp"

namespace lw {
namespace {

struct Entry {
    double sum;
    std::int32_t label;
    bool operator<(const Entry& other) const {  // the heap's top: largest sum, then smallest label
        return sum < other.sum || (sum == other.sum && label > other.label);
    }
};

}  // namespace

void greedy_cover(const SparsePattern& labels_of_rows, const SparsePattern& rows_of_labels, const double* row_weights,
                  std::int32_t k, double* cover) {
    const std::int64_t n_labels = rows_of_labels.n_rows;
    std::vector<std::int32_t> still_wanted(labels_of_rows.n_rows, k);
    std::vector<std::int64_t> open_rows(n_labels);
    std::vector<double> sum(n_labels, 0.0);
    std::vector<Entry> heap;
    Pulse pulse;
    for (std::int64_t label = 0; label < n_labels; ++label) {
        cover[label] = 0;
        pulse.beat();
        open_rows[label] = rows_of_labels.starts[label + 1] - rows_of_labels.starts[label];
        for (std::int64_t p = rows_of_labels.starts[label]; p < rows_of_labels.starts[label + 1]; ++p) {
            sum[label] += row_weights[rows_of_labels.columns[p]];
        }
        if (open_rows[label] > 0) heap.push_back({sum[label], static_cast<std::int32_t>(label)});
    }
    std::make_heap(heap.begin(), heap.end());
    // Sums only fall, so an entry that is still right when it comes to the top is the largest; a stale one goes back.
    // Each return has at least one closed row behind it: O(nnz log n_labels) in all.
    while (!heap.empty()) {
        std::pop_heap(heap.begin(), heap.end());
        Entry top = heap.back();
        pulse.beat();
        heap.pop_back();
        if (open_rows[top.label] == 0) continue;
        if (top.sum != sum[top.label]) {
            top.sum = sum[top.label];
            heap.push_back(top);
            std::push_heap(heap.begin(), heap.end());
            continue;
        }
        double taken = 0;  // added up anew: `sum` has seen many subtractions
        for (std::int64_t p = rows_of_labels.starts[top.label]; p < rows_of_labels.starts[top.label + 1]; ++p) {
            const std::int32_t row = rows_of_labels.columns[p];
            if (still_wanted[row] == 0) continue;
            taken += row_weights[row];
            pulse.beat();
            if (--still_wanted[row] > 0) continue;
            for (std::int64_t q = labels_of_rows.starts[row]; q < labels_of_rows.starts[row + 1]; ++q) {
                const std::int32_t other = labels_of_rows.columns[q];
                sum[other] -= row_weights[row];
                --open_rows[other];
            }
        }
        cover[top.label] = taken;
        open_rows[top.label] = 0;
    }
}

}  // namespace lw
