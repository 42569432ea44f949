// FastXML's trees for Python.
#include <stdexcept>

#include "bind/bind.hpp"
#include "models/baselines/row_forest.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace lw {
namespace {

void need(bool fits, const char* what) {
    if (!fits) throw std::invalid_argument(what);
}

void check_pointers(const In<std::int64_t>& starts, std::size_t n_entries, const char* what) {
    need(starts.size() >= 1 && starts(0) == 0 && starts(starts.size() - 1) == static_cast<std::int64_t>(n_entries), what);
    for (std::size_t i = 0; i + 1 < starts.size(); ++i) need(starts(i) <= starts(i + 1), what);
}

void check_places(const In<std::int32_t>& places, std::int64_t end, const char* what) {
    for (std::size_t i = 0; i < places.size(); ++i) need(places(i) >= 0 && places(i) < end, what);
}

SparseRows checked_rows(const In<std::int64_t>& starts, const In<std::int32_t>& columns, const In<float>& values, std::int32_t n_columns) {
    need(columns.size() == values.size(), "one value a column");
    check_pointers(starts, columns.size(), "the row pointers do not fit the values");
    check_places(columns, n_columns, "a feature is outside the range");
    return {starts.data(), columns.data(), values.data(), static_cast<std::int64_t>(starts.size()) - 1, n_columns};
}

// Keeps the arrays alive that the splitter looks into.
struct Splitter {
    In<std::int64_t> starts, label_starts;
    In<std::int32_t> columns, labels;
    In<float> values, label_weights;
    std::int32_t n_features;
    RowSplitter splitter;

    Splitter(In<std::int64_t> starts, In<std::int32_t> columns, In<float> values, std::int32_t n_features, In<std::int64_t> label_starts,
             In<std::int32_t> labels, In<float> label_weights, double cost, std::int32_t max_passes, double eps)
        : starts(starts), label_starts(label_starts), columns(columns), labels(labels), values(values), label_weights(label_weights),
          n_features(n_features),
          splitter(checked_rows(starts, columns, values, n_features), checked_labels(starts, label_starts, labels, label_weights),
                   label_weights.data(), {cost, max_passes, eps}) {}

    static SparsePattern checked_labels(const In<std::int64_t>& starts, const In<std::int64_t>& label_starts, const In<std::int32_t>& labels,
                                        const In<float>& label_weights) {
        need(label_starts.size() == starts.size(), "as many rows of labels as of features");
        check_pointers(label_starts, labels.size(), "the label pointers do not fit the labels");
        check_places(labels, static_cast<std::int64_t>(label_weights.size()), "a label has no weight");
        return {label_starts.data(), labels.data(), static_cast<std::int64_t>(label_starts.size()) - 1,
                static_cast<std::int32_t>(label_weights.size())};
    }

    std::int32_t split(In<std::int32_t> rows, std::uint64_t seed, Out<std::uint8_t> sides, Out<std::int32_t> to_columns, Out<float> to_weights) {
        need(rows.size() == sides.size(), "one side a row");
        check_places(rows, static_cast<std::int64_t>(starts.size()) - 1, "a row does not exist");
        const auto room = static_cast<std::size_t>(n_features) + 1;
        need(to_columns.size() == room && to_weights.size() == room, "columns and weights need room for n_features + 1");
        WithoutGil released;
        return splitter.split(rows.data(), static_cast<std::int32_t>(rows.size()), seed, sides.data(), to_columns.data(), to_weights.data());
    }
};

// Keeps the arrays of a forest alive (they may be memory-mapped) and checks them once.
struct Forest {
    In<std::int32_t> roots, left, weight_columns, labels;
    In<std::int64_t> weight_starts, label_starts;
    In<float> weights, shares;
    RowForest forest{};

    Forest(In<std::int32_t> roots, In<std::int32_t> left, In<std::int64_t> weight_starts, In<std::int32_t> weight_columns, In<float> weights,
           In<std::int64_t> label_starts, In<std::int32_t> labels, In<float> shares, std::int32_t n_features, std::int32_t n_labels)
        : roots(roots), left(left), weight_columns(weight_columns), labels(labels), weight_starts(weight_starts),
          label_starts(label_starts), weights(weights), shares(shares) {
        const auto n_nodes = static_cast<std::int64_t>(left.size());
        need(roots.size() >= 1, "a forest needs a tree");
        check_places(roots, n_nodes, "a root does not exist");
        // Children come behind their parents, so every way down ends.
        for (std::int64_t node = 0; node < n_nodes; ++node)
            need(left(static_cast<std::size_t>(node)) == -1 ||
                     (left(static_cast<std::size_t>(node)) > node && left(static_cast<std::size_t>(node)) + 1 < n_nodes),
                 "the children of a node do not come behind it");
        need(weight_starts.size() == left.size() + 1 && weight_columns.size() == weights.size(), "one separator a node");
        check_pointers(weight_starts, weights.size(), "the separators are damaged");
        check_places(weight_columns, std::int64_t{n_features} + 1, "a weight is outside the features");
        need(label_starts.size() == left.size() + 1 && labels.size() == shares.size(), "one list of labels a node");
        check_pointers(label_starts, labels.size(), "the labels of leaves are damaged");
        check_places(labels, n_labels, "a leaf names an unknown label");
        forest = {roots.data(), static_cast<std::int32_t>(roots.size()), left.data(), weight_starts.data(), weight_columns.data(),
                  weights.data(), label_starts.data(), labels.data(), shares.data(), n_features, n_labels};
    }
};

}  // namespace

void bind_row_forest(nb::module_& m) {
    nb::class_<Splitter>(m, "RowSplitter", "Cuts the training rows of a node in two, as FastXML does.")
        .def(nb::init<In<std::int64_t>, In<std::int32_t>, In<float>, std::int32_t, In<std::int64_t>, In<std::int32_t>, In<float>, double,
                      std::int32_t, double>(),
             "starts"_a, "columns"_a, "values"_a, "n_features"_a, "label_starts"_a, "labels"_a, "label_weights"_a, "cost"_a, "max_passes"_a,
             "eps"_a)
        .def("split", &Splitter::split, "rows"_a, "seed"_a, "sides"_a, "columns"_a, "weights"_a,
             "The number of weights of the separator, which are written to columns and weights; sides: 1 for rows that go right.");
    nb::class_<Forest>(m, "RowForest", "Trees over rows, ready to answer.")
        .def(nb::init<In<std::int32_t>, In<std::int32_t>, In<std::int64_t>, In<std::int32_t>, In<float>, In<std::int64_t>, In<std::int32_t>,
                      In<float>, std::int32_t, std::int32_t>(),
             "roots"_a, "left"_a, "weight_starts"_a, "weight_columns"_a, "weights"_a, "label_starts"_a, "labels"_a, "shares"_a,
             "n_features"_a, "n_labels"_a)
        .def(
            "top_k",
            [](const Forest& held, In<std::int64_t> starts, In<std::int32_t> columns, In<float> values, Out2<std::int32_t> labels,
               Out2<float> scores, int n_threads) {
                const SparseRows rows = checked_rows(starts, columns, values, held.forest.n_features);
                const auto n_rows = static_cast<std::size_t>(rows.n_rows);
                need(labels.shape(0) == n_rows && scores.shape(0) == n_rows && labels.shape(1) == scores.shape(1) && labels.shape(1) >= 1,
                     "labels and scores must have one line a row");
                WithoutGil released;
                forest_top_k(held.forest, rows, static_cast<std::int32_t>(labels.shape(1)), n_threads, labels.data(), scores.data());
            },
            "starts"_a, "columns"_a, "values"_a, "labels"_a, "scores"_a, "n_threads"_a,
            "Writes the labels with the largest mean shares over the leaves that each row ends in.")
        .def(
            "leaves",
            [](const Forest& held, In<std::int64_t> starts, In<std::int32_t> columns, In<float> values, Out2<std::int32_t> leaves, int n_threads) {
                const SparseRows rows = checked_rows(starts, columns, values, held.forest.n_features);
                need(leaves.shape(0) == static_cast<std::size_t>(rows.n_rows) && leaves.shape(1) == held.roots.size(), "one leaf a row and tree");
                WithoutGil released;
                forest_leaves(held.forest, rows, n_threads, leaves.data());
            },
            "starts"_a, "columns"_a, "values"_a, "leaves"_a, "n_threads"_a, "Writes the leaf of each row in each tree.");
}

}  // namespace lw
