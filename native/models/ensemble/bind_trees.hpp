// Boosted trees as Python objects hold them.
#pragma once
#include <stdexcept>

#include "bind/bind.hpp"
#include "models/ensemble/boosting.hpp"

namespace lw {

struct TreesHolder {
    QuickTrees trees;
    std::int32_t n_features;

    TreesHolder(In2<std::int32_t> feature, In2<float> threshold, In2<std::int32_t> left, In2<float> value, double base,
                std::int32_t n_features)
        : trees(checked(feature, threshold, left, value, n_features), base), n_features(n_features) {}

private:
    // Every node leads to nodes behind it within its tree, so that a walk ends.
    static FlatTrees checked(const In2<std::int32_t>& feature, const In2<float>& threshold, const In2<std::int32_t>& left,
                             const In2<float>& value, std::int32_t n_features) {
        const std::size_t n_trees = feature.shape(0), n_nodes = feature.shape(1);
        for (const auto& [rows, columns] : {std::pair{threshold.shape(0), threshold.shape(1)}, {left.shape(0), left.shape(1)},
                                            {value.shape(0), value.shape(1)}})
            if (rows != n_trees || columns != n_nodes) throw std::invalid_argument("the trees' arrays must have one shape");
        if (n_nodes < 1 || n_nodes > INT16_MAX || n_features < 1 || n_features > INT16_MAX)
            throw std::invalid_argument("trees have 1 to 32767 nodes and features");
        for (std::size_t place = 0; place < n_trees * n_nodes; ++place) {
            const auto node = static_cast<std::int32_t>(place % n_nodes);
            if (feature.data()[place] < 0) continue;
            if (feature.data()[place] >= n_features) throw std::invalid_argument("a node asks for a feature that is not there");
            if (left.data()[place] <= node || left.data()[place] + 1 >= static_cast<std::int32_t>(n_nodes))
                throw std::invalid_argument("a node leads outside its tree");
        }
        return {feature.data(), threshold.data(), left.data(), value.data(), static_cast<std::int32_t>(n_trees),
                static_cast<std::int32_t>(n_nodes)};
    }
};

}  // namespace lw
