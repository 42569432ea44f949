// A trained cluster index at work: sparse rows -> encoder -> clusters -> shortlist -> label classifiers, in one go.
#pragma once
#include <cstdint>
#include <vector>

#include "models/neural/dense_rows.hpp"
#include "models/neural/elias/shortlist.hpp"

namespace lw {

enum class Activation { relu, tanh, none };
enum class Added { nothing, activated, linear };

// z = x table + bias, e = f(z); inside = f(e inner + inner_bias) if there is an inner layer, then inside outer + outer_bias
// if there is an outer one; the vector is inside, plus e (activated) or z (linear) if there is any layer. Absent layers have
// no data.
struct BagLayers {
    DenseTable table, inner, outer;
    const float *bias, *inner_bias, *outer_bias;
    Activation activation;
    Added added;
};

struct IndexParts {
    BagLayers encoder;
    DenseTable clusters;  // dim x n_clusters
    const float* cluster_bias;
    EdgeTable edges;
    const float *label_weight, *label_bias;
    double alpha;
    std::int32_t beam;
};

// Of every row (n_rows x room each): the labels of its shortlist in ascending order (-1 padded), the log of their path
// scores, the logits of their classifiers (0 at padding), and log p = log sigmoid(logit) + log path (-inf at padding).
struct FoundLabels {
    std::int32_t* labels;
    float *log_path, *logits, *log_p;
};

// A row has the same bits alone and in any batch.
void search_rows(const IndexParts& index, std::int64_t n_rows, const std::int64_t* indptr, const std::int32_t* columns, const float* values,
                 std::int64_t room, int n_threads, const FoundLabels& found);

// A binary tree of answers: node n asks whether feature[n] <= threshold[n] and goes to left[n] or left[n] + 1; leaves have
// feature -1 and answer value[n]. Children come after their parents.
struct AnswerTree {
    const std::int32_t* feature;
    const double* threshold;
    const std::int32_t* left;
    const double* value;
};

struct Blend {
    double power_p, power_q, weight;
    AnswerTree tree;  // without data if there is none
};

// The numbers of a pair that an answer tree may ask for: p, q, base, log(1 + count), what others vote.
inline constexpr int kAsked = 5;

// scores[i] = w T(p, q, base, log(1 + count), t) + (1 - w) base with base = p^a q^b, its log not below `lowest`; 0 where log p
// is not finite. log_q may be null (q = 1); voted, what others say of the label, too (t = 0).
void blend_scores(const Blend& blend, std::int64_t n, const float* log_p, const double* log_q, const std::int64_t* counts,
                  const double* voted, double lowest, double* scores);

// What others say of a row: n labels, each once, -1 last, with scores that count `weight`, where the row's own count the rest.
struct Votes {
    double weight;
    std::int64_t n;
    const std::int32_t* labels;
    const float* scores;
};

struct Candidate {
    double score;
    std::int32_t label;
};

struct BlendMemory {
    std::vector<double> log_q, voted, scores;
    std::vector<std::int64_t> counts;
    std::vector<Candidate> found;
};

// The k best labels of a row with `room` labels (rising, -1 last), best first (equal scores: the smaller label), padded by -1
// and -inf. margins: of the ranker, q = exp(-max(0, 1 - margin)^3), or null (q = 1). counts: training rows of every label.
void blend_top(const Blend& blend, std::int64_t room, const std::int32_t* labels, const float* log_p, const float* margins,
               const std::int64_t* counts, double lowest, const Votes& votes, std::int64_t k, BlendMemory& memory,
               std::int32_t* top_labels, float* top_scores);

}  // namespace lw
