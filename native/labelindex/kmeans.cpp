#include "labelindex/kmeans.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "labelindex/node_rows.hpp"
#include "parallel.hpp"
#include "rng.hpp"
#include "simd.hpp"

namespace lw {
namespace {

constexpr std::int64_t kLargeNode = 8192;  // split by all threads together
constexpr std::int64_t kRowsPerTask = 256;

class Clusterer {
public:
    Clusterer(const SparseRows& vectors, const KmeansOptions& options) : v_(vectors), options_(options) {}

    void split(std::int32_t* labels, std::int64_t m, std::uint64_t key, bool large, int n_threads, std::int64_t* counts) {
        m_ = m;
        k_ = options_.n_clusters;
        n_blocks_ = (k_ + kLanes - 1) / kLanes;
        n_threads_ = n_threads;
        if (large) {
            rows_.view(v_, labels, m);
        } else {
            rows_.copy(v_, labels, m);
        }
        start_centres(key);
        cluster_.assign(m, -1);
        double previous = -1;
        for (int iteration = 0; iteration < options_.max_iterations; ++iteration) {
            if (!assign()) break;
            const double similarity = move_centres() / static_cast<double>(m);
            if (similarity - previous <= options_.tolerance) break;
            previous = similarity;
        }
        if (std::all_of(cluster_.begin(), cluster_.end(), [&](std::int32_t c) { return c == cluster_[0]; })) {
            for (std::int64_t i = 0; i < m; ++i) cluster_[i] = static_cast<std::int32_t>(i * k_ / m);
        }
        group();
        std::vector<std::int32_t> reordered(m);
        for (std::int64_t i = 0; i < m; ++i) reordered[i] = labels[members_[i]];
        std::copy(reordered.begin(), reordered.end(), labels);
        for (std::int32_t c = 0; c < k_; ++c) counts[c] = first_[c + 1] - first_[c];
    }

private:
    const SparseRows& v_;
    const KmeansOptions& options_;
    NodeRows rows_;
    std::int64_t m_ = 0;
    std::int32_t k_ = 0, n_blocks_ = 0;
    int n_threads_ = 1;
    std::vector<float> centres_;  // (block of 16 clusters, feature, 16): a feature of a row touches one cache line a block
    std::vector<std::int32_t> cluster_;
    std::vector<std::int64_t> first_, members_;  // the rows of cluster c: members_[first_[c]] .. members_[first_[c + 1] - 1]

    float* centre(std::int32_t cluster, std::int32_t feature) {
        const std::int64_t block = cluster / kLanes;
        return centres_.data() + (block * rows_.n_features() + feature) * kLanes + cluster % kLanes;
    }

    // k distinct random members.
    void start_centres(std::uint64_t key) {
        centres_.assign(static_cast<std::size_t>(n_blocks_) * rows_.n_features() * kLanes, 0.0f);
        Rng rng(options_.seed, key);
        std::vector<std::int32_t> member(m_);
        std::iota(member.begin(), member.end(), 0);
        for (std::int32_t c = 0; c < k_; ++c) {
            std::swap(member[c], member[c + rng.below(static_cast<std::uint32_t>(m_ - c))]);
            const std::int64_t row = member[c];
            for (std::int64_t p = 0; p < rows_.size(row); ++p) *centre(c, rows_.columns(row)[p]) = rows_.values(row)[p];
        }
    }

    // Every label to its most similar centre (ties: the first); false if nothing changed.
    bool assign() {
        const std::int64_t n_tasks = (m_ + kRowsPerTask - 1) / kRowsPerTask;
        std::vector<char> changed(n_tasks, 0);
        parallel_for(n_tasks, n_threads_, 1, [&](std::int64_t task, int) {
            const std::int64_t end = std::min(m_, (task + 1) * kRowsPerTask);
            Pulse pulse;
            for (std::int64_t i = task * kRowsPerTask; i < end; ++i) {
                pulse.beat();
                const std::int32_t best = nearest(i);
                changed[task] |= best != cluster_[i];
                cluster_[i] = best;
            }
        });
        return std::any_of(changed.begin(), changed.end(), [](char c) { return c != 0; });
    }

    std::int32_t nearest(std::int64_t row) const {
        std::int32_t best = 0;
        float best_score = -1e30f;
        for (std::int32_t block = 0; block < n_blocks_; ++block) {
            const float* centres = centres_.data() + static_cast<std::int64_t>(block) * rows_.n_features() * kLanes;
            F16 sum = F16::all(0.0f);
            for (std::int64_t p = 0; p < rows_.size(row); ++p) {
                const std::int64_t feature = rows_.columns(row)[p];
                sum = sum + F16::load(centres + feature * kLanes) * rows_.values(row)[p];
            }
            for (int lane = 0; lane < std::min(kLanes, k_ - block * kLanes); ++lane) {
                if (sum.lane(lane) > best_score) {
                    best_score = sum.lane(lane);
                    best = block * kLanes + lane;
                }
            }
        }
        return best;
    }

    void group() {
        first_.assign(k_ + 1, 0);
        for (const std::int32_t c : cluster_) ++first_[c + 1];
        std::partial_sum(first_.begin(), first_.end(), first_.begin());
        std::vector<std::int64_t> at(first_.begin(), first_.end() - 1);
        members_.resize(m_);
        for (std::int64_t i = 0; i < m_; ++i) members_[at[cluster_[i]]++] = i;
    }

    // Centres to the normalised sums of their labels; returns the sum of all similarities. A cluster belongs to one
    // thread, so its sum is always made in the same order. Clusters without labels (or length) keep their centre.
    double move_centres() {
        group();
        std::vector<double> lengths(k_, 0.0);
        std::vector<std::vector<double>> sums(std::max(n_threads_, 1));
        parallel_for(k_, n_threads_, 1, [&](std::int64_t c, int thread) {
            std::vector<double>& sum = sums[thread];
            sum.assign(rows_.n_features(), 0.0);
            Pulse pulse;
            for (std::int64_t i = first_[c]; i < first_[c + 1]; ++i) {
                pulse.beat();
                rows_.add(members_[i], 1.0, sum.data());
            }
            double squares = 0;
            for (const double value : sum) squares += value * value;
            lengths[c] = std::sqrt(squares);
            if (lengths[c] == 0) return;
            const double scale = 1 / lengths[c];
            for (std::int32_t j = 0; j < rows_.n_features(); ++j) {
                *centre(static_cast<std::int32_t>(c), j) = static_cast<float>(sum[j] * scale);
            }
        });
        return std::accumulate(lengths.begin(), lengths.end(), 0.0);
    }
};

}  // namespace

void kmeans_nodes(const SparseRows& vectors, const std::int64_t* first, const std::int64_t* size, const std::int64_t* key,
                  std::int64_t n_nodes, const KmeansOptions& options, std::int32_t* order, std::int64_t* counts) {
    const int n_threads = options.n_threads < 1 ? max_threads() : options.n_threads;
    std::vector<Clusterer> clusterers(n_threads, Clusterer(vectors, options));
    const auto split = [&](std::int64_t node, bool large, int thread, int threads) {
        clusterers[thread].split(order + first[node], size[node], static_cast<std::uint64_t>(key[node]), large, threads,
                                 counts + node * options.n_clusters);
    };
    for (std::int64_t node = 0; node < n_nodes; ++node) {
        if (size[node] >= kLargeNode) split(node, true, 0, n_threads);
    }
    parallel_for(n_nodes, n_threads, 1, [&](std::int64_t node, int thread) {
        if (size[node] < kLargeNode) split(node, false, thread, 1);
    });
}

}  // namespace lw
