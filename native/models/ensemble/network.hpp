// A network of one hidden layer for sparse rows: how it learns all labels at once, and how it answers from bytes.
#pragma once
#include <cstdint>
#include <vector>

#include "models/ensemble/byte_table.hpp"
#include "sparse_rows.hpp"
#include "topk.hpp"

namespace lw {

// What the network is made of while it learns: hidden = relu(x first + first_bias), margins = second hidden + second_bias.
struct NetworkWeights {
    float* first;        // (n_features, n_hidden)
    float* first_bias;   // (n_hidden)
    float* second;       // (n_labels, n_hidden)
    float* second_bias;  // (n_labels)
    std::int32_t n_features, n_hidden, n_labels;
};

struct NetworkTraining {
    SparseRows rows;
    SparsePattern labels;
    std::int32_t n_epochs, batch;
    double rate;  // of Adam; falls to nearly 0 along the way
    std::uint64_t seed;
    int n_threads;
};

// The logistic loss of all labels; in every step a random half of the hidden units of each row is left out. Feature weights
// move only when a row of the batch has the feature.
void train_network(const NetworkTraining& training, const NetworkWeights& weights);

// The trained network in bytes, each line of a table times its scale.
struct ByteNetwork {
    ByteTable first;           // (n_features, n_hidden)
    const float* first_scale;
    const float* first_bias;
    ByteTable second;          // (n_hidden, n_labels)
    const float* second_scale;
    const float* second_bias;
};

// Memory for one row after another.
struct NetworkRoom {
    std::vector<float> hidden, margins, values;
    std::vector<std::int32_t> columns;
    std::vector<Scored> best;
};

// The k labels of a row with the largest chances. Columns behind the features (from first.n_rows on) say nothing.
// labels and scores (k): best first, -1 padded.
void ask_network(const ByteNetwork& network, const SparseRows& rows, std::int64_t row, std::int32_t k, NetworkRoom& room,
                 std::int32_t* labels, float* scores);

}  // namespace lw
