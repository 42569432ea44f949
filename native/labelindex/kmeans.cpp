#include "labelindex/kmeans.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "labelindex/node_rows.hpp"
#include "levels.hpp"
#include "parallel.hpp"
#include "rng.hpp"
#include "simd.hpp"

namespace lw {
namespace {

constexpr std::int64_t kLargeNode = 8192;  // split by all threads together
constexpr std::int64_t kRowsPerTask = 256;

class Clusterer {
public:
    Clusterer(const LabelVectors& vectors, const KmeansOptions& options) : v_(vectors), options_(options) {}

    void split(std::int32_t* labels, std::int64_t m, std::uint64_t key, bool large, int n_threads, std::int64_t* counts) {
        m_ = m;
        k_ = options_.n_clusters;
        width_ = (k_ + kLanes - 1) / kLanes * kLanes;
        n_threads_ = n_threads;
        if (large) {
            rows_.view(v_, labels, m);
        } else {
            rows_.take(v_, labels, m);
        }
        start_centres(key);
        cluster_.assign(m, -1);
        lengths_.assign(k_, 0.0);
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
    // Memory of one thread: the sum of a cluster's labels over all features, 0 between two clusters, and its features.
    struct Sum {
        std::vector<double> values;
        std::vector<char> seen;
        std::vector<std::int32_t> features;
    };

    const LabelVectors& v_;
    const KmeansOptions& options_;
    NodeRows rows_;
    std::int64_t m_ = 0;
    std::int32_t k_ = 0;
    std::int64_t width_ = 0;  // k_ up to whole vectors of lanes
    int n_threads_ = 1;
    std::vector<float> centres_;  // (feature, width_): a feature of a row finds all centres side by side
    std::vector<std::vector<std::int32_t>> features_of_;  // where each centre is not 0
    std::vector<std::int32_t> cluster_, before_;
    std::vector<std::int64_t> first_, members_;  // the rows of cluster c: members_[first_[c]] .. members_[first_[c + 1] - 1]
    std::vector<char> changed_;                  // clusters that won or lost a label
    std::vector<double> lengths_;                // of the clusters' sums
    std::vector<Sum> sums_;

    float& centre(std::int64_t cluster, std::int64_t feature) { return centres_[static_cast<std::size_t>(feature * width_ + cluster)]; }

    // k distinct random members.
    void start_centres(std::uint64_t key) {
        centres_.assign(static_cast<std::size_t>(rows_.n_features() * width_), 0.0f);
        features_of_.assign(k_, {});
        Rng rng(options_.seed, key);
        std::vector<std::int32_t> member(m_);
        std::iota(member.begin(), member.end(), 0);
        for (std::int32_t c = 0; c < k_; ++c) {
            std::swap(member[c], member[c + rng.below(static_cast<std::uint32_t>(m_ - c))]);
            const std::int64_t row = member[c];
            features_of_[c].assign(rows_.columns(row), rows_.columns(row) + rows_.size(row));
            for (std::int64_t p = 0; p < rows_.size(row); ++p) centre(c, rows_.columns(row)[p]) = rows_.values(row)[p];
        }
    }

    // Every label to its most similar centre (ties: the first); false if nothing changed.
    bool assign() {
        const std::int64_t n_tasks = (m_ + kRowsPerTask - 1) / kRowsPerTask;
        before_ = cluster_;
        const DenseTable centres{centres_.data(), rows_.n_features(), width_};
        parallel_for(n_tasks, n_threads_, 1, [&](std::int64_t task, int) {
            std::vector<float> similarity(static_cast<std::size_t>(width_));
            const std::int64_t end = std::min(m_, (task + 1) * kRowsPerTask);
            Pulse pulse;
            for (std::int64_t i = task * kRowsPerTask; i < end; ++i) {
                pulse.beat();
                kernels().sparse_row_times(rows_.columns(i), rows_.values(i), rows_.size(i), centres, similarity.data());
                cluster_[i] = static_cast<std::int32_t>(std::max_element(similarity.begin(), similarity.begin() + k_) - similarity.begin());
            }
        });
        changed_.assign(k_, 0);
        bool any = false;
        for (std::int64_t i = 0; i < m_; ++i) {
            if (cluster_[i] == before_[i]) continue;
            any = true;
            changed_[cluster_[i]] = 1;
            if (before_[i] >= 0) changed_[before_[i]] = 1;
        }
        return any;
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
    // Only features that a cluster has are touched: most clusters have few, and going through all took most of the time.
    double move_centres() {
        group();
        sums_.resize(static_cast<std::size_t>(std::max(n_threads_, 1)));
        for (Sum& sum : sums_) {
            sum.values.assign(static_cast<std::size_t>(rows_.n_features()), 0.0);
            sum.seen.assign(static_cast<std::size_t>(rows_.n_features()), 0);
        }
        parallel_for(k_, n_threads_, 1, [&](std::int64_t c, int thread) {
            if (changed_[c]) move_centre(c, sums_[thread]);
        });
        return std::accumulate(lengths_.begin(), lengths_.end(), 0.0);
    }

    void move_centre(std::int64_t c, Sum& sum) {
        sum.features.clear();
        Pulse pulse;
        for (std::int64_t i = first_[c]; i < first_[c + 1]; ++i) {
            const std::int64_t row = members_[i];
            pulse.beat();
            for (std::int64_t p = 0; p < rows_.size(row); ++p) {
                const std::int32_t feature = rows_.columns(row)[p];
                if (!sum.seen[feature]) sum.features.push_back(feature);
                sum.seen[feature] = 1;
                sum.values[feature] += rows_.values(row)[p];
            }
        }
        double squares = 0;
        for (const std::int32_t feature : sum.features) squares += sum.values[feature] * sum.values[feature];
        lengths_[c] = std::sqrt(squares);
        if (squares > 0) {
            const double scale = 1 / lengths_[c];
            for (const std::int32_t feature : features_of_[c]) centre(c, feature) = 0;
            for (const std::int32_t feature : sum.features) centre(c, feature) = static_cast<float>(sum.values[feature] * scale);
            features_of_[c] = sum.features;
        }
        for (const std::int32_t feature : sum.features) sum.values[feature] = sum.seen[feature] = 0;
    }
};

}  // namespace

void kmeans_nodes(const LabelVectors& vectors, const std::int64_t* first, const std::int64_t* size, const std::int64_t* key,
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
