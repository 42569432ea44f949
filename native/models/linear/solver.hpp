// Linear classifiers for 16 labels at once by dual coordinate descent: the task, its options and its scratch memory.
//
// All 16 labels share their training rows, so each non-zero of a row touches one cache line of 16 weights; measured 8x
// faster than one label at a time. See Hsieh et al., ICML 2008 (squared hinge), Yu et al., Machine Learning 2011 (logistic).
#pragma once
#include <cstdint>

namespace lw {

inline constexpr int kGroup = 16;

enum class Loss : int { squared_hinge = 0, logistic = 1 };

// Where the solver begins. `cold`: as if no row were positive. `weights`: at given weights, taken as the solution for the
// rows before the first new one; then only what the new rows change is solved.
enum class Start : int { cold = 0, weights = 1 };

// Rows in compact local feature ids 0..n_features-1 and the labels of each row as bits.
struct SolveTask {
    std::int64_t n_rows;
    std::int32_t n_features;
    const std::int64_t* begin;  // where each row begins and ends in indices and data
    const std::int64_t* end;
    const std::int32_t* indices;
    const float* data;
    const float* squares;           // x.x of every row
    const std::uint16_t* positive;  // bit l of entry i: row i has label l
    int n_labels;                   // 1..16
    const std::uint8_t* positive_only = nullptr;  // rows that are no negatives of any label; null: none
    const float* row_cost = nullptr;  // factors of a row's costs, above 0; null: 1
    const float* row_scale = nullptr; // factors of a row's values, which `squares` has already; null: 1
    // The rows that take part, or null: all of them. Those from n_first on wait, with alphas of 0, until the others are solved;
    // then all are looked at, and those that disagree are solved too.
    const std::int32_t* chosen = nullptr;
    std::int64_t n_chosen = 0, n_first = 0;

    std::int64_t n_taking_part() const { return chosen ? n_chosen : n_rows; }
    std::int64_t n_beginning() const { return chosen ? n_first : n_rows; }
    std::int64_t row_at(std::int64_t place) const { return chosen ? chosen[place] : place; }
};

struct SolveOptions {
    Loss loss;
    float eps;       // stop when no projected gradient is larger
    int max_passes;
    float bias;      // value of the constant feature, 0 for none
    float cost_positive[kGroup];
    float cost_negative[kGroup];
    std::uint64_t seed;
    std::uint64_t item;  // which group this is: randomness is keyed by (seed, item, pass)
    Start start = Start::cold;
    std::int64_t first_new = 0;   // from this row on the weights that the solver starts from do not know the rows
    std::uint32_t known = 0;      // bit l: label l has weights to start from
};

// Memory of one thread; weights must be 64-byte aligned, and zero or, unless the start is cold, what to start from.
struct SolveScratch {
    float* weights;        // (n_features + 1) x 16, the last row is the bias
    float* alpha;          // n_rows x 16
    std::int32_t* active;  // n_rows
};

}  // namespace lw
