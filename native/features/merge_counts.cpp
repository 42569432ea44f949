#include "features/merge_counts.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "parallel.hpp"

namespace lw {

CountRows merge_counts(std::int64_t n_rows, const std::int64_t* pointers, const std::int32_t* columns, const std::int32_t* counts,
                       std::int64_t n_old, const std::int32_t* column_of, std::int32_t n_columns, int n_threads) {
    const auto n_entries = static_cast<std::size_t>(pointers[n_rows]);
    CountRows merged;
    merged.pointers.assign(static_cast<std::size_t>(n_rows) + 1, 0);
    merged.columns.reset(new std::int32_t[n_entries]);
    merged.counts.reset(new std::int32_t[n_entries]);
    // Each row is written where it begins in the input, and its size where its end will stand.
    parallel_for(n_rows, n_threads, 64, [&](std::int64_t row, int) {
        thread_local std::vector<std::pair<std::int32_t, std::int32_t>> entries;
        entries.clear();
        for (std::int64_t j = pointers[row]; j < pointers[row + 1]; ++j) {
            if (columns[j] < 0 || columns[j] >= n_old) throw std::invalid_argument("merge_counts: a column is out of range");
            const std::int32_t target = column_of[columns[j]];
            if (target < -1 || target >= n_columns) throw std::invalid_argument("merge_counts: a new column is out of range");
            if (target >= 0) entries.emplace_back(target, counts[j]);
        }
        std::sort(entries.begin(), entries.end());
        std::int64_t end = pointers[row];
        for (const auto& [column, count] : entries) {
            if (end > pointers[row] && merged.columns[end - 1] == column) {
                merged.counts[end - 1] += count;
            } else {
                merged.columns[end] = column;
                merged.counts[end++] = count;
            }
        }
        merged.pointers[static_cast<std::size_t>(row) + 1] = end - pointers[row];
    });
    std::int64_t end = 0;
    for (std::int64_t row = 0; row < n_rows; ++row) {
        const std::int64_t size = merged.pointers[static_cast<std::size_t>(row) + 1], start = pointers[row];
        std::copy_n(merged.columns.get() + start, size, merged.columns.get() + end);
        std::copy_n(merged.counts.get() + start, size, merged.counts.get() + end);
        merged.pointers[static_cast<std::size_t>(row) + 1] = end += size;
    }
    return merged;
}

}  // namespace lw
