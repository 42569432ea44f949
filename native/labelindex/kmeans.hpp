// Spherical k-means over the labels of tree nodes: wide, unbalanced splits (as in Bonsai, Khandagale et al., 2020).
#pragma once
#include <cstdint>

#include "labelindex/label_vectors.hpp"

namespace lw {

struct KmeansOptions {
    std::int32_t n_clusters = 16;
    int max_iterations = 20;
    double tolerance = 1e-4;  // stop when the mean similarity gains less
    std::uint64_t seed = 0;
    int n_threads = 1;
};

// Node i holds order[first[i]] .. order[first[i] + size[i] - 1], at least n_clusters labels, and is reordered cluster by
// cluster (inside a cluster the order is kept). counts (n_nodes x n_clusters): the labels of each cluster, perhaps 0. If
// one cluster would take all labels, they are cut into equal runs instead, so that a tree always ends.
// The result is the same for any number of threads.
void kmeans_nodes(const LabelVectors& vectors, const std::int64_t* first, const std::int64_t* size, const std::int64_t* key,
                  std::int64_t n_nodes, const KmeansOptions& options, std::int32_t* order, std::int64_t* counts);

}  // namespace lw
