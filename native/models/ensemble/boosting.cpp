#include "models/ensemble/boosting.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "levels.hpp"
#include "parallel.hpp"
#include "rng.hpp"

namespace lw {
namespace {

constexpr int kBins = 256;

struct Sums {
    double gradient = 0, curvature = 0;
    std::int64_t n = 0;
};

// The derivatives of an item's loss.
struct Step {
    float gradient, curvature;
};

struct Split {
    double gain = 0;
    std::int32_t feature = -1, bin = 0;
};

// Places of the order.
struct Range {
    std::int64_t begin, end;
    std::int64_t size() const { return end - begin; }
};

// A leaf that may be split: the items that the tree learns from, and the others that come to it.
struct Leaf {
    std::int32_t node;
    Range learnt, others;
    std::vector<Sums> histogram;  // (n_features, kBins)
    Sums total;
    Split best;
};

class Grower {
public:
    Grower(const BinnedItems& items, const BoostingSettings& settings)
        : items_(items), settings_(settings), margin_(items.n_items, settings.base), steps_(items.n_items),
          ordered_(items.n_items), order_(items.n_items), spare_(items.n_items), asked_(items.n_features) {}

    void grow(const BoostedTrees& trees, std::int32_t tree) {
        const std::int64_t offset = static_cast<std::int64_t>(tree) * (2 * settings_.n_leaves - 1);
        parallel_for(items_.n_items, settings_.n_threads, 8192, [&](std::int64_t i, int) {
            const double p = 1 / (1 + std::exp(-margin_[i]));
            const double weight = items_.hits[i] ? 1 : settings_.negative_weight;
            steps_[i] = {static_cast<float>(weight * (p - items_.hits[i])), static_cast<float>(weight * p * (1 - p))};
        });
        const std::int64_t n_learnt = draw(tree);
        std::vector<Leaf> leaves;
        leaves.push_back({0, {0, n_learnt}, {n_learnt, items_.n_items}, {}, {}, {}});
        fill(leaves[0]);
        write(trees, offset, leaves[0]);
        std::int32_t n_nodes = 1;
        while (static_cast<std::int32_t>(leaves.size()) < settings_.n_leaves) {
            std::size_t chosen = 0;
            for (std::size_t l = 1; l < leaves.size(); ++l)
                if (leaves[l].best.gain > leaves[chosen].best.gain) chosen = l;
            if (leaves[chosen].best.feature < 0) break;
            check_interrupt();
            Leaf parent = std::move(leaves[chosen]);
            const std::int64_t middle = divide(parent.learnt, parent.best), others = divide(parent.others, parent.best);
            trees.feature[offset + parent.node] = parent.best.feature;
            trees.bin[offset + parent.node] = parent.best.bin;
            trees.left[offset + parent.node] = n_nodes;
            Leaf left{n_nodes, {parent.learnt.begin, middle}, {parent.others.begin, others}, {}, {}, {}};
            Leaf right{n_nodes + 1, {middle, parent.learnt.end}, {others, parent.others.end}, {}, {}, {}};
            n_nodes += 2;
            // The histogram of the larger child is what the smaller one leaves of the parent's.
            Leaf& small = left.learnt.size() <= right.learnt.size() ? left : right;
            Leaf& large = &small == &left ? right : left;
            fill(small);
            large.histogram = std::move(parent.histogram);
            for (std::size_t b = 0; b < large.histogram.size(); ++b) {
                large.histogram[b].gradient -= small.histogram[b].gradient;
                large.histogram[b].curvature -= small.histogram[b].curvature;
                large.histogram[b].n -= small.histogram[b].n;
            }
            large.total = {parent.total.gradient - small.total.gradient, parent.total.curvature - small.total.curvature,
                           parent.total.n - small.total.n};
            search(large);
            write(trees, offset, left);
            write(trees, offset, right);
            leaves[chosen] = std::move(left);
            leaves.push_back(std::move(right));
        }
        for (const Leaf& leaf : leaves) {
            const double step = trees.value[offset + leaf.node];
            for (const Range& range : {leaf.learnt, leaf.others})
                for (std::int64_t i = range.begin; i < range.end; ++i) margin_[order_[i]] += step;
        }
    }

private:
    // Draws the features that a tree may ask and the items that it learns from: these come first in the order, both kinds
    // rising. Gives back how many they are.
    std::int64_t draw(std::int32_t tree) {
        Rng random(settings_.seed, static_cast<std::uint64_t>(tree));
        std::vector<std::int32_t> features(asked_.size());
        std::iota(features.begin(), features.end(), 0);
        random.shuffle(features.data(), static_cast<std::uint32_t>(features.size()));
        const auto n_asked = std::max<std::size_t>(1, static_cast<std::size_t>(std::ceil(settings_.feature_share * static_cast<double>(features.size()))));
        for (std::size_t i = 0; i < features.size(); ++i) asked_[features[i]] = i < n_asked;
        std::int64_t n_learnt = 0, n_others = 0;
        for (std::int64_t i = 0; i < items_.n_items; ++i) {
            if (settings_.item_share >= 1 || random.uniform() < settings_.item_share) {
                order_[n_learnt++] = static_cast<std::int32_t>(i);
            } else {
                spare_[n_others++] = static_cast<std::int32_t>(i);
            }
        }
        std::copy(spare_.begin(), spare_.begin() + n_others, order_.begin() + n_learnt);
        return n_learnt;
    }

    // The histogram of a leaf by adding up its items, one feature a task: the sums do not depend on the threads.
    void fill(Leaf& leaf) {
        leaf.histogram.assign(static_cast<std::size_t>(items_.n_features) * kBins, {});
        // Brought into the leaf's order once, not for every feature.
        const auto [begin, end] = leaf.learnt;
        for (std::int64_t i = begin; i < end; ++i) {
            const Step step = ordered_[i] = steps_[order_[i]];
            leaf.total.gradient += step.gradient;
            leaf.total.curvature += step.curvature;
        }
        leaf.total.n = leaf.learnt.size();
        parallel_for(items_.n_features, settings_.n_threads, 1, [&](std::int64_t f, int) {
            if (!asked_[f]) return;
            Sums* sums = leaf.histogram.data() + f * kBins;
            const std::uint8_t* bins = items_.bins + f * items_.n_items;
            for (std::int64_t i = leaf.learnt.begin; i < leaf.learnt.end; ++i) {
                Sums& sum = sums[bins[order_[i]]];
                sum.gradient += ordered_[i].gradient;
                sum.curvature += ordered_[i].curvature;
                ++sum.n;
            }
        });
        search(leaf);
    }

    void search(Leaf& leaf) const {
        leaf.best = {};
        const double whole = worth(leaf.total);
        for (std::int32_t f = 0; f < items_.n_features; ++f) {
            if (!asked_[f]) continue;
            const Sums* sums = leaf.histogram.data() + static_cast<std::size_t>(f) * kBins;
            Sums left, right;
            for (std::int32_t b = 0; b + 1 < items_.n_bins[f]; ++b) {
                left.gradient += sums[b].gradient;
                left.curvature += sums[b].curvature;
                left.n += sums[b].n;
                if (left.n < settings_.min_items) continue;
                if (leaf.total.n - left.n < settings_.min_items) break;
                right = {leaf.total.gradient - left.gradient, leaf.total.curvature - left.curvature, leaf.total.n - left.n};
                const double gain = worth(left) + worth(right) - whole;
                if (gain > leaf.best.gain + 1e-6) leaf.best = {gain, f, b};
            }
        }
    }

    double worth(const Sums& sums) const { return sums.gradient * sums.gradient / (std::max(sums.curvature, 0.0) + settings_.ridge); }

    void write(const BoostedTrees& trees, std::int64_t offset, const Leaf& leaf) const {
        trees.feature[offset + leaf.node] = -1;
        trees.bin[offset + leaf.node] = 0;
        trees.left[offset + leaf.node] = 0;
        const double step = -leaf.total.gradient / (std::max(leaf.total.curvature, 0.0) + settings_.ridge);
        trees.value[offset + leaf.node] = static_cast<float>(settings_.rate * step);
    }

    // Items of the left child first, both in their order; gives back where the right ones begin.
    std::int64_t divide(const Range& range, const Split& split) {
        const std::uint8_t* bins = items_.bins + static_cast<std::int64_t>(split.feature) * items_.n_items;
        std::int64_t left = range.begin, right = 0;
        for (std::int64_t i = range.begin; i < range.end; ++i) {
            const std::int32_t item = order_[i];
            if (bins[item] <= split.bin) {
                order_[left++] = item;
            } else {
                spare_[right++] = item;
            }
        }
        std::copy(spare_.begin(), spare_.begin() + right, order_.begin() + left);
        return left;
    }

    const BinnedItems& items_;
    const BoostingSettings& settings_;
    std::vector<double> margin_;
    std::vector<Step> steps_, ordered_;
    std::vector<std::int32_t> order_, spare_;
    std::vector<std::uint8_t> asked_;  // 1 for the features that the tree may ask
};

}  // namespace

void train_boosting(const BinnedItems& items, const BoostingSettings& settings, const BoostedTrees& trees) {
    Grower grower(items, settings);
    for (std::int32_t tree = 0; tree < settings.n_trees; ++tree) grower.grow(trees, tree);
}

QuickTrees::QuickTrees(const FlatTrees& trees, double base)
    : n_trees_(static_cast<std::size_t>(trees.n_trees)), n_nodes_(trees.n_nodes), base_(base) {
    if (mask(trees)) return;
    nodes_.resize(n_trees_ * static_cast<std::size_t>(n_nodes_));
    values_.assign(trees.value, trees.value + nodes_.size());
    depths_.resize(n_trees_);
    std::vector<std::int32_t> depth(trees.n_nodes);
    for (std::int32_t tree = 0; tree < trees.n_trees; ++tree) {
        std::fill(depth.begin(), depth.end(), 0);
        for (std::int32_t node = 0; node < trees.n_nodes; ++node) {
            const std::size_t place = static_cast<std::size_t>(tree) * trees.n_nodes + node;
            if (trees.feature[place] < 0) {
                nodes_[place] = {std::numeric_limits<float>::infinity(), 0, static_cast<std::int16_t>(node)};
                continue;
            }
            const std::int32_t left = trees.left[place];
            nodes_[place] = {trees.threshold[place], static_cast<std::int16_t>(trees.feature[place]), static_cast<std::int16_t>(left)};
            depth[left] = depth[left + 1] = std::max(depth[left], depth[node] + 1);  // children stand behind their parents
            depths_[tree] = std::max(depths_[tree], depth[left]);
        }
    }
}

// Fills the masks; false if a tree has too many leaves.
bool QuickTrees::mask(const FlatTrees& trees) {
    if (n_nodes_ > 2 * kMostLeaves - 1) return false;
    first_masked_.assign(1, 0);
    leaves_.assign(n_trees_ * kMostLeaves, 0.0f);
    for (std::int64_t tree = 0; tree < trees.n_trees; ++tree) {
        std::int32_t n_leaves = 0;
        mask_below(trees, tree * n_nodes_, tree * n_nodes_, n_leaves);
        if (n_leaves > kMostLeaves) {
            return false;  // nodes that several lead to
        }
        first_masked_.push_back(static_cast<std::int32_t>(masked_.size()));
    }
    return true;
}

// The leaves under a node as bits; goes no further when there are too many.
std::uint32_t QuickTrees::mask_below(const FlatTrees& trees, std::int64_t place, std::int64_t root, std::int32_t& n_leaves) {
    if (n_leaves > kMostLeaves) return 0;
    if (trees.feature[place] < 0) {
        if (n_leaves < kMostLeaves) leaves_[root / n_nodes_ * kMostLeaves + n_leaves] = trees.value[place];
        return n_leaves < kMostLeaves ? 1u << n_leaves++ : (++n_leaves, 0u);
    }
    const std::size_t number = masked_.size();
    masked_.push_back({trees.threshold[place], trees.feature[place], 0});
    const std::uint32_t left = mask_below(trees, root + trees.left[place], root, n_leaves);
    masked_[number].left_leaves = left;
    return left | mask_below(trees, root + trees.left[place] + 1, root, n_leaves);
}

void QuickTrees::margins(const float* features, std::int64_t n_items, std::int32_t n_features, float* margins) const {
    std::vector<std::int32_t> items(static_cast<std::size_t>(n_items));
    std::iota(items.begin(), items.end(), 0);
    std::vector<double> sums(items.size(), base_);
    add(features, items.data(), n_items, n_features, 0, n_trees_, sums.data());
    std::transform(sums.begin(), sums.end(), margins, [](double sum) { return static_cast<float>(sum); });
}

void QuickTrees::add(const float* features, const std::int32_t* items, std::int64_t n_items, std::int32_t n_features, std::size_t begin_tree,
                     std::size_t end_tree, double* sums) const {
    double added[kItemsAtOnce];
    const float* rows[kItemsAtOnce];
    std::vector<float> columns(nodes_.empty() ? static_cast<std::size_t>(n_features) * kItemsAtOnce : 0);
    for (std::int64_t begin = 0; begin < n_items; begin += kItemsAtOnce) {
        const std::int64_t n = std::min<std::int64_t>(kItemsAtOnce, n_items - begin);
        for (std::int64_t i = 0; i < kItemsAtOnce; ++i) {
            const std::int32_t item = items[begin + std::min(i, n - 1)];
            rows[i] = features + static_cast<std::int64_t>(item) * n_features;
            added[i] = sums[item];
        }
        if (nodes_.empty()) {
            for (std::int64_t i = 0; i < kItemsAtOnce; ++i)
                for (std::int32_t f = 0; f < n_features; ++f) columns[static_cast<std::size_t>(f * kItemsAtOnce + i)] = rows[i][f];
            kernels().add_masked_trees({masked_.data(), first_masked_.data(), leaves_.data()}, static_cast<std::int64_t>(begin_tree),
                                       static_cast<std::int64_t>(end_tree), columns.data(), added);
        } else {
            walk(rows, begin_tree, end_tree, added);
        }
        for (std::int64_t i = 0; i < n; ++i) sums[items[begin + i]] = added[i];
    }
}

void QuickTrees::walk(const float* const* rows, std::size_t begin, std::size_t end, double* added) const {
    std::int32_t at[kItemsAtOnce];
    for (std::size_t tree = begin; tree < end; ++tree) {
        const Node* nodes = nodes_.data() + tree * n_nodes_;
        const float* values = values_.data() + tree * n_nodes_;
        std::fill(at, at + kItemsAtOnce, 0);
        for (std::int32_t level = 0; level < depths_[tree]; ++level) {
            for (std::int64_t i = 0; i < kItemsAtOnce; ++i) {
                const Node node = nodes[at[i]];
                at[i] = node.left + (rows[i][node.feature] > node.threshold);
            }
        }
        for (std::int64_t i = 0; i < kItemsAtOnce; ++i) added[i] += values[at[i]];
    }
}

}  // namespace lw
