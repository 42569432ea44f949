// Boosted trees for Python.
#include <stdexcept>

#include "bind/bind.hpp"
#include "models/ensemble/boosting.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace lw {
namespace {

void need(bool fits, const char* what) {
    if (!fits) throw std::invalid_argument(what);
}

// Every node leads to nodes behind it within its tree, so that a walk ends.
void check_trees(const FlatTrees& trees, std::int32_t n_features) {
    for (std::int64_t tree = 0; tree < trees.n_trees; ++tree) {
        for (std::int32_t node = 0; node < trees.n_nodes; ++node) {
            const std::int64_t place = tree * trees.n_nodes + node;
            if (trees.feature[place] < 0) continue;
            need(trees.feature[place] < n_features, "a node asks for a feature that is not there");
            need(trees.left[place] > node && trees.left[place] + 1 < trees.n_nodes, "a node leads outside its tree");
        }
    }
}

}  // namespace

void bind_boosting(nb::module_& m) {
    m.def(
        "train_boosting",
        [](In2<std::uint8_t> bins, In<std::int32_t> n_bins, In<std::uint8_t> hits, std::int64_t min_items, double rate,
           double ridge, double base, int n_threads, Out2<std::int32_t> feature, Out2<std::int32_t> bin,
           Out2<std::int32_t> left, Out2<float> value) {
            const std::size_t n_features = bins.shape(0), n_items = bins.shape(1);
            need(n_items >= 1 && n_items <= INT32_MAX && hits.shape(0) == n_items, "one hit an item");
            need(n_features >= 1 && n_bins.shape(0) == n_features, "one number of bins a feature");
            for (std::size_t f = 0; f < n_features; ++f) {
                need(n_bins.data()[f] >= 1 && n_bins.data()[f] <= 256, "a feature has 1 to 256 bins");
                for (std::size_t i = 0; i < n_items; ++i)
                    need(bins.data()[f * n_items + i] < n_bins.data()[f], "an item is outside the bins");
            }
            const std::size_t n_trees = feature.shape(0), n_nodes = feature.shape(1);
            need(n_nodes % 2 == 1 && bin.shape(0) == n_trees && bin.shape(1) == n_nodes && left.shape(0) == n_trees &&
                     left.shape(1) == n_nodes && value.shape(0) == n_trees && value.shape(1) == n_nodes,
                 "the trees' arrays must be (n_trees, 2 n_leaves - 1)");
            need(min_items >= 1 && rate > 0 && ridge > 0, "min_items, rate and ridge must be positive");
            const BinnedItems items{bins.data(), n_bins.data(), hits.data(), static_cast<std::int64_t>(n_items),
                                    static_cast<std::int32_t>(n_features)};
            const BoostingSettings settings{static_cast<std::int32_t>(n_trees), static_cast<std::int32_t>(n_nodes + 1) / 2,
                                            min_items, rate, ridge, base, n_threads};
            WithoutGil released;
            train_boosting(items, settings, {feature.data(), bin.data(), left.data(), value.data()});
        },
        "bins"_a, "n_bins"_a, "hits"_a, "min_items"_a, "rate"_a, "ridge"_a, "base"_a, "n_threads"_a, "feature"_a, "bin"_a,
        "left"_a, "value"_a,
        "Fill the trees' arrays (n_trees, 2 n_leaves - 1) by boosting on features in bins (n_features, n_items); logistic loss.");
    m.def(
        "boosted_margins",
        [](In2<std::int32_t> feature, In2<float> threshold, In2<std::int32_t> left, In2<float> value, double base,
           In2<float> features, int n_threads, Out<float> margins) {
            const std::size_t n_trees = feature.shape(0), n_nodes = feature.shape(1);
            need(threshold.shape(0) == n_trees && threshold.shape(1) == n_nodes && left.shape(0) == n_trees &&
                     left.shape(1) == n_nodes && value.shape(0) == n_trees && value.shape(1) == n_nodes,
                 "the trees' arrays must have one shape");
            need(margins.shape(0) == features.shape(0), "one margin an item");
            const FlatTrees trees{feature.data(), threshold.data(), left.data(), value.data(),
                                  static_cast<std::int32_t>(n_trees), static_cast<std::int32_t>(n_nodes)};
            check_trees(trees, static_cast<std::int32_t>(features.shape(1)));
            WithoutGil released;
            boosted_margins(trees, base, features.data(), static_cast<std::int64_t>(features.shape(0)),
                            static_cast<std::int32_t>(features.shape(1)), n_threads, margins.data());
        },
        "feature"_a, "threshold"_a, "left"_a, "value"_a, "base"_a, "features"_a, "n_threads"_a, "margins"_a,
        "Fill margins with base plus what the trees say of every item's features (n_items, n_features).");
}

}  // namespace lw
