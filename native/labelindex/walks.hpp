// DeepWalk (Perozzi et al., KDD 2014): random walks over a graph, and vectors of its nodes by skip-gram with negative samples.
#pragma once
#include <cstdint>

namespace lw {

// An undirected graph in CSR form; cumulative[p] is the sum of the weights of its row up to and including entry p.
struct WeightedGraph {
    const std::int64_t* starts = nullptr;
    const std::int32_t* neighbors = nullptr;
    const double* cumulative = nullptr;
    std::int64_t n_nodes = 0;
};

// walks (n_nodes * n_walks x length): walk w of node v is row v * n_walks + w and begins at v; a node without neighbours ends
// it, and the rest of the row is -1. Every walk has its own random numbers: the same for any number of threads.
void random_walks(const WeightedGraph& graph, std::int32_t n_walks, std::int32_t length, std::uint64_t seed, int n_threads,
                  std::int32_t* walks);

struct SkipGramOptions {
    std::int32_t dim = 100;
    std::int32_t window = 5;
    std::int32_t negatives = 5;
    std::int32_t epochs = 1;
    float learning_rate = 0.025f;
    std::uint64_t seed = 0;
};

// Trains vectors (n_nodes x dim), which hold their starting values, on walks (n_walks x length); contexts (n_nodes x dim)
// starts at 0. negative_cumulative (n_nodes): sums of the weights with which negatives are drawn. One thread, one order:
// the same bytes every time.
void skip_gram(const std::int32_t* walks, std::int64_t n_walks, std::int32_t length, const double* negative_cumulative,
               std::int64_t n_nodes, const SkipGramOptions& options, float* vectors, float* contexts);

}  // namespace lw
