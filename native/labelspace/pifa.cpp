#include "labelspace/pifa.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "parallel.hpp"

namespace lw {
namespace {

constexpr std::int64_t kLabelsPerTask = 64;

// body(label, thread) for all labels; tasks are runs of labels.
template <class Body>
void for_labels(std::int64_t n_labels, int n_threads, const Body& body) {
    parallel_for((n_labels + kLabelsPerTask - 1) / kLabelsPerTask, n_threads, 1, [&](std::int64_t task, int thread) {
        const std::int64_t end = std::min(n_labels, (task + 1) * kLabelsPerTask);
        for (std::int64_t label = task * kLabelsPerTask; label < end; ++label) {
            check_interrupt();
            body(label, thread);
        }
    });
}

// The sum of some rows, whose features can be listed in ascending order without a sort: a bitmap of the features and
// one of its non-zero words. Sorting took two thirds of the time at 100K features.
class Sum {
public:
    void prepare(std::int32_t n_features) {
        if (!value_.empty()) return;
        value_.assign(n_features, 0.0);
        words_.assign(n_features / 64 + 1, 0);
        blocks_.assign(n_features / 4096 + 1, 0);
    }
    void add(std::int32_t feature, double value) {
        value_[feature] += value;
        words_[feature >> 6] |= std::uint64_t{1} << (feature & 63);
        blocks_[feature >> 12] |= std::uint64_t{1} << ((feature >> 6) & 63);
    }
    double operator[](std::int32_t feature) const { return value_[feature]; }
    // Fills `features` with those that were added, ascending.
    void list(std::vector<std::int32_t>& features) const {
        features.clear();
        for_bits([&](std::int32_t word) {
            for (std::uint64_t bits = words_[word]; bits; bits &= bits - 1) features.push_back(word * 64 + std::countr_zero(bits));
        });
    }
    void clear(const std::vector<std::int32_t>& features) {
        for (const std::int32_t feature : features) value_[feature] = 0;
        for_bits([&](std::int32_t word) { words_[word] = 0; });
        std::fill(blocks_.begin(), blocks_.end(), 0);
    }

private:
    std::vector<double> value_;
    std::vector<std::uint64_t> words_, blocks_;

    template <class Body>
    void for_bits(const Body& body) const {
        for (std::size_t block = 0; block < blocks_.size(); ++block) {
            for (std::uint64_t bits = blocks_[block]; bits; bits &= bits - 1) {
                body(static_cast<std::int32_t>(block * 64) + std::countr_zero(bits));
            }
        }
    }
};

}  // namespace

void pifa_counts(const SparseRows& x, const SparsePattern& rows_of_labels, std::int64_t max_features, int n_threads,
                 std::int64_t* counts) {
    if (n_threads < 1) n_threads = max_threads();
    // The label for which a feature was last counted: no clearing from label to label.
    std::vector<std::vector<std::int32_t>> counted(n_threads);
    for_labels(rows_of_labels.n_rows, n_threads, [&](std::int64_t label, int thread) {
        std::vector<std::int32_t>& last = counted[thread];
        if (last.empty()) last.assign(x.n_columns, -1);
        const auto own = static_cast<std::int32_t>(label);
        std::int64_t count = 0;
        Pulse pulse;
        for (std::int64_t r = rows_of_labels.starts[label]; r < rows_of_labels.starts[label + 1]; ++r) {
            pulse.beat();
            const std::int32_t row = rows_of_labels.columns[r];
            for (std::int64_t p = x.starts[row]; p < x.starts[row + 1]; ++p) {
                std::int32_t& mark = last[x.columns[p]];
                count += mark != own;
                mark = own;
            }
        }
        counts[label] = max_features > 0 ? std::min(count, max_features) : count;
    });
}

void pifa_fill(const SparseRows& x, const SparsePattern& rows_of_labels, const float* row_weights,
               const std::int64_t* starts, int n_threads, std::int32_t* columns, float* values) {
    if (n_threads < 1) n_threads = max_threads();
    std::vector<Sum> sums(n_threads);
    std::vector<std::vector<std::int32_t>> lists(n_threads);
    for_labels(rows_of_labels.n_rows, n_threads, [&](std::int64_t label, int thread) {
        Sum& sum = sums[thread];
        sum.prepare(x.n_columns);
        Pulse pulse;
        for (std::int64_t r = rows_of_labels.starts[label]; r < rows_of_labels.starts[label + 1]; ++r) {
            pulse.beat();
            const std::int32_t row = rows_of_labels.columns[r];
            const double weight = row_weights ? row_weights[row] : 1.0;
            for (std::int64_t p = x.starts[row]; p < x.starts[row + 1]; ++p) sum.add(x.columns[p], weight * x.values[p]);
        }
        std::vector<std::int32_t>& features = lists[thread];
        sum.list(features);
        const std::int64_t kept = starts[label + 1] - starts[label];
        if (kept < 0 || kept > static_cast<std::int64_t>(features.size())) {
            throw std::invalid_argument("the row pointers do not come from pifa_counts");
        }
        const auto begin = features.begin(), end_of_kept = begin + kept;
        if (end_of_kept != features.end()) {
            std::nth_element(begin, end_of_kept, features.end(), [&](std::int32_t a, std::int32_t b) {
                const double size_a = std::abs(sum[a]), size_b = std::abs(sum[b]);
                return size_a > size_b || (size_a == size_b && a < b);
            });
            std::sort(begin, end_of_kept);
        }
        double squares = 0;
        for (auto f = begin; f != end_of_kept; ++f) squares += sum[*f] * sum[*f];
        const double scale = squares > 0 ? 1 / std::sqrt(squares) : 0;
        for (std::int64_t k = 0; k < kept; ++k) {
            columns[starts[label] + k] = features[k];
            values[starts[label] + k] = static_cast<float>(sum[features[k]] * scale);
        }
        sum.clear(features);
    });
}

}  // namespace lw
