// Splits of label sets in two: balanced spherical 2-means (Prabhu et al., Parabel, 2018) and its interpolation with
// Fano coding (lambda in [0, 2]). docs/methods/label-trees.md has the formulas.
#pragma once
#include <cstdint>

#include "labelindex/label_vectors.hpp"

namespace lw {

struct SplitOptions {
    bool weighted = false;    // false: halves by count; true: halves by weight
    double similarity = 2;    // 2 - lambda: the weight of the similarity term
    double exponent = 0;      // e of f^e in the label weights; 0: 1/m for each of m labels
    double frequency = 0;     // factor of f^e
    double cover = 0;         // factor of the cover frequency
    double smoothing = 0;     // gamma
    double fano = 0;          // factor of alpha * w^2 in the objective
    bool round_each = true;   // round the fractional label in every iteration; false: only at the end
    bool round_left = false;  // the fractional label always goes to the first child; false: to the nearer side
    int max_iterations = 20;
    double tolerance = 1e-4;  // stop when the objective gains less than tolerance * similarity
    std::uint64_t seed = 0;
    int n_threads = 1;
};

// The nodes of one level: node i holds order[first[i]] .. order[first[i] + size[i] - 1]. Its labels are reordered so
// that the first n_left[i] of them are the first child; the relative order inside both children is kept.
// want_left[i] >= 1 asks for exactly so many labels (unweighted only), -1 for halves. key[i] selects the randomness.
struct SplitNodes {
    const std::int64_t* first;
    const std::int64_t* size;  // 2 or more
    const std::int64_t* want_left;
    const std::int64_t* key;
    std::int64_t n_nodes;
};

// frequencies and cover_frequencies (n_rows each, not negative) are read only if `weighted`.
// objective: the value of each chosen split. The result is the same for any number of threads.
void split_nodes(const LabelVectors& vectors, const double* frequencies, const double* cover_frequencies,
                 const SplitNodes& nodes, const SplitOptions& options, std::int32_t* order, std::int64_t* n_left,
                 double* objective);

// One assignment step alone: alpha in [-1, 1] maximising sum(alpha w ratio) with sum(alpha w) = 0, where w sums to 1.
void halve_by_weight(const double* ratios, const double* weights, std::int64_t n, double* alpha);

}  // namespace lw
