// FastXML's nodes: rankings and sides in turn until no row changes its side, then a sparse separator of the sides.
#include "models/baselines/row_forest.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "parallel.hpp"
#include "rng.hpp"
#include "topk.hpp"

namespace lw {
namespace {

constexpr int kMostRankings = 50;
constexpr int kMostHalvings = 20;
constexpr double kSufficient = 0.01;  // of the promised decrease, for a step to be taken
constexpr double kLargestMargin = 500;

double log_loss(double margin) { return margin > 0 ? std::log1p(std::exp(-margin)) : std::log1p(std::exp(margin)) - margin; }

double chance_of_error(double margin) {  // 1 / (1 + e^m)
    if (margin > 0) {
        const double e = std::exp(-margin);
        return e / (1 + e);
    }
    return 1 / (1 + std::exp(margin));
}

double clipped(double margin) { return std::clamp(margin, -kLargestMargin, kLargestMargin); }

}  // namespace

RowSplitter::RowSplitter(SparseRows x, SparsePattern y, const float* label_weights, RowSplitSettings settings)
    : x_(x), y_(y), label_weights_(label_weights), settings_(settings),
      local_(static_cast<std::size_t>(std::max(x.n_columns + 1, y.n_columns)), -1) {}

std::int32_t RowSplitter::split(const std::int32_t* rows, std::int32_t n_rows, std::uint64_t seed, std::uint8_t* sides,
                                std::int32_t* columns, float* weights) {
    rank(rows, n_rows, seed, sides);
    gather(rows, n_rows);
    separate(n_rows, seed, sides);
    std::int32_t n_weights = 0;
    for (std::size_t f = 0; f < features_.size(); ++f) {
        const float weight = static_cast<float>(weights_[f]);
        if (weight == 0.0f) continue;
        columns[n_weights] = features_[f];
        weights[n_weights++] = weight;
    }
    // The sides as those who ask will get them: from the stored weights, in their order.
    std::fill(margins_.begin(), margins_.end(), 0.0);
    for (std::size_t f = 0; f < features_.size(); ++f) {
        const float weight = static_cast<float>(weights_[f]);
        if (weight == 0.0f) continue;
        for (std::int64_t e = starts_[f]; e < starts_[f + 1]; ++e)
            margins_[static_cast<std::size_t>(entry_rows_[static_cast<std::size_t>(e)])] +=
                static_cast<double>(weight) * entry_values_[static_cast<std::size_t>(e)];
    }
    for (std::int32_t i = 0; i < n_rows; ++i) sides[i] = margins_[static_cast<std::size_t>(i)] > 0;
    return n_weights;
}

// Each side has a ranking of the labels, the one with the most gain for its rows; a row goes where its gain is larger.
void RowSplitter::rank(const std::int32_t* rows, std::int32_t n_rows, std::uint64_t seed, std::uint8_t* sides) {
    Rng rng(seed, 0);
    for (std::int32_t i = 0; i < n_rows; ++i) sides[i] = rng.next() >> 63;
    std::vector<std::int32_t> present;
    std::vector<double> norm(static_cast<std::size_t>(n_rows));
    for (std::int32_t i = 0; i < n_rows; ++i) {
        double ideal = 0;
        for (std::int64_t e = y_.starts[rows[i]]; e < y_.starts[rows[i] + 1]; ++e) {
            ideal += 1 / std::log(2.0 + static_cast<double>(e - y_.starts[rows[i]]));
            auto& place = local_[static_cast<std::size_t>(y_.columns[e])];
            if (place < 0) {
                place = static_cast<std::int32_t>(present.size());
                present.push_back(y_.columns[e]);
            }
        }
        norm[static_cast<std::size_t>(i)] = ideal > 0 ? 1 / ideal : 0;
    }
    std::vector<double> sums[2], gain(present.size());
    std::vector<std::int32_t> order(present.size());
    for (int round = 0; round < kMostRankings; ++round) {
        check_interrupt();
        for (auto& side : sums) side.assign(present.size(), 0.0);
        for (std::int32_t i = 0; i < n_rows; ++i)
            for (std::int64_t e = y_.starts[rows[i]]; e < y_.starts[rows[i] + 1]; ++e)
                sums[sides[i]][static_cast<std::size_t>(local_[static_cast<std::size_t>(y_.columns[e])])] +=
                    norm[static_cast<std::size_t>(i)] * label_weights_[y_.columns[e]];
        std::fill(gain.begin(), gain.end(), 0.0);
        for (int side = 0; side < 2; ++side) {
            std::iota(order.begin(), order.end(), 0);
            std::sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
                const double of_a = sums[side][static_cast<std::size_t>(a)], of_b = sums[side][static_cast<std::size_t>(b)];
                return of_a != of_b ? of_a > of_b : present[static_cast<std::size_t>(a)] < present[static_cast<std::size_t>(b)];
            });
            for (std::size_t place = 0; place < order.size(); ++place) {
                const auto label = static_cast<std::size_t>(order[place]);
                gain[label] += (side ? 1 : -1) / std::log(2.0 + static_cast<double>(place));
            }
        }
        bool changed = false;
        for (std::int32_t i = 0; i < n_rows; ++i) {
            double right = 0;
            for (std::int64_t e = y_.starts[rows[i]]; e < y_.starts[rows[i] + 1]; ++e)
                right += gain[static_cast<std::size_t>(local_[static_cast<std::size_t>(y_.columns[e])])] * label_weights_[y_.columns[e]];
            right *= norm[static_cast<std::size_t>(i)];
            if (std::abs(right) < 1e-9) continue;  // no better here than there: it stays
            const std::uint8_t side = right > 0;
            changed |= side != sides[i];
            sides[i] = side;
        }
        if (!changed) break;
    }
    for (const std::int32_t label : present) local_[static_cast<std::size_t>(label)] = -1;
}

// The node's rows, feature by feature; the last feature is the constant.
void RowSplitter::gather(const std::int32_t* rows, std::int32_t n_rows) {
    features_.clear();
    std::vector<std::int64_t> sizes;
    for (std::int32_t i = 0; i < n_rows; ++i)
        for (std::int64_t e = x_.starts[rows[i]]; e < x_.starts[rows[i] + 1]; ++e) {
            if (x_.values[e] == 0.0f) continue;
            auto& place = local_[static_cast<std::size_t>(x_.columns[e])];
            if (place < 0) {
                place = static_cast<std::int32_t>(features_.size());
                features_.push_back(x_.columns[e]);
                sizes.push_back(0);
            }
            ++sizes[static_cast<std::size_t>(place)];
        }
    features_.push_back(x_.n_columns);
    sizes.push_back(n_rows);
    starts_.assign(sizes.size() + 1, 0);
    std::partial_sum(sizes.begin(), sizes.end(), starts_.begin() + 1);
    entry_rows_.resize(static_cast<std::size_t>(starts_.back()));
    entry_values_.resize(static_cast<std::size_t>(starts_.back()));
    std::vector<std::int64_t> next(starts_.begin(), starts_.end() - 1);
    for (std::int32_t i = 0; i < n_rows; ++i) {
        for (std::int64_t e = x_.starts[rows[i]]; e < x_.starts[rows[i] + 1]; ++e) {
            if (x_.values[e] == 0.0f) continue;
            const auto at = static_cast<std::size_t>(next[static_cast<std::size_t>(local_[static_cast<std::size_t>(x_.columns[e])])]++);
            entry_rows_[at] = i;
            entry_values_[at] = x_.values[e];
        }
        const auto at = static_cast<std::size_t>(next.back()++);
        entry_rows_[at] = i;
        entry_values_[at] = 1;
    }
    for (const std::int32_t feature : features_) local_[static_cast<std::size_t>(feature)] = -1;
}

// min |w|_1 + sum_i cost_i log(1 + exp(-side_i w.x_i)) by coordinate descent with Newton steps and a line search (Yuan,
// Chang, Hsieh and Lin, JMLR 2010, section 4.1.2). The larger side's rows cost less, so that both sides weigh the same.
void RowSplitter::separate(std::int32_t n_rows, std::uint64_t seed, const std::uint8_t* sides) {
    const auto n = static_cast<std::size_t>(n_rows);
    const std::size_t n_features = features_.size();
    const double n_right = static_cast<double>(std::accumulate(sides, sides + n_rows, 0)), n_left = n_rows - n_right;
    weights_.assign(n_features, 0.0);
    margins_.assign(n, 0.0);  // side * w.x
    if (n_right == 0 || n_left == 0) return;
    const double smaller = std::min(n_right, n_left);
    const double costs[2] = {settings_.cost * smaller / n_left, settings_.cost * smaller / n_right};
    chances_.assign(n, 0.5);
    std::vector<std::int32_t> active(n_features);
    std::iota(active.begin(), active.end(), 0);
    double first_violation = -1, largest_before = INFINITY;
    for (std::int32_t pass = 0; pass < settings_.max_passes; ++pass) {
        check_interrupt();
        Rng(seed, 1, static_cast<std::uint64_t>(pass)).shuffle(active.data(), static_cast<std::uint32_t>(active.size()));
        double violation = 0, largest = 0;
        std::size_t kept = 0;
        for (const std::int32_t feature : active) {
            const auto f = static_cast<std::size_t>(feature);
            double slope = 0, bend = 1e-12;
            for (std::int64_t e = starts_[f]; e < starts_[f + 1]; ++e) {
                const auto at = static_cast<std::size_t>(e);
                const auto row = static_cast<std::size_t>(entry_rows_[at]);
                const double value = entry_values_[at], chance = chances_[row], cost = costs[sides[row]];
                slope += cost * value * chance * (sides[row] ? -1 : 1);
                bend += cost * value * value * chance * (1 - chance);
            }
            const double weight = weights_[f], up = slope + 1, down = slope - 1;
            double wrong = 0;
            if (weight == 0) {
                if (up < 0) wrong = -up;
                else if (down > 0) wrong = down;
                else if (up > largest_before / static_cast<double>(n) && down < -largest_before / static_cast<double>(n)) continue;  // out
            } else {
                wrong = std::abs(weight > 0 ? up : down);
            }
            active[kept++] = feature;
            largest = std::max(largest, wrong);
            violation += wrong;
            double step = up <= bend * weight ? -up / bend : down >= bend * weight ? -down / bend : -weight;
            if (std::abs(step) < 1e-12) continue;
            step = std::clamp(step, -10.0, 10.0);
            const double promised = slope * step + std::abs(weight + step) - std::abs(weight);
            double share = 1;
            bool taken = false;
            for (int halving = 0; halving < kMostHalvings && !taken; ++halving) {
                double change = std::abs(weight + share * step) - std::abs(weight);
                for (std::int64_t e = starts_[f]; e < starts_[f + 1]; ++e) {
                    const auto at = static_cast<std::size_t>(e);
                    const auto row = static_cast<std::size_t>(entry_rows_[at]);
                    const double moved = (sides[row] ? 1 : -1) * share * step * entry_values_[at];
                    change += costs[sides[row]] * (log_loss(clipped(margins_[row] + moved)) - log_loss(clipped(margins_[row])));
                }
                taken = change <= kSufficient * share * promised;
                if (!taken) share /= 2;
            }
            if (!taken) continue;
            weights_[f] += share * step;
            for (std::int64_t e = starts_[f]; e < starts_[f + 1]; ++e) {
                const auto at = static_cast<std::size_t>(e);
                const auto row = static_cast<std::size_t>(entry_rows_[at]);
                margins_[row] += (sides[row] ? 1 : -1) * share * step * entry_values_[at];
                chances_[row] = chance_of_error(clipped(margins_[row]));
            }
        }
        active.resize(kept);
        if (first_violation < 0) first_violation = violation;
        if (violation <= settings_.eps * first_violation) {
            if (active.size() == n_features) break;
            active.resize(n_features);  // once more over all, to be sure of those left out
            std::iota(active.begin(), active.end(), 0);
            largest_before = INFINITY;
        } else {
            largest_before = largest;
        }
    }
}

namespace {

// The leaf of a row whose values lie in `dense`, the constant last.
std::int32_t leaf_of(const RowForest& forest, std::int32_t node, const float* dense) {
    while (forest.left[node] >= 0) {
        double margin = 0;
        for (std::int64_t e = forest.weight_starts[node]; e < forest.weight_starts[node + 1]; ++e)
            margin += static_cast<double>(forest.weights[e]) * static_cast<double>(dense[forest.weight_columns[e]]);
        node = forest.left[node] + (margin > 0);
    }
    return node;
}

// body(row, dense values of the row, thread) for every row.
template <class Body>
void with_dense_rows(const RowForest& forest, const SparseRows& rows, int n_threads, Body&& body) {
    if (n_threads < 1) n_threads = max_threads();
    std::vector<std::vector<float>> memories(static_cast<std::size_t>(n_threads));
    parallel_for(rows.n_rows, n_threads, 16, [&](std::int64_t row, int thread) {
        auto& dense = memories[static_cast<std::size_t>(thread)];
        if (dense.empty()) {
            dense.assign(static_cast<std::size_t>(forest.n_features) + 1, 0.0f);
            dense.back() = 1.0f;
        }
        for (std::int64_t e = rows.starts[row]; e < rows.starts[row + 1]; ++e) dense[static_cast<std::size_t>(rows.columns[e])] = rows.values[e];
        body(row, dense.data(), thread);
        for (std::int64_t e = rows.starts[row]; e < rows.starts[row + 1]; ++e) dense[static_cast<std::size_t>(rows.columns[e])] = 0.0f;
    });
}

}  // namespace

void forest_top_k(const RowForest& forest, const SparseRows& rows, std::int32_t k, int n_threads, std::int32_t* labels, float* scores) {
    struct Memory {
        std::vector<double> sums;
        std::vector<std::int32_t> touched;
        std::vector<Scored> found;
    };
    std::vector<Memory> memories(static_cast<std::size_t>(n_threads < 1 ? max_threads() : n_threads));
    with_dense_rows(forest, rows, n_threads, [&](std::int64_t row, const float* dense, int thread) {
        Memory& memory = memories[static_cast<std::size_t>(thread)];
        memory.sums.resize(static_cast<std::size_t>(forest.n_labels), 0.0);
        memory.found.resize(static_cast<std::size_t>(k));
        memory.touched.clear();
        for (std::int32_t tree = 0; tree < forest.n_trees; ++tree) {
            const std::int32_t leaf = leaf_of(forest, forest.roots[tree], dense);
            for (std::int64_t e = forest.label_starts[leaf]; e < forest.label_starts[leaf + 1]; ++e) {
                double& sum = memory.sums[static_cast<std::size_t>(forest.labels[e])];
                if (sum == 0.0) memory.touched.push_back(forest.labels[e]);
                sum += static_cast<double>(forest.shares[e]);
            }
        }
        TopKHeap found(memory.found.data(), k);
        for (const std::int32_t label : memory.touched) {
            double& sum = memory.sums[static_cast<std::size_t>(label)];
            if (sum > 0) found.offer(static_cast<float>(sum / forest.n_trees), label);
            sum = 0.0;
        }
        const std::int32_t n = found.size();
        const Scored* best = found.sorted();
        for (std::int32_t i = 0; i < k; ++i) {
            labels[row * k + i] = i < n ? best[i].label : -1;
            scores[row * k + i] = i < n ? best[i].score : -INFINITY;
        }
    });
}

void forest_leaves(const RowForest& forest, const SparseRows& rows, int n_threads, std::int32_t* leaves) {
    with_dense_rows(forest, rows, n_threads, [&](std::int64_t row, const float* dense, int) {
        for (std::int32_t tree = 0; tree < forest.n_trees; ++tree)
            leaves[row * forest.n_trees + tree] = leaf_of(forest, forest.roots[tree], dense);
    });
}

}  // namespace lw
