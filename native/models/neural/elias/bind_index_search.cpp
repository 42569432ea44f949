// A trained cluster index and the blending of its scores, for Python.
#include <nanobind/stl/optional.h>

#include <optional>
#include <stdexcept>

#include "bind/bind.hpp"
#include "models/neural/elias/index_search.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace lw {
namespace {

using Layer = std::optional<In2<float>>;
using LayerBias = std::optional<In<float>>;

DenseTable table_of(const In2<float>& array) {
    return {array.data(), static_cast<std::int64_t>(array.shape(0)), static_cast<std::int64_t>(array.shape(1))};
}

DenseTable checked_layer(const Layer& weight, const LayerBias& bias, std::int64_t n_inputs) {
    if (weight.has_value() != bias.has_value()) throw std::invalid_argument("a layer has weights and a bias, or neither");
    if (!weight) return {nullptr, n_inputs, n_inputs};
    const DenseTable found = table_of(*weight);
    if (found.n_rows != n_inputs || static_cast<std::int64_t>(bias->size()) != found.dim)
        throw std::invalid_argument("the layers of the encoder do not fit together");
    return found;
}

// The arrays of an index, checked once; they may be memory-mapped and stay alive with the holder.
struct IndexHolder {
    In2<float> table;
    In<float> bias;
    Layer inner, outer;
    LayerBias inner_bias, outer_bias;
    In2<float> cluster_weight;
    In<float> cluster_bias;
    In2<std::int32_t> edges;
    In2<float> edge_scores, label_weight;
    In<float> label_bias;
    IndexParts view{};

    IndexHolder(In2<float> table, In<float> bias, Layer inner, LayerBias inner_bias, Layer outer, LayerBias outer_bias, int activation,
                int added, In2<float> cluster_weight, In<float> cluster_bias, In2<std::int32_t> edges, In2<float> edge_scores,
                In2<float> label_weight, In<float> label_bias, double alpha, std::int32_t beam)
        : table(table), bias(bias), inner(inner), outer(outer), inner_bias(inner_bias), outer_bias(outer_bias),
          cluster_weight(cluster_weight), cluster_bias(cluster_bias), edges(edges), edge_scores(edge_scores),
          label_weight(label_weight), label_bias(label_bias) {
        BagLayers& encoder = view.encoder;
        encoder.table = table_of(table);
        const std::int64_t dim = encoder.table.dim;
        encoder.inner = checked_layer(inner, inner_bias, dim);
        encoder.outer = checked_layer(outer, outer_bias, encoder.inner.dim);
        if (static_cast<std::int64_t>(bias.size()) != dim || encoder.outer.dim != dim || activation < 0 || activation > 2 ||
            added < 0 || added > 2)
            throw std::invalid_argument("the layers of the encoder do not fit together");
        encoder.bias = bias.data();
        encoder.inner_bias = inner_bias ? inner_bias->data() : nullptr;
        encoder.outer_bias = outer_bias ? outer_bias->data() : nullptr;
        encoder.activation = static_cast<Activation>(activation);
        encoder.added = static_cast<Added>(added);
        view.clusters = table_of(cluster_weight);
        view.cluster_bias = cluster_bias.data();
        const std::size_t n_clusters = edges.shape(0), n_labels = label_bias.size();
        if (view.clusters.n_rows != dim || cluster_weight.shape(1) != n_clusters || cluster_bias.size() != n_clusters || n_clusters < 1 ||
            edge_scores.shape(0) != n_clusters || edge_scores.shape(1) != edges.shape(1) || label_weight.shape(0) != n_labels ||
            static_cast<std::int64_t>(label_weight.shape(1)) != dim || beam < 1)
            throw std::invalid_argument("clusters, edges and labels do not fit together");
        for (std::size_t i = 0; i < n_clusters * edges.shape(1); ++i)
            if (edges.data()[i] < -1 || edges.data()[i] >= static_cast<std::int64_t>(n_labels))
                throw std::invalid_argument("an edge leads outside the labels");
        view.edges = {static_cast<std::int64_t>(n_clusters), static_cast<std::int64_t>(edges.shape(1)), static_cast<std::int64_t>(n_labels),
                      edges.data(), edge_scores.data()};
        view.label_weight = label_weight.data();
        view.label_bias = label_bias.data();
        view.alpha = alpha;
        view.beam = beam;
    }

    void search(In<std::int64_t> starts, In<std::int32_t> columns, In<float> values, Out2<std::int32_t> labels, Out2<float> log_path,
                Out2<float> logits, Out2<float> log_p, int n_threads) const {
        const std::int64_t n_rows = static_cast<std::int64_t>(starts.size()) - 1;
        const std::size_t room = labels.shape(1), n_values = columns.size();
        const std::int64_t* start = starts.data();
        if (n_rows < 0 || values.size() != n_values || start[0] != 0 || start[n_rows] != static_cast<std::int64_t>(n_values))
            throw std::invalid_argument("the sparse rows do not fit together");
        for (std::int64_t i = 0; i < n_rows; ++i)
            if (start[i] > start[i + 1]) throw std::invalid_argument("row starts must not decrease");
        for (std::size_t i = 0; i < n_values; ++i)
            if (columns.data()[i] < 0 || columns.data()[i] >= view.encoder.table.n_rows)
                throw std::invalid_argument("a column lies outside the encoder's table");
        if (room < 1 || static_cast<std::int64_t>(labels.shape(0)) != n_rows || log_path.shape(0) != labels.shape(0) ||
            logits.shape(0) != labels.shape(0) || log_p.shape(0) != labels.shape(0) || log_path.shape(1) != room ||
            logits.shape(1) != room || log_p.shape(1) != room)
            throw std::invalid_argument("the result arrays must have one row per query");
        WithoutGil released;
        search_rows(view, n_rows, start, columns.data(), values.data(), static_cast<std::int64_t>(room), n_threads,
                    {labels.data(), log_path.data(), logits.data(), log_p.data()});
    }
};

// How scores are made, checked once.
struct BlendHolder {
    In<std::int32_t> feature;
    In<double> threshold;
    In<std::int32_t> left;
    In<double> value;
    double lowest;
    Blend view{};

    BlendHolder(double power_p, double power_q, double weight, In<std::int32_t> feature, In<double> threshold, In<std::int32_t> left,
                In<double> value, double lowest)
        : feature(feature), threshold(threshold), left(left), value(value), lowest(lowest) {
        const std::size_t n_nodes = feature.size();
        bool fine = threshold.size() == n_nodes && left.size() == n_nodes && value.size() == n_nodes;
        for (std::size_t n = 0; fine && n < n_nodes; ++n)  // children come later, so every walk ends
            fine = feature(n) < 0 || (feature(n) < kAsked && left(n) > static_cast<std::int64_t>(n) && left(n) + 1 < static_cast<std::int64_t>(n_nodes));
        if (!fine) throw std::invalid_argument("the tree leads outside itself");
        view = {power_p, power_q, weight, {n_nodes ? feature.data() : nullptr, threshold.data(), left.data(), value.data()}};
    }

    void scores(In2<float> log_p, std::optional<In2<double>> log_q, In2<std::int64_t> counts, Out2<double> out,
                std::optional<In2<double>> voted) const {
        const auto same = [&](const auto& other) { return other.shape(0) == log_p.shape(0) && other.shape(1) == log_p.shape(1); };
        if (!same(counts) || !same(out) || (log_q && !same(*log_q)) || (voted && !same(*voted))) throw std::invalid_argument("the pairs do not fit together");
        WithoutGil released;
        blend_scores(view, static_cast<std::int64_t>(log_p.size()), log_p.data(), log_q ? log_q->data() : nullptr, counts.data(),
                     voted ? voted->data() : nullptr, lowest, out.data());
    }

    void top(In2<std::int32_t> labels, In2<float> log_p, std::optional<In2<float>> margins, In<std::int64_t> counts,
             Out2<std::int32_t> top_labels, Out2<float> top_scores, double vote_weight, std::optional<In2<std::int32_t>> voted,
             std::optional<In2<float>> vote_scores) const {
        const std::size_t n_rows = labels.shape(0), room = labels.shape(1), k = top_labels.shape(1);
        const auto same = [&](const auto& other) { return other.shape(0) == n_rows && other.shape(1) == room; };
        if (!same(log_p) || (margins && !same(*margins)) || top_labels.shape(0) != n_rows || top_scores.shape(0) != n_rows || top_scores.shape(1) != k)
            throw std::invalid_argument("the pairs do not fit together");
        for (std::size_t i = 0; i < n_rows * room; ++i)
            if (labels.data()[i] < -1 || labels.data()[i] >= static_cast<std::int64_t>(counts.size()))
                throw std::invalid_argument("a label has no count");
        if (voted.has_value() != vote_scores.has_value() || (voted && (voted->shape(0) != n_rows || vote_scores->shape(0) != n_rows ||
                                                                      vote_scores->shape(1) != voted->shape(1))))
            throw std::invalid_argument("votes must have one row per query");
        const std::size_t n_votes = voted ? voted->shape(1) : 0;
        WithoutGil released;
        BlendMemory memory;
        for (std::size_t row = 0; row < n_rows; ++row) {
            check_interrupt();
            blend_top(view, static_cast<std::int64_t>(room), labels.data() + row * room, log_p.data() + row * room,
                      margins ? margins->data() + row * room : nullptr, counts.data(), lowest,
                      {vote_weight, static_cast<std::int64_t>(n_votes), voted ? voted->data() + row * n_votes : nullptr,
                       voted ? vote_scores->data() + row * n_votes : nullptr},
                      static_cast<std::int64_t>(k), memory, top_labels.data() + row * k, top_scores.data() + row * k);
        }
    }
};

}  // namespace

void bind_index_search(nb::module_& m) {
    nb::class_<IndexHolder>(m, "LabelIndex", "A trained cluster index over arrays that may be memory-mapped.")
        .def(nb::init<In2<float>, In<float>, Layer, LayerBias, Layer, LayerBias, int, int, In2<float>, In<float>, In2<std::int32_t>,
                      In2<float>, In2<float>, In<float>, double, std::int32_t>(),
             "table"_a, "bias"_a, "inner"_a.none(), "inner_bias"_a.none(), "outer"_a.none(), "outer_bias"_a.none(), "activation"_a,
             "added"_a, "cluster_weight"_a, "cluster_bias"_a, "edges"_a, "edge_scores"_a, "label_weight"_a, "label_bias"_a, "alpha"_a,
             "beam"_a)
        .def("search", &IndexHolder::search, "starts"_a, "columns"_a, "values"_a, "labels"_a, "log_path"_a, "logits"_a, "log_p"_a,
             "n_threads"_a, "Fill the arrays (n, room) with every row's shortlist; a row has the same bits in any batch.");
    nb::class_<BlendHolder>(m, "ScoreBlend", "w T(p, q, base, log(1 + count), t) + (1 - w) base with base = p^a q^b, T a small tree, t what others vote.")
        .def(nb::init<double, double, double, In<std::int32_t>, In<double>, In<std::int32_t>, In<double>, double>(), "power_p"_a,
             "power_q"_a, "weight"_a, "feature"_a, "threshold"_a, "left"_a, "value"_a, "lowest"_a)
        .def("scores", &BlendHolder::scores, "log_p"_a, "log_q"_a.none(), "counts"_a, "out"_a, "voted"_a = nb::none(), "Fill out with the score of every pair.")
        .def("top", &BlendHolder::top, "labels"_a, "log_p"_a, "margins"_a.none(), "counts"_a, "top_labels"_a, "top_scores"_a,
             "vote_weight"_a = 0.0, "voted"_a = nb::none(), "vote_scores"_a = nb::none(),
             "Fill in the best labels of every row; counts are those of all labels, margins those of the ranker, votes those of others.");
}

}  // namespace lw
