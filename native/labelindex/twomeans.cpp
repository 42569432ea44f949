#include "labelindex/twomeans.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

#include "labelindex/node_rows.hpp"
#include "parallel.hpp"
#include "rng.hpp"

namespace lw {
namespace {

// A node this large is split by all threads together; its sums are made in this many pieces, always in the same order,
// so the number of threads cannot change a bit of the result.
constexpr std::int64_t kLargeNode = 8192;
constexpr std::int64_t kPiecesOfSum = 8;
constexpr std::int64_t kRowsPerTask = 512;
constexpr std::uint32_t kSampleStep = 8;
constexpr std::int64_t kLabelsForThreads = 2048;  // a level with fewer is done before the threads are awake
constexpr double kHalf = 0.5 - 1e-12;      // cumulative weights are sums of up to millions of doubles
constexpr double kUndecided = 1e-6;        // |alpha| of the middle label below which rounding follows its ratio
constexpr double kVanishing = 1e-10;       // a side whose sum is this small beside the total has only zero vectors

// The pieces' sums cost 2 * kPiecesOfSum * n_columns an iteration: worth it only beside many more non-zeros.
inline bool is_large(std::int64_t n_labels, std::int64_t nnz, std::int32_t n_columns) {
    return n_labels >= kLargeNode && nnz > 2 * kPiecesOfSum * n_columns;
}

struct Candidate {
    double ratio;
    double weight;
    std::int32_t label;
};

inline bool goes_first(double ratio_a, std::int32_t label_a, double ratio_b, std::int32_t label_b) {
    return ratio_a > ratio_b || (ratio_a == ratio_b && label_a < label_b);
}

// Ascending order of these keys is: larger score first, then smaller label.
inline std::uint64_t balanced_key(float score, std::int32_t label) {
    const float positive_zero = score + 0.0f;
    std::uint32_t bits;
    std::memcpy(&bits, &positive_zero, 4);
    bits = (bits & 0x80000000u) ? bits : ~bits & 0x7fffffffu;
    return (static_cast<std::uint64_t>(bits) << 32) | static_cast<std::uint32_t>(label);
}

// Where the first child, filled in the order of ratios, reaches half of the weight.
struct Middle {
    double ratio;
    double alpha;  // in [-1, 1]: the part of the middle label that makes both halves exactly equal
    std::int64_t position;
    std::int32_t label;
};

// Weighted selection by halving: linear time, where a sort would cost as much as the scores at 500K labels.
Middle find_middle(std::vector<Candidate>& candidates) {
    const auto order = [](const Candidate& a, const Candidate& b) { return goes_first(a.ratio, a.label, b.ratio, b.label); };
    std::int64_t low = 0, high = static_cast<std::int64_t>(candidates.size());
    double before = 0;
    while (high - low > 1) {
        const std::int64_t middle = low + (high - low) / 2;
        std::nth_element(candidates.begin() + low, candidates.begin() + middle, candidates.begin() + high, order);
        double sum = 0;
        for (std::int64_t i = low; i < middle; ++i) sum += candidates[i].weight;
        if (before + sum >= kHalf) {
            high = middle;
        } else {
            before += sum;
            low = middle;
        }
    }
    const Candidate& at = candidates[low];
    const double alpha = at.weight > 0 ? std::clamp((1 - 2 * before) / at.weight - 1, -1.0, 1.0) : -1.0;
    return {at.ratio, alpha, low, at.label};
}

// The state of one split. Reused from node to node, so that memory is asked for once a thread.
class TwoMeans {
public:
    TwoMeans(const LabelVectors& vectors, const double* frequencies, const double* cover, const SplitOptions& options)
        : v_(vectors), frequencies_(frequencies), cover_(cover), options_(options) {}

    // n_threads > 1 only for large nodes; `large` decides the order of sums and must not depend on n_threads.
    std::int64_t split(std::int32_t* labels, std::int64_t m, std::int64_t want_left, std::uint64_t key, bool large,
                       int n_threads, double* objective) {
        prepare(labels, m, large, n_threads);
        start_centres(want_left, key);
        alternate(want_left);
        *objective = best_objective_;
        return reorder();
    }

private:
    void prepare(std::int32_t* labels, std::int64_t m, bool large, int n_threads) {
        labels_ = labels;
        m_ = m;
        n_threads_ = n_threads;
        pieces_ = large ? kPiecesOfSum : 1;
        make_weights();
        if (large) {
            rows_.view(v_, labels, m);
        } else {
            rows_.take(v_, labels, m);
        }
        n_local_ = rows_.n_features();
        start_sums();
    }

    const LabelVectors& v_;
    const double* frequencies_;
    const double* cover_;
    const SplitOptions& options_;

    std::int32_t* labels_ = nullptr;
    std::int64_t m_ = 0;
    std::int64_t pieces_ = 1;
    int n_threads_ = 1;

    NodeRows rows_;
    std::int32_t n_local_ = 0;  // features of rows_
    std::vector<double> weight_;               // w_l, sums to 1
    std::vector<double> share_, best_, next_;  // (1 + alpha_l) / 2: how much of the label is in the first child
    std::vector<float> score_;                 // v_l . (mu+ - mu-)
    std::vector<double> total_, plus_;         // sum of w v over all labels, and over the first child
    std::vector<double> pieces_of_sum_;
    std::vector<float> mu_plus_, mu_minus_, difference_;
    std::vector<Candidate> candidates_;
    std::vector<std::uint64_t> keys_;
    std::vector<std::int32_t> reordered_;
    std::unique_ptr<TwoMeans> sampler_;
    double best_objective_ = 0;
    std::int64_t middle_ = -1, best_middle_ = -1;          // the label that may be fractional
    double middle_rounded_ = 0, best_middle_rounded_ = 0;  // its share after rounding

    // w_l = (frequency f_l^e + cover f~_l + gamma / m) / normaliser, with f and f~ made to sum to 1 inside the node.
    void make_weights() {
        weight_.assign(m_, 1.0 / static_cast<double>(m_));
        if (!options_.weighted) return;
        double f_sum = 0, cover_sum = 0;
        for (std::int64_t i = 0; i < m_; ++i) {
            f_sum += frequencies_[labels_[i]];
            cover_sum += cover_[labels_[i]];
        }
        // A node whose labels have no frequency (or cover frequency) loses that term, above and below the bar.
        const double f_scale = f_sum > 0 ? 1 / f_sum : 0;
        const double cover_scale = cover_sum > 0 ? options_.cover / cover_sum : 0;
        double sum = 0;
        for (std::int64_t i = 0; i < m_; ++i) {
            const double f = frequencies_[labels_[i]] * f_scale;
            double power = f;
            if (options_.exponent == 0) {
                power = 1.0 / static_cast<double>(m_);  // all equal, whatever f (0^0 = 1)
            } else if (options_.exponent != 1 && f > 0) {
                power = std::pow(f, options_.exponent);
            }
            weight_[i] = options_.frequency * power + cover_scale * cover_[labels_[i]] +
                         options_.smoothing / static_cast<double>(m_);
            sum += weight_[i];
        }
        for (std::int64_t i = 0; i < m_; ++i) weight_[i] = sum > 0 ? weight_[i] / sum : 1.0 / static_cast<double>(m_);
    }

    // sum += factor(i) * row i over all rows with a factor: piece by piece for large nodes.
    template <class Factor>
    void add_rows(std::vector<double>& sum, const Factor& factor) {
        if (pieces_ == 1) {
            Pulse pulse;
            for (std::int64_t i = 0; i < m_; ++i) {
                const double f = factor(i);
                pulse.beat();
                if (f != 0) rows_.add(i, f, sum.data());
            }
            return;
        }
        const std::int64_t per_piece = (m_ + pieces_ - 1) / pieces_;
        pieces_of_sum_.resize(static_cast<std::size_t>(pieces_) * n_local_);
        parallel_for(pieces_, n_threads_, 1, [&](std::int64_t piece, int) {
            double* own = pieces_of_sum_.data() + piece * n_local_;
            std::fill(own, own + n_local_, 0.0);
            const std::int64_t end = std::min(m_, (piece + 1) * per_piece);
            Pulse pulse;
            for (std::int64_t i = piece * per_piece; i < end; ++i) {
                const double f = factor(i);
                pulse.beat();
                if (f != 0) rows_.add(i, f, own);
            }
        });
        for (std::int64_t piece = 0; piece < pieces_; ++piece) {
            const double* own = pieces_of_sum_.data() + piece * n_local_;
            for (std::int32_t j = 0; j < n_local_; ++j) sum[j] += own[j];
        }
    }

    void start_sums() {
        plus_.assign(n_local_, 0.0);
        total_.assign(n_local_, 0.0);
        share_.assign(m_, 0.0);
        next_.resize(m_);
        score_.assign(m_, 0.0f);
        if (options_.similarity > 0) add_rows(total_, [&](std::int64_t i) { return weight_[i]; });
    }

    // Two distinct random members are the first centres; large nodes go on to the centres of a sample of their labels,
    // which leaves two or three iterations over all labels instead of eight or more.
    void start_centres(std::int64_t want_left, std::uint64_t key) {
        Rng rng(options_.seed, key);
        const auto a = rng.below(static_cast<std::uint32_t>(m_));
        auto b = rng.below(static_cast<std::uint32_t>(m_ - 1));
        if (b >= a) ++b;
        mu_plus_.assign(n_local_, 0.0f);
        mu_minus_.assign(n_local_, 0.0f);
        if (pieces_ > 1) {
            centres_of_sample(want_left, key, rng.below(kSampleStep));
        } else {
            for (std::int64_t p = 0; p < rows_.size(a); ++p) mu_plus_[rows_.columns(a)[p]] = rows_.values(a)[p];
            for (std::int64_t p = 0; p < rows_.size(b); ++p) mu_minus_[rows_.columns(b)[p]] = rows_.values(b)[p];
        }
        difference_.resize(n_local_);
        for (std::int32_t j = 0; j < n_local_; ++j) difference_[j] = mu_plus_[j] - mu_minus_[j];
    }

    void centres_of_sample(std::int64_t want_left, std::uint64_t key, std::uint32_t offset) {
        std::vector<std::int32_t> sample;
        std::int64_t nnz = 0;
        for (std::int64_t i = offset; i < m_; i += kSampleStep) {
            sample.push_back(labels_[i]);
            nnz += rows_.size(i);
        }
        if (!sampler_) sampler_ = std::make_unique<TwoMeans>(v_, frequencies_, cover_, options_);
        TwoMeans& of = *sampler_;
        const auto size = static_cast<std::int64_t>(sample.size());
        const bool large = is_large(size, nnz, v_.n_columns());
        if (want_left > 0) want_left = std::clamp<std::int64_t>(want_left / kSampleStep, 1, size - 1);
        of.prepare(sample.data(), size, large, n_threads_);
        of.start_centres(want_left, key);
        of.alternate(want_left);
        for (std::int32_t j = 0; j < of.n_local_; ++j) {
            const std::int32_t column = of.rows_.column_of(j);
            mu_plus_[column] = of.mu_plus_[j];
            mu_minus_[column] = of.mu_minus_[j];
        }
    }

    void alternate(std::int64_t want_left) {
        double previous = -1e300;
        best_objective_ = -1e300;
        for (int iteration = 0; iteration < options_.max_iterations; ++iteration) {
            if (options_.similarity > 0) make_scores();
            if (options_.weighted) {
                assign_by_weight();
            } else {
                assign_by_count(want_left);
            }
            const bool repeated = iteration > 0 && next_ == share_;
            if (repeated) break;
            const double value = move_centres();
            if (value > best_objective_) {
                best_objective_ = value;
                best_ = share_;
                best_middle_ = middle_;
                best_middle_rounded_ = middle_rounded_;
            }
            if (options_.similarity <= 0 || value - previous <= options_.tolerance * options_.similarity) break;
            previous = value;
        }
        if (options_.weighted) best_[best_middle_] = best_middle_rounded_;
    }

    void make_scores() {
        const auto score_row = [&](std::int64_t i) { score_[i] = rows_.dot(i, difference_.data()); };
        if (pieces_ == 1) {
            Pulse pulse;
            for (std::int64_t i = 0; i < m_; ++i) {
                pulse.beat();
                score_row(i);
            }
            return;
        }
        const std::int64_t n_tasks = (m_ + kRowsPerTask - 1) / kRowsPerTask;
        parallel_for(n_tasks, n_threads_, 1, [&](std::int64_t task, int) {
            const std::int64_t end = std::min(m_, (task + 1) * kRowsPerTask);
            for (std::int64_t i = task * kRowsPerTask; i < end; ++i) score_row(i);
        });
    }

    // The labels of largest score to the first child; of an odd number, the middle one goes there if its score is positive.
    void assign_by_count(std::int64_t want_left) {
        keys_.resize(m_);
        for (std::int64_t i = 0; i < m_; ++i) keys_[i] = balanced_key(score_[i], labels_[i]);
        const std::int64_t left = want_left > 0 ? want_left : m_ / 2;
        std::nth_element(keys_.begin(), keys_.begin() + left, keys_.end());
        std::uint64_t first_right = keys_[left];
        if (want_left <= 0 && m_ % 2 == 1 && first_right < balanced_key(0.0f, 0)) ++first_right;
        for (std::int64_t i = 0; i < m_; ++i) {
            next_[i] = balanced_key(score_[i], labels_[i]) < first_right ? 1.0 : 0.0;
        }
    }

    void assign_by_weight() {
        candidates_.resize(m_);
        const double half_similarity = options_.similarity / 2;
        for (std::int64_t i = 0; i < m_; ++i) {
            candidates_[i] = {half_similarity * score_[i] + options_.fano * weight_[i], weight_[i], labels_[i]};
        }
        const Middle middle = find_middle(candidates_);
        const double alpha = middle.alpha;
        bool left = options_.round_left || alpha > kUndecided || (alpha >= -kUndecided && middle.ratio > 0);
        if (middle.position == 0) left = true;  // neither child may be empty
        if (middle.position == m_ - 1) left = false;
        middle_rounded_ = left ? 1.0 : 0.0;
        for (std::int64_t i = 0; i < m_; ++i) {
            if (labels_[i] == middle.label) {
                middle_ = i;
                next_[i] = options_.round_each ? middle_rounded_ : (1 + alpha) / 2;
            } else {
                const double ratio = half_similarity * score_[i] + options_.fano * weight_[i];
                next_[i] = goes_first(ratio, labels_[i], middle.ratio, middle.label) ? 1.0 : 0.0;
            }
        }
    }

    // Takes over the new shares, moves both centres to the normalised sums of their labels and returns the objective there.
    double move_centres() {
        double fano = 0;
        if (options_.fano > 0) {
            for (std::int64_t i = 0; i < m_; ++i) fano += (2 * next_[i] - 1) * weight_[i] * weight_[i];
        }
        if (options_.similarity <= 0) {
            share_.swap(next_);
            return options_.fano * fano;
        }
        // Only labels that changed sides are added or taken away: after two or three iterations they are few.
        add_rows(plus_, [&](std::int64_t i) { return weight_[i] * (next_[i] - share_[i]); });
        share_.swap(next_);
        double plus2 = 0, minus2 = 0, total2 = 0;
        for (std::int32_t j = 0; j < n_local_; ++j) {
            const double plus = plus_[j], minus = total_[j] - plus;
            plus2 += plus * plus;
            minus2 += minus * minus;
            total2 += total_[j] * total_[j];
        }
        const double plus_norm = std::sqrt(plus2), minus_norm = std::sqrt(minus2);
        const double vanishing = kVanishing * std::max({std::sqrt(total2), plus_norm, minus_norm});
        if (plus_norm > vanishing) {
            const double scale = 1 / plus_norm;
            for (std::int32_t j = 0; j < n_local_; ++j) mu_plus_[j] = static_cast<float>(plus_[j] * scale);
        }
        if (minus_norm > vanishing) {
            const double scale = 1 / minus_norm;
            for (std::int32_t j = 0; j < n_local_; ++j) mu_minus_[j] = static_cast<float>((total_[j] - plus_[j]) * scale);
        }
        for (std::int32_t j = 0; j < n_local_; ++j) difference_[j] = mu_plus_[j] - mu_minus_[j];
        return options_.similarity * (plus_norm + minus_norm) + options_.fano * fano;
    }

    std::int64_t reorder() {
        reordered_.resize(m_);
        std::int64_t left = 0;
        for (std::int64_t i = 0; i < m_; ++i) left += best_[i] > 0.5;
        std::int64_t to_left = 0, to_right = left;
        for (std::int64_t i = 0; i < m_; ++i) reordered_[best_[i] > 0.5 ? to_left++ : to_right++] = labels_[i];
        std::copy(reordered_.begin(), reordered_.begin() + m_, labels_);
        return left;
    }
};

}  // namespace

void split_nodes(const LabelVectors& vectors, const double* frequencies, const double* cover_frequencies,
                 const SplitNodes& nodes, const SplitOptions& options, std::int32_t* order, std::int64_t* n_left,
                 double* objective) {
    int n_threads = options.n_threads < 1 ? max_threads() : options.n_threads;
    std::vector<std::int64_t> large, small;
    std::int64_t n_labels = 0;
    for (std::int64_t node = 0; node < nodes.n_nodes; ++node) {
        std::int64_t nnz = 0;
        n_labels += nodes.size[node];
        const std::int32_t* labels = order + nodes.first[node];
        if (nodes.size[node] >= kLargeNode) {
            for (std::int64_t i = 0; i < nodes.size[node]; ++i) nnz += vectors.size(labels[i]);
        }
        (is_large(nodes.size[node], nnz, vectors.n_columns()) ? large : small).push_back(node);
    }
    if (n_labels < kLabelsForThreads) n_threads = 1;
    std::vector<TwoMeans> splitters;
    for (int thread = 0; thread < n_threads; ++thread) splitters.emplace_back(vectors, frequencies, cover_frequencies, options);
    const auto split = [&](std::int64_t node, bool is_large, int thread, int threads) {
        n_left[node] = splitters[thread].split(order + nodes.first[node], nodes.size[node], nodes.want_left[node],
                                               static_cast<std::uint64_t>(nodes.key[node]), is_large, threads,
                                               objective + node);
    };
    for (const std::int64_t node : large) split(node, true, 0, n_threads);
    parallel_for(static_cast<std::int64_t>(small.size()), n_threads, 1,
                 [&](std::int64_t i, int thread) { split(small[i], false, thread, 1); });
}

void halve_by_weight(const double* ratios, const double* weights, std::int64_t n, double* alpha) {
    std::vector<Candidate> candidates(n);
    for (std::int64_t i = 0; i < n; ++i) candidates[i] = {ratios[i], weights[i], static_cast<std::int32_t>(i)};
    const Middle middle = find_middle(candidates);
    for (std::int64_t i = 0; i < n; ++i) {
        alpha[i] = goes_first(ratios[i], static_cast<std::int32_t>(i), middle.ratio, middle.label) ? 1.0 : -1.0;
    }
    alpha[middle.label] = middle.alpha;
}

}  // namespace lw
