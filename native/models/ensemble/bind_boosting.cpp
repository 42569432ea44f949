// Boosted trees for Python.
#include <algorithm>
#include <stdexcept>

#include "bind/bind.hpp"
#include "models/ensemble/bind_trees.hpp"
#include "parallel.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace lw {
namespace {

void need(bool fits, const char* what) {
    if (!fits) throw std::invalid_argument(what);
}

constexpr std::int64_t kItemsOfTask = 1024;

}  // namespace

void bind_boosting(nb::module_& m) {
    m.def(
        "train_boosting",
        [](In2<std::uint8_t> bins, In<std::int32_t> n_bins, In<std::uint8_t> hits, std::int64_t min_items, double rate,
           double ridge, double base, double negative_weight, double item_share, double feature_share, std::uint64_t seed,
           int n_threads, Out2<std::int32_t> feature, Out2<std::int32_t> bin, Out2<std::int32_t> left, Out2<float> value) {
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
            need(min_items >= 1 && rate > 0 && ridge > 0 && negative_weight > 0, "min_items, rate, ridge and negative_weight must be positive");
            need(item_share > 0 && item_share <= 1 && feature_share > 0 && feature_share <= 1, "item_share and feature_share are above 0, at most 1");
            const BinnedItems items{bins.data(), n_bins.data(), hits.data(), static_cast<std::int64_t>(n_items),
                                    static_cast<std::int32_t>(n_features)};
            const BoostingSettings settings{static_cast<std::int32_t>(n_trees), static_cast<std::int32_t>(n_nodes + 1) / 2,
                                            min_items, rate, ridge, base, negative_weight, item_share, feature_share, seed, n_threads};
            WithoutGil released;
            train_boosting(items, settings, {feature.data(), bin.data(), left.data(), value.data()});
        },
        "bins"_a, "n_bins"_a, "hits"_a, "min_items"_a, "rate"_a, "ridge"_a, "base"_a, "negative_weight"_a, "item_share"_a, "feature_share"_a, "seed"_a, "n_threads"_a, "feature"_a, "bin"_a,
        "left"_a, "value"_a,
        "Fill the trees' arrays (n_trees, 2 n_leaves - 1) by boosting on features in bins (n_features, n_items); logistic loss.");
    nb::class_<TreesHolder>(m, "BoostedTrees", "Boosted trees, packed for answering.")
        .def(nb::init<In2<std::int32_t>, In2<float>, In2<std::int32_t>, In2<float>, double, std::int32_t>(), "feature"_a,
             "threshold"_a, "left"_a, "value"_a, "base"_a, "n_features"_a)
        .def(
            "margins",
            [](const TreesHolder& trees, In2<float> features, int n_threads, Out<float> margins) {
                need(static_cast<std::int32_t>(features.shape(1)) == trees.n_features, "the trees know another number of features");
                need(margins.shape(0) == features.shape(0), "one margin an item");
                const std::int64_t n_items = static_cast<std::int64_t>(features.shape(0));
                WithoutGil released;
                parallel_for((n_items + kItemsOfTask - 1) / kItemsOfTask, n_threads, 1, [&](std::int64_t task, int) {
                    const std::int64_t begin = task * kItemsOfTask, end = std::min(n_items, begin + kItemsOfTask);
                    trees.trees.margins(features.data() + begin * trees.n_features, end - begin, trees.n_features, margins.data() + begin);
                });
            },
            "features"_a, "n_threads"_a, "margins"_a,
            "Fill margins with base plus what the trees say of every item's features (n_items, n_features).");
}

}  // namespace lw
